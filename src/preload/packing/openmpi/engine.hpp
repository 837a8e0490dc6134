// Our loops in Open MPI's own datatype engine. Open MPI moves non-contiguous data through two functions whose
// addresses its convertors hold, opal_generic_simple_pack and opal_generic_simple_unpack; this library defines and
// exports both, so that every message, collective, one-sided call and MPI_Pack comes here and keeps its protocol.
// docs/decisions/0008-open-mpi-engine.md has the argument why that is exact.
//
// Contract: a transfer is moved by our plan where the table says so (uses `send` and `receive`, of MPI_Pack and
// MPI_Unpack `pack` and `unpack`), every other one by the functions that stand behind ours, untouched. A convertor
// that we have begun to move stays ours, and says so itself: its function is then another one of ours. What we take
// for the fields of a convertor is proved when MPI has started, and nothing is taken over where it does not hold,
// or in a version that was never tried. Other MPIs have none of this. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "preload/mpi_api.hpp"

namespace corewise::preload::packing {
struct Type;
}

namespace corewise::preload::packing::engine {

#ifdef OPEN_MPI
/// MPI has started: looks whether convertors are what we take them for. Ends what the last one may have left.
void begin();
/// Whether types are moved by our plans at all.
bool is_on();
/// A committed type has its handle.
void enter(std::uint64_t handle, Type& type);
/// The type ends; nothing moves it any more.
void leave(std::uint64_t handle);

/// Whether this thread is in MPI_Pack or MPI_Unpack: its bytes are the program's and go to no other core.
extern thread_local constinit bool alone __attribute__((tls_model("initial-exec")));

struct Alone {
  Alone() { alone = true; }
  ~Alone() { alone = false; }
};
#else
inline void begin() {}
inline bool is_on() {
  return false;
}
inline void enter(std::uint64_t, Type&) {}
inline void leave(std::uint64_t) {}
#endif

}  // namespace corewise::preload::packing::engine
