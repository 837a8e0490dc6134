// Fortran under a reordered world: what the generated wrappers of the reorder library are made of. A communicator
// is the INTEGER at a word's address (in mpi_f08 a type that holds just that); where it says MPI_COMM_WORLD, the
// word is exchanged for one of ours. Most Fortran entries call C names below, where the same is done again, to no
// effect; those that do not (attributes, callbacks) make it necessary. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "preload/reordering/callbacks.hpp"
#include "preload/reordering/reorder.hpp"

namespace corewise::preload::reorder {

/// Libraries of this MPI's Fortran; ends with nullptr. Generated.
extern const char* const kLibraries[];

/// A procedure of the MPI library's own by its PMPI name; nullptr where it is not loaded.
void* fortran_entry(const char* name);

/// The word to pass on for a communicator.
void* actual_word(void* word);

template <std::size_t>
using Word = void*;

template <class Result, std::size_t... Index>
Result call_words(void* target, void* const* words, std::index_sequence<Index...> /*all*/) {
  return reinterpret_cast<Result (*)(Word<Index>...)>(target)(words[Index]...);
}

/// Calls an entry that was found; `error`: which word is ierror, -1 for none.
template <class Result, std::size_t Words>
Result pass_on(void* target, void* const* words, int error) {
  if (target != nullptr) return call_words<Result>(target, words, std::make_index_sequence<Words>{});
  if (error >= 0 && words[error] != nullptr) *static_cast<MPI_Fint*>(words[error]) = MPI_ERR_INTERN;
  return Result();
}

/// MPI_Group_from_session_pset in Fortran: blanks at the end of `set` are not part of it.
void arrange_fortran_group(const void* set, const void* length, void* group);

}  // namespace corewise::preload::reorder
