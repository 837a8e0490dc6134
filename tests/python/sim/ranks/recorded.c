// Every way in which messages leave records, under functions of its own: what test_recording.py runs.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include "corewise_sim.h"

enum { steps = 10, most = 64 };

static double out[most], in[most];

static inline __attribute__((always_inline)) void collide(void) {
  cw_compute_ns(700);
}

__attribute__((noinline)) static void communicate(int rank, int ranks) {
  MPI_Request requests[2];
  MPI_Irecv(in, most, MPI_DOUBLE, (rank + ranks - 1) % ranks, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 11, MPI_DOUBLE, (rank + 1) % ranks, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

__attribute__((noinline)) static void every_way(int rank, int ranks) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  int found = 0, counts[most], places[most];
  MPI_Request request;
  MPI_Comm half;
  if (rank == 0) {
    static char large[2000];
    MPI_Ssend(large, 2000, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    static char large[2000];
    while (!found) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Recv(large, 2000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Sendrecv(out, 3, MPI_DOUBLE, next, 2, in, 3, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Irecv(in, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Bcast(out, 4, MPI_DOUBLE, 0, half);
  MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_DOUBLE, MPI_SUM, half);
  MPI_Comm_free(&half);
  for (int i = 0; i < ranks; ++i) counts[i] = places[i] = i;
  for (int i = 0; i < ranks; ++i) counts[i] = 1;
  MPI_Alltoallv(out, counts, places, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int step = 0; step < steps; ++step) {
    collide();
    communicate(rank, ranks);
  }
  every_way(rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
