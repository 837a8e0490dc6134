// The ranks of MPI_COMM_WORLD, and how they end together. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace corewise::bench {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Ends the program on all ranks.
[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

}  // namespace corewise::bench
