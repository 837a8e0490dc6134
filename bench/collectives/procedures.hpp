// The blocking collectives as a program calls them, which may be the accelerate library's, and as the MPI behind
// that library has them. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <string>

#include "world.hpp"

namespace corewise::bench {

struct Procedures {
  decltype(&MPI_Barrier) barrier;
  decltype(&MPI_Bcast) bcast;
  decltype(&MPI_Reduce) reduce;
  decltype(&MPI_Allreduce) allreduce;
  decltype(&MPI_Gather) gather;
  decltype(&MPI_Gatherv) gatherv;
  decltype(&MPI_Scatter) scatter;
  decltype(&MPI_Scatterv) scatterv;
  decltype(&MPI_Allgather) allgather;
  decltype(&MPI_Allgatherv) allgatherv;
  decltype(&MPI_Alltoall) alltoall;
  decltype(&MPI_Alltoallv) alltoallv;
  decltype(&MPI_Scan) scan;
  decltype(&MPI_Exscan) exscan;
  decltype(&MPI_Reduce_scatter) reduce_scatter;
  decltype(&MPI_Reduce_scatter_block) reduce_scatter_block;
};

/// What the program gets.
inline Procedures of_the_program() {
  return {MPI_Barrier, MPI_Bcast,    MPI_Reduce,         MPI_Allreduce,           MPI_Gather,   MPI_Gatherv,
          MPI_Scatter, MPI_Scatterv, MPI_Allgather,      MPI_Allgatherv,          MPI_Alltoall, MPI_Alltoallv,
          MPI_Scan,    MPI_Exscan,   MPI_Reduce_scatter, MPI_Reduce_scatter_block};
}

/// A symbol of the MPI library itself: a preload stands before it under MPI_X and PMPI_X. The MPI is where a
/// procedure lies that no preload replaces.
template <class Function>
Function behind(const char* name) {
  static void* const library = [] {
    Dl_info found{};
    void* const any = dlsym(RTLD_DEFAULT, "PMPI_Get_version");
    if (any == nullptr || dladdr(any, &found) == 0) give_up("the MPI's library is not found");
    return dlopen(found.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  }();
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) give_up(std::string("the MPI has no ") + name);
  return reinterpret_cast<Function>(symbol);
}

#define CW_BEHIND(procedure) behind<decltype(&procedure)>("P" #procedure)

/// What the MPI has.
inline Procedures of_the_mpi() {
  return {CW_BEHIND(MPI_Barrier),        CW_BEHIND(MPI_Bcast),
          CW_BEHIND(MPI_Reduce),         CW_BEHIND(MPI_Allreduce),
          CW_BEHIND(MPI_Gather),         CW_BEHIND(MPI_Gatherv),
          CW_BEHIND(MPI_Scatter),        CW_BEHIND(MPI_Scatterv),
          CW_BEHIND(MPI_Allgather),      CW_BEHIND(MPI_Allgatherv),
          CW_BEHIND(MPI_Alltoall),       CW_BEHIND(MPI_Alltoallv),
          CW_BEHIND(MPI_Scan),           CW_BEHIND(MPI_Exscan),
          CW_BEHIND(MPI_Reduce_scatter), CW_BEHIND(MPI_Reduce_scatter_block)};
}

/// Whether something stands before the MPI's collectives.
inline bool replaced() {
  return dlsym(RTLD_DEFAULT, "MPI_Barrier") != behind<void*>("MPI_Barrier");
}

}  // namespace corewise::bench
