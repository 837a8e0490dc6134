// Reordering: a world of another order than the launcher's, without a relaunch (paper 000, section 3). Half of a
// library of its own, libcorewise-reorder.so, which stands behind the recording one: the other half is generated
// (python/corewise/mpi/generators/reordering.py), one wrapper under the names MPI_X and PMPI_X for every procedure
// X with a communicator. Where the program says MPI_COMM_WORLD, MPI gets the reordered communicator, whoever asks:
// C, Fortran, mpi4py, the recording library, calls under PMPI_ names. Programs without this library pay nothing.
//
// Contract: the order is decided once, in MPI_Init, by all ranks together, from facts that all have. Until then, in
// spawned programs, and where the seats of the ranks do not allow it, everything is as without the library. The
// program never sees the reordered handle: callbacks get MPI_COMM_WORLD. The true world remains for what is a fact
// of it: MPI_Abort, predefined attributes, errors that belong to no communicator. COREWISE_REORDER is set for all
// ranks or for none. Nothing here prints; what was decided is in reorder.json in the profile directory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

#include "preload/mpi_api.hpp"

namespace corewise::preload::reorder {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The MPI library's own procedure.
#define CW_NEXT(procedure)                                                                                 \
  ([] {                                                                                                    \
    static auto* const found = ::corewise::preload::reorder::next<decltype(P##procedure)>("P" #procedure); \
    return found;                                                                                          \
  }())

extern bool active;        ///< written in MPI_Init, before other threads may call MPI, and when the world ends
extern MPI_Comm stand_in;  ///< the reordered world

/// What MPI is given for a communicator of the program's.
inline MPI_Comm actual(MPI_Comm comm) {
  return active && comm == MPI_COMM_WORLD ? stand_in : comm;
}

/// What the program is shown of a communicator of MPI's.
MPI_Comm shown(MPI_Comm comm);

/// MPI_Init has returned: all ranks are here.
void arrange_world();

/// A group as a session gives it: the world's is in the world's order, once there is one. Changes nothing else.
void arrange_group(const char* process_set, MPI_Group* group);

/// The place that the calling rank takes on a topology, so that neighbours are close; MPI_UNDEFINED where the
/// topology has no place for it. MPI_Cart_map and MPI_Graph_map answer it, MPI_Cart_create and MPI_Graph_create
/// with reorder true keep to it (MPI-4.1, 8.5.8). Local. False where MPI itself must decide.
bool place_in_grid(MPI_Comm comm, int ndims, const int* dims, const int* periods, int* place);
bool place_in_graph(MPI_Comm comm, int nodes, const int* index, const int* edges, int* place);

/// A communicator whose ranks are the places; MPI_COMM_NULL on ranks without one. Collective.
bool split_by_place(MPI_Comm comm, int place, MPI_Comm* arranged);

}  // namespace corewise::preload::reorder
