// What the programs about traps share: a check that ends the run, and every blocking collective with its results
// checked. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                 \
    }                                                                               \
  } while (0)

enum { KINDS = 17, MOST_RANKS = 64 };

/// Collective number `kind`, with `n` numbers for each rank; every rank has the result of known operands.
static inline void collective(int kind, MPI_Comm comm, int root, int n) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const size_t numbers = (size_t)n * (size_t)size;
  long* const send = (long*)malloc(numbers * sizeof(long));
  long* const receive = (long*)malloc(numbers * sizeof(long));
  int counts[MOST_RANKS], places[MOST_RANKS], bytes[MOST_RANKS];
  MPI_Datatype types[MOST_RANKS];
  for (size_t i = 0; i < numbers; ++i) send[i] = (long)i + rank, receive[i] = -1;
  for (int i = 0; i < size; ++i) {
    counts[i] = n, places[i] = i * n, types[i] = MPI_LONG;
    bytes[i] = places[i] * (int)sizeof(long);
  }
  const long ranks = (long)size * (size - 1) / 2;  // the sum of all of them
  // What is expected is step * i + first + (i / n) * block, for the first `some` of the numbers.
  long step = 1, first = 0, block = 0;
  size_t some = (size_t)n;
  switch (kind) {
    case 0:
      MPI_Barrier(comm);
      some = 0;
      break;
    case 1:
      if (rank == root) memcpy(receive, send, (size_t)n * sizeof(long));
      MPI_Bcast(receive, n, MPI_LONG, root, comm);
      first = root;
      break;
    case 2:
      MPI_Reduce(send, receive, n, MPI_LONG, MPI_SUM, root, comm);
      step = size, first = ranks;
      if (rank != root) some = 0;
      break;
    case 3:
      MPI_Allreduce(send, receive, n, MPI_LONG, MPI_SUM, comm);
      step = size, first = ranks;
      break;
    case 4:
      MPI_Scan(send, receive, n, MPI_LONG, MPI_SUM, comm);
      step = rank + 1, first = (long)rank * (rank + 1) / 2;
      break;
    case 5:
      MPI_Exscan(send, receive, n, MPI_LONG, MPI_SUM, comm);
      step = rank, first = (long)rank * (rank - 1) / 2;
      if (rank == 0) some = 0;
      break;
    case 6:
      MPI_Reduce_scatter_block(send, receive, n, MPI_LONG, MPI_SUM, comm);
      step = size, first = ranks + (long)size * rank * n;
      break;
    case 7:
      MPI_Reduce_scatter(send, receive, counts, MPI_LONG, MPI_SUM, comm);
      step = size, first = ranks + (long)size * rank * n;
      break;
    case 8:
    case 9:
      if (kind == 8) MPI_Gather(send, n, MPI_LONG, receive, n, MPI_LONG, root, comm);
      if (kind == 9) MPI_Gatherv(send, n, MPI_LONG, receive, counts, places, MPI_LONG, root, comm);
      block = 1 - n;
      some = rank == root ? numbers : 0;
      break;
    case 10:
    case 11:
      if (kind == 10) MPI_Scatter(send, n, MPI_LONG, receive, n, MPI_LONG, root, comm);
      if (kind == 11) MPI_Scatterv(send, counts, places, MPI_LONG, receive, n, MPI_LONG, root, comm);
      first = (long)rank * n + root;
      break;
    case 12:
    case 13:
      if (kind == 12) MPI_Allgather(send, n, MPI_LONG, receive, n, MPI_LONG, comm);
      if (kind == 13) MPI_Allgatherv(send, n, MPI_LONG, receive, counts, places, MPI_LONG, comm);
      block = 1 - n;
      some = numbers;
      break;
    default:
      if (kind == 14) MPI_Alltoall(send, n, MPI_LONG, receive, n, MPI_LONG, comm);
      if (kind == 15) MPI_Alltoallv(send, counts, places, MPI_LONG, receive, counts, places, MPI_LONG, comm);
      if (kind == 16) MPI_Alltoallw(send, counts, bytes, types, receive, counts, bytes, types, comm);
      first = (long)rank * n;
      block = 1 - n;
      some = numbers;
  }
  for (size_t i = 0; i < some; ++i) REQUIRE(receive[i] == step * (long)i + first + (long)(i / (size_t)n) * block);
  free(send);
  free(receive);
}

/// Ends MPI; rank 0 of the world says so.
static inline int finish(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  if (rank == 0) puts("right");
  return 0;
}
