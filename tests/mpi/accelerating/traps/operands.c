// Operands that are hard to take: operators of the program's, sums that depend on their order, absolute addresses,
// types made with large counts, nothing at all; with an argument, null types.
// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include "trap.h"

/// The most elements that an operator may get: as many as the call has. BLACS counts on that.
static int longest;

/// Functions a * x + b, one after the other: not commutative.
static void compose(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  const unsigned* left = in;
  unsigned* right = inout;
  REQUIRE(*datatype != MPI_DATATYPE_NULL && *count <= longest);
  for (int i = 0; i < *count; ++i, left += 2, right += 2) {
    right[1] = left[1] * right[0] + right[1];
    right[0] *= left[0];
  }
}

static void add(void* in, void* inout, int* count, MPI_Datatype* datatype) {
  REQUIRE(*datatype == MPI_UNSIGNED && *count <= longest);
  for (int i = 0; i < *count; ++i) ((unsigned*)inout)[i] += ((unsigned*)in)[i];
}

static void operators(int rank, int size, int count) {
  MPI_Datatype couple;
  MPI_Op composed, added;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &couple);
  MPI_Type_commit(&couple);
  MPI_Op_create(compose, 0, &composed);
  MPI_Op_create(add, 1, &added);
  unsigned* const send = malloc((size_t)count * 8);
  unsigned* const receive = malloc((size_t)count * 8);
  for (int i = 0; i < count; ++i) send[2 * i] = (unsigned)(i + rank + 2), send[2 * i + 1] = (unsigned)rank + 1;
  longest = count;
  MPI_Allreduce(send, receive, count, couple, composed, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    unsigned a = (unsigned)i + 2, b = 1;
    for (int other = 1; other < size; ++other) {
      const unsigned next[2] = {(unsigned)(i + other + 2), (unsigned)other + 1};
      b = b * next[0] + next[1], a *= next[0];
    }
    REQUIRE(receive[2 * i] == a && receive[2 * i + 1] == b);
  }
  longest = 2 * count;
  MPI_Reduce(send, receive, 2 * count, MPI_UNSIGNED, added, 0, MPI_COMM_WORLD);
  REQUIRE(rank != 0 || receive[1] == (unsigned)(size * (size + 1) / 2));
  MPI_Allreduce(MPI_IN_PLACE, send, 2 * count, MPI_UNSIGNED, added, MPI_COMM_WORLD);
  REQUIRE(send[1] == (unsigned)(size * (size + 1) / 2));
  MPI_Op_free(&composed);
  MPI_Op_free(&added);
  MPI_Type_free(&couple);
  free(send);
  free(receive);
}

/// All ranks have the same bits, at any time, whoever came first.
static void rounded(int rank, int count) {
  double* const send = malloc((size_t)count * sizeof(double));
  double* const first = malloc((size_t)count * sizeof(double));
  double* const again = malloc((size_t)count * sizeof(double));
  for (int i = 0; i < count; ++i) send[i] = (rank % 2 == 0 ? 1e9 : -1e9) / (3.0 + i + 7 * rank);
  MPI_Allreduce(send, first, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) usleep(2000);
  MPI_Allreduce(send, again, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  REQUIRE(memcmp(first, again, (size_t)count * sizeof(double)) == 0);
  MPI_Bcast(again, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  REQUIRE(memcmp(first, again, (size_t)count * sizeof(double)) == 0);
  free(send);
  free(first);
  free(again);
}

static void absolute(int rank, int size) {
  static long one, other[5];
  const int lengths[2] = {1, 5};
  MPI_Aint places[2];
  MPI_Datatype type;
  MPI_Get_address(&one, &places[0]);
  MPI_Get_address(other, &places[1]);
  MPI_Type_create_hindexed(2, lengths, places, MPI_LONG, &type);
  MPI_Type_commit(&type);
  for (int root = 0; root < size; ++root) {
    one = rank, other[4] = 10 * rank;
    MPI_Bcast(MPI_BOTTOM, 1, type, root, MPI_COMM_WORLD);
    REQUIRE(one == root && other[4] == 10 * root);
  }
  one = rank, other[4] = 10 * rank;
  long* const all = malloc(6 * (size_t)size * sizeof(long));
  MPI_Allgather(MPI_BOTTOM, 1, type, all, 6, MPI_LONG, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) REQUIRE(all[6 * i] == i && all[6 * i + 5] == 10 * i);
  free(all);
  MPI_Type_free(&type);
}

static void nothing(int size) {
  int* const zeros = calloc((size_t)size, sizeof(int));
  const MPI_Comm w = MPI_COMM_WORLD;
  const MPI_Datatype t = MPI_INT;
  MPI_Bcast(NULL, 0, t, 0, w);
  MPI_Gather(NULL, 0, t, NULL, 0, t, 0, w);
  MPI_Scatter(NULL, 0, t, NULL, 0, t, 0, w);
  MPI_Allgather(NULL, 0, t, NULL, 0, t, w);
  MPI_Alltoall(NULL, 0, t, NULL, 0, t, w);
  MPI_Gatherv(NULL, 0, t, NULL, zeros, zeros, t, 0, w);
  MPI_Scatterv(NULL, zeros, zeros, t, NULL, 0, t, 0, w);
  MPI_Allgatherv(NULL, 0, t, NULL, zeros, zeros, t, w);
  MPI_Alltoallv(NULL, zeros, zeros, t, zeros, zeros, zeros, t, w);  // MPICH: not two null pointers
  MPI_Reduce(NULL, NULL, 0, t, MPI_SUM, 0, w);
  MPI_Allreduce(NULL, NULL, 0, t, MPI_SUM, w);
  MPI_Scan(NULL, NULL, 0, t, MPI_SUM, w);
  MPI_Exscan(NULL, NULL, 0, t, MPI_SUM, w);
  MPI_Reduce_scatter(NULL, NULL, zeros, t, MPI_SUM, w);
  MPI_Reduce_scatter_block(NULL, NULL, 0, t, MPI_SUM, w);
  free(zeros);
}

/// Rank 0 sends a number to everybody. Types of empty blocks are null on some ranks, as MPICH allows.
static void null_types(int rank, int size) {
  enum { MOST = 16 };
  int counts[MOST] = {0}, one[MOST] = {1}, places[MOST] = {0}, numbers[MOST], got = -1;
  MPI_Datatype types[MOST], first[MOST];
  REQUIRE(size <= MOST);
  for (int i = 0; i < size; ++i) {
    numbers[i] = 10 * i, places[i] = i * (int)sizeof(int), counts[i] = rank == 0;
    types[i] = first[i] = rank == 1 ? MPI_DATATYPE_NULL : MPI_INT;
  }
  first[0] = MPI_INT;
  const int none[MOST] = {0};
  MPI_Alltoallw(numbers, counts, places, types, &got, one, none, first, MPI_COMM_WORLD);
  REQUIRE(got == 10 * rank);
}

/// Types whose envelope only MPI_Type_get_envelope_c can tell.
static void large_counts(int rank) {
#if MPI_VERSION >= 4
  MPI_Datatype column;
  MPI_Type_vector_c(100, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  int cells[200];
  for (int i = 0; i < 200; ++i) cells[i] = rank == 0 ? i : -1;
  MPI_Bcast(cells, 1, column, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 199; ++i) REQUIRE(cells[i] == (rank == 0 || i % 2 == 0 ? i : -1));
  MPI_Type_free(&column);
#else
  (void)rank;
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 3; ++round) {
    operators(rank, size, 3);
    operators(rank, size, 30000);
    if (round > 0) {  // the MPI's own call before the set-up may add in another order
      rounded(rank, 3);
      rounded(rank, 30000);
    }
    absolute(rank, size);
    large_counts(rank);
    nothing(size);
    if (argc > 1) null_types(rank, size);
  }
  return finish();
}
