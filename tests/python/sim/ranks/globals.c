// Globals, statics and thread-local variables are a rank's own, exit ends one rank, atexit runs there, and time is
// what the program declares. SPDX-License-Identifier: BSD-3-Clause
#include <corewise_sim.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int counter = 100;
static __thread int mine = 7;
static int zeroed[1000];
static int received;

static int next(void) {
  static int calls;
  return ++calls;
}

static void at_exit(void) {
  printf("rank %d leaves with %d\n", zeroed[0], received);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  atexit(at_exit);
  for (int i = 0; i < rank; ++i) next();
  counter += rank;
  mine += rank;
  zeroed[0] = rank;
  const double before = MPI_Wtime();
  cw_compute(1000.0 * (rank + 1));
  const double took_ns = (MPI_Wtime() - before) * 1e9;
  // The buffers are globals: each message must come out of the sender's and go into the receiver's.
  MPI_Sendrecv(&counter, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int wrong = counter != 100 + rank || mine != 7 + rank || next() != rank + 1 ||
                    received != 100 + (rank + size - 1) % size || took_ns < 1000.0 * (rank + 1) ||
                    took_ns > 1000.0 * (rank + 1) + 21;
  MPI_Finalize();
  exit(wrong ? 3 : 0);
}
