/* 8 bytes back and forth between two ranks. Prints the smallest wall time per call (two calls of each rank a round
 * trip) over many repetitions, in nanoseconds; before it the largest resident size in KiB.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

enum { kRepetitions = 40, kTrips = 4000 };

int main(int argc, char** argv) {
  double value = 0, best = 1e300;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < kTrips; ++i) {
      if (rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    const double took = MPI_Wtime() - begin;
    if (took < best) best = took;
  }
  MPI_Finalize();
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  if (rank == 0) printf("%ld %.3f\n", usage.ru_maxrss, best * 1e9 / (2 * kTrips));
  return 0;
}
