/* ring STEPS [COMMAND]: ranks send round and round; after half of the steps rank 0 runs the command, which may
   take a host away.
   SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) {
  int rank, size, got = 0;
  const int steps = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < steps; ++step) {
    if (step == steps / 2 && argc > 2) {
      if (rank == 0) system(argv[2]);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
