/* Runs three functions in turn, whose code does not fit beside one another where the area is small; rank 0 alone
 * runs the third. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "corewise_sim.h"

enum { kTurns = 10 };

static void first(void) {
  cw_overlay((const void*)&first, 40000);
  cw_compute_ns(1000);
}

static void second(void) {
  cw_overlay((const void*)&second, 30000);
  cw_compute_ns(1000);
}

static void third(size_t bytes) {
  cw_overlay((const void*)&third, bytes);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int turn = 0; turn < kTurns; ++turn) {
    first();
    second();
  }
  if (rank == 0) third(argc > 1 ? (size_t)atol(argv[1]) : 1000);
  MPI_Finalize();
  return 0;
}
