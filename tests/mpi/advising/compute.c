/* Computes, and meets at a barrier now and then: nothing about messages can help it.
   SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const long steps = argc > 1 ? atol(argv[1]) : 100;
  volatile double sum = 0;
  MPI_Init(&argc, &argv);
  if (steps < 0) MPI_Abort(MPI_COMM_WORLD, 3);
  for (long step = 0; step < steps; ++step) {
    for (int term = 1; term < 2000000; ++term) sum += 1.0 / term;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return sum > 0 ? 0 : 1;
}
