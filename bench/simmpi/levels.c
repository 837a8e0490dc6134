// Simulated time of a barrier, a broadcast, a reduction to rank 0 and an all-reduce, for `corewise simrun`: each
// after a barrier, the time of the rank that is in it for longest, in us. Usage: levels BYTES.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void call(int which, double* in, double* out, int count) {
  if (which == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (which == 1) MPI_Bcast(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (which == 2) MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (which == 3) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  static const char* const names[] = {"barrier", "broadcast", "reduce", "allreduce"};
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = argc > 1 ? atoi(argv[1]) / (int)sizeof(double) : 1;
  double* in = calloc((size_t)count + 1, sizeof(double));
  double* out = calloc((size_t)count + 1, sizeof(double));
  for (int which = 0; which < 4; ++which) {
    for (int warm = 0; warm < 2; ++warm) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      call(which, in, out, count);
      double took = MPI_Wtime() - begin, most = 0;
      MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0 && warm == 1) printf("%s %d %.2f\n", names[which], count * 8, most * 1e6);
    }
  }
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
