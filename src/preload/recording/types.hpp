// Datatypes as the trace sees them: an index, and how many bytes an element has.
//
// One small table from handle to both. Predefined types are in it from the start, the program's own from the moment
// they are committed until they are freed, so that a handle that is found means a living datatype, also before MPI
// has looked at it. A type is described in the file when it is first used; those of equal size, extent and name are
// one index. Contract: `find_type` asks MPI for nothing. What does not fit in the table is asked for at every call;
// where all threads may call MPI, in messages only.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/mpi_api.hpp"
#include "preload/recording/process.hpp"

namespace corewise::preload {

struct TypeTable {
  static constexpr std::size_t kSlots = 512;
  static constexpr std::size_t kProbes = 8;
  KnownType slots[kSlots];

  static std::size_t home(std::uint64_t key) { return (key * 0x9e3779b97f4a7c15ULL) >> 55; }
};
extern TypeTable type_table;

/// Enters the predefined types; once, when recording starts.
void learn_predefined_types();

/// The program committed a type, or made one of a committed one.
void learn_type(MPI_Datatype type);

/// It is about to free one: the handle may come back as another.
void forget_type(MPI_Datatype type);

/// Slow paths of find_type: the other slots, and the description of a type that is met first.
bool find_displaced_type(MPI_Datatype type, KnownType& found);
std::uint64_t describe_type(KnownType& slot, MPI_Datatype type);

/// What is known of `type`, without a question to MPI that an invalid handle could fail. Other threads may free
/// other types meanwhile: the key is looked at again last.
[[gnu::always_inline]] inline bool find_type(MPI_Datatype type, KnownType& found) {
  const std::uint64_t key = handle_key(type);
  KnownType& slot = type_table.slots[TypeTable::home(key)];
  if (__atomic_load_n(&slot.key, __ATOMIC_ACQUIRE) != key) [[unlikely]]
    return find_displaced_type(type, found);
  found = {key, slot.size, __atomic_load_n(&slot.index, __ATOMIC_RELAXED)};
  if (found.index == trace::kUnknownType) [[unlikely]]
    found.index = describe_type(slot, type);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return __atomic_load_n(&slot.key, __ATOMIC_RELAXED) == key;
}

/// The same for a type that lives and that MPI accepts: it is asked where nobody knows.
KnownType ask_type(MPI_Datatype type);

/// What the thread's call has pinned of the type (events.hpp). Another thread may have freed it since: where it was
/// not known then nothing is asked, and it is counted (FileHeader::lost_types).
KnownType pinned_type(MPI_Datatype type);

/// A datatype of a call that has succeeded.
[[gnu::always_inline]] inline KnownType type_of(MPI_Datatype type) {
  if (process.multiple) [[unlikely]]
    return pinned_type(type);
  KnownType found;
  if (find_type(type, found)) [[likely]]
    return found;
  return ask_type(type);
}

}  // namespace corewise::preload
