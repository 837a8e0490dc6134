// Simulated time in which the first eight ranks, the SPEs of a Cell, send a message each to the rank DISTANCE
// further on, for `corewise simrun`: all send at time 0. When the first and the last of them are received, in us.
// Usage: cell_to_cell BYTES DISTANCE [SENDERS]. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  const int bytes = argc > 1 ? atoi(argv[1]) : 0;
  const int distance = argc > 2 ? atoi(argv[2]) : 8;
  const int senders = argc > 3 ? atoi(argv[3]) : 8;
  double came = 0, first = 0, last = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (distance < senders || distance + senders > ranks) {
    if (rank == 0)
      fprintf(stderr, "cell_to_cell: DISTANCE: found %d, allowed: %d to %d\n", distance, senders, ranks - senders);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  char* data = calloc((size_t)bytes + 1, 1);
  if (rank < senders) MPI_Send(data, bytes, MPI_CHAR, rank + distance, 0, MPI_COMM_WORLD);
  const int receives = rank >= distance && rank < distance + senders;
  if (receives) {
    MPI_Recv(data, bytes, MPI_CHAR, rank - distance, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    came = MPI_Wtime();
  }
  const double early = receives ? came : 1e9;
  MPI_Reduce(&early, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("first_us=%.3f last_us=%.3f\n", first * 1e6, last * 1e6);
  free(data);
  MPI_Finalize();
  return 0;
}
