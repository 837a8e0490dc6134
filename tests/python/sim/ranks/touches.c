/* Touches its two arrays in main memory at drawn places, as test_main_memory.py draws them too; rank 0 then sends
 * the first array to rank 1, which receives it into its second. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "corewise_sim.h"

enum { kBytes = 20000, kTouches = 3000, kMostBytes = 400 };

static uint32_t state;

static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* arrays[2] = {malloc(kBytes), malloc(kBytes)};
  state = 17u + (uint32_t)rank;
  for (int i = 0; i < 2; ++i) cw_main_memory(arrays[i], kBytes);
  for (int i = 0; i < kTouches; ++i) {
    const char* array = arrays[draw(2)];
    const uint32_t at = draw(i % 2 == 0 ? kBytes - kMostBytes : 2000);
    const uint32_t bytes = 1 + draw(kMostBytes);
    cw_touch(array + at, bytes, draw(3) == 0);
  }
  if (rank == 0) MPI_Send(arrays[0], kBytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(arrays[1], kBytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) {
    cw_local_store(arrays[i]);
    free(arrays[i]);
  }
  MPI_Finalize();
  return 0;
}
