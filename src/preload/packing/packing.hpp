// Packing: non-contiguous messages by our own engine (paper 004, section 4). Half of a library of its own,
// libcorewise-packing.so, which stands behind the recording and the reorder library: the other half is generated
// (python/corewise/mpi/generators/packing.py), a wrapper under the names MPI_X and PMPI_X for every procedure that
// packs, sends, receives or completes. A message whose type is worth it is packed into memory of ours and sent as
// MPI_PACKED, which the standard lets match (MPI-4.1, 3.3.1 and 5.2); a receive is posted as MPI_PACKED and
// unpacked when it completes. Each side decides for itself, by rows of its own: the bytes under way are the same.
// On Open MPI no message is touched: its own engine uses our loops (openmpi/engine.hpp).
//
// Contract: what is not handled is passed through untouched: contiguous types, types that are not understood or
// that MPI describes otherwise than we read them, programs without MPI_Init, processes with a GPU's library (their
// memory may not be the CPU's), messages above a limit, no memory. Requests stay MPI's own; a table remembers what
// their completion means while there are any. No exception leaves, nothing is printed, nothing is sent that the
// program did not send. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/packing/plans/cost.hpp"
#include "preload/next.hpp"

namespace corewise::preload::packing {

/// How messages are chosen, by the knob COREWISE_PACKING: none; every one that is not contiguous; by a table.
enum class Mode : std::uint8_t { off, always, table };

extern std::atomic<bool> active;  ///< between MPI_Init and the end of MPI_Finalize, where the mode is not `off`
Mode mode();

/// MPI_Init has returned.
void begin();
/// MPI_Finalize has returned.
void end();

/// The table of the knob; empty where it has none.
const kernels::PackingTable& table();

/// Above this many bytes nothing is packed: a message has a copy of itself while it is under way.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;

}  // namespace corewise::preload::packing
