// Ranks that keep each other waiting for 200 ms: a late sender, a late receiver, a late rank at a barrier. Rank 0
// prints how long it stood there by its own clock. Before and after, messages around a ring and collectives, so
// that wrong clocks show. "leave": the last rank goes without MPI_Finalize. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void doze(void) {
  const struct timespec pause = {0, 200000000};
  nanosleep(&pause, NULL);
}

static void ring(int rank, int size, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    int value = i, got = 0;
    MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT, (rank + size - 1) % size, 5,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  int rank, size, value = 0;
  double start, late_sender = 0, late_receiver = 0, barrier = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ring(rank, size, 30);
  if (rank == 0) {
    start = MPI_Wtime();
    MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    late_sender = MPI_Wtime() - start;
    start = MPI_Wtime();
    MPI_Ssend(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    late_receiver = MPI_Wtime() - start;
  } else if (rank == 1) {
    doze();
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    doze();
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == size - 1) doze();
  start = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  barrier = MPI_Wtime() - start;
  ring(rank, size, 30);
  if (rank == 0) printf("%.0f %.0f %.0f\n", late_sender * 1e9, late_receiver * 1e9, barrier * 1e9);
  if (argc > 1 && strcmp(argv[1], "leave") == 0 && rank == size - 1) _exit(3);
  MPI_Finalize();
  return 0;
}
