// Blocking collectives against values computed by hand: every root, in place and not, varying counts with zeros and
// gaps, derived types, arguments that only the root's call may read given as garbage elsewhere, short and long.
//
// ranks: 1 2 3 5
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { LONG = 40000 };
static int out[8 * LONG], in[8 * LONG];

static void clear(int* values, int count) {
  for (int i = 0; i < count; ++i) values[i] = UNTOUCHED;
}

static const int lengths[] = {1, 3, 1000, LONG};
enum { LENGTHS = 4 };

static void broadcast(int root, int n) {
  if (rank == root)
    fill(out, n, root + 1);
  else
    clear(out, n + 1);
  out[n] = UNTOUCHED;
  OK(MPI_Bcast(out, n, MPI_INT, root, MPI_COMM_WORLD));
  CHECK_FILL(out, n, root + 1);
  EQ(UNTOUCHED, out[n]);
}

static void gather_and_scatter(int root, int n) {
  fill(out, n, rank);
  if (rank == root) clear(in, size * n + 1);
  OK(MPI_Gather(out, n, MPI_INT, rank == root ? in : GARBAGE, rank == root ? n : -7,
                rank == root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
  if (rank == root) {
    for (int i = 0; i < size; ++i) CHECK_FILL(in + i * n, n, i);
    EQ(UNTOUCHED, in[size * n]);
  }
  clear(out, n + 1);
  OK(MPI_Scatter(rank == root ? in : GARBAGE, rank == root ? n : -7, rank == root ? MPI_INT : MPI_DATATYPE_NULL,
                 out, n, MPI_INT, root, MPI_COMM_WORLD));
  CHECK_FILL(out, n, rank);
  EQ(UNTOUCHED, out[n]);
}

static void gather_and_scatter_in_place(int root, int n) {
  fill(out, n, rank);
  if (rank == root) {
    clear(in, size * n);
    fill(in + rank * n, n, rank);
    OK(MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, n, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < size; ++i) CHECK_FILL(in + i * n, n, i);
    OK(MPI_Scatter(in, n, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
    CHECK_FILL(in + rank * n, n, rank);
  } else {
    OK(MPI_Gather(out, n, MPI_INT, GARBAGE, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
    clear(out, n);
    OK(MPI_Scatter(GARBAGE, -1, MPI_DATATYPE_NULL, out, n, MPI_INT, root, MPI_COMM_WORLD));
    CHECK_FILL(out, n, rank);
  }
}

// Rank i has i - 1 elements (none for the first two), stored backwards with a gap between.
static int counts[64], places[64];

static void prepare_varying(void) {
  int place = 0;
  for (int i = size - 1; i >= 0; --i) {
    counts[i] = i > 1 ? i - 1 : 0;
    places[i] = place;
    place += counts[i] + 1;
  }
}

static void check_varying(const int* values) {
  for (int i = 0; i < size; ++i) {
    CHECK_FILL(values + places[i], counts[i], i);
    EQ(UNTOUCHED, values[places[i] + counts[i]]);
  }
}

static void varying(int root) {
  int is_root = rank == root;
  fill(out, counts[rank], rank);
  clear(in, 200);
  OK(MPI_Gatherv(out, counts[rank], MPI_INT, is_root ? in : GARBAGE, is_root ? counts : GARBAGE,
                 is_root ? places : GARBAGE, is_root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
  if (is_root) check_varying(in);
  clear(out, 70);
  OK(MPI_Scatterv(is_root ? in : GARBAGE, is_root ? counts : GARBAGE, is_root ? places : GARBAGE,
                  is_root ? MPI_INT : MPI_DATATYPE_NULL, out, counts[rank], MPI_INT, root, MPI_COMM_WORLD));
  CHECK_FILL(out, counts[rank], rank);
  EQ(UNTOUCHED, out[counts[rank]]);
  clear(in, 200);
  OK(MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD));
  check_varying(in);
  OK(MPI_Allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, MPI_COMM_WORLD));
  check_varying(in);
}

static void varying_in_place(int root) {
  fill(out, counts[rank], rank);
  if (rank == root) {
    clear(in, 200);
    fill(in + places[rank], counts[rank], rank);
    OK(MPI_Gatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, root, MPI_COMM_WORLD));
    check_varying(in);
    OK(MPI_Scatterv(in, counts, places, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
  } else {
    OK(MPI_Gatherv(out, counts[rank], MPI_INT, GARBAGE, GARBAGE, GARBAGE, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
    OK(MPI_Scatterv(GARBAGE, GARBAGE, GARBAGE, MPI_DATATYPE_NULL, out, counts[rank], MPI_INT, root,
                    MPI_COMM_WORLD));
    CHECK_FILL(out, counts[rank], rank);
  }
}

static void all_gather(int n) {
  fill(out, n, rank);
  clear(in, size * n + 1);
  OK(MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK_FILL(in + i * n, n, i);
  EQ(UNTOUCHED, in[size * n]);
  clear(in, size * n);
  fill(in + rank * n, n, rank);
  OK(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, n, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK_FILL(in + i * n, n, i);
}

static void all_to_all(int n) {
  for (int i = 0; i < size; ++i) fill(out + i * n, n, 10 * rank + i);
  clear(in, size * n + 1);
  OK(MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK_FILL(in + i * n, n, 10 * i + rank);
  EQ(UNTOUCHED, in[size * n]);
  OK(MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, n, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK_FILL(out + i * n, n, 10 * i + rank);
}

// Rank i sends (i + j) % 3 integers to rank j: symmetric, so that it can also run in place.
static void all_to_all_varying(void) {
  int amounts[64], starts[64], byte_amounts[64], byte_starts[64], total = 0;
  MPI_Datatype integers[64], bytes[64];
  for (int i = 0; i < size; ++i) {
    amounts[i] = (rank + i) % 3;
    starts[i] = total;
    byte_amounts[i] = amounts[i] * (int)sizeof(int);
    byte_starts[i] = total * (int)sizeof(int);
    integers[i] = MPI_INT;
    bytes[i] = MPI_BYTE;
    fill(out + total, amounts[i], 10 * rank + i);
    total += amounts[i] + 1;
  }
  clear(in, total);
  OK(MPI_Alltoallv(out, amounts, starts, MPI_INT, in, amounts, starts, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) {
    CHECK_FILL(in + starts[i], amounts[i], 10 * i + rank);
    EQ(UNTOUCHED, in[starts[i] + amounts[i]]);
  }
  clear(in, total);
  OK(MPI_Alltoallw(out, amounts, byte_starts, integers, in, byte_amounts, byte_starts, bytes, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK_FILL(in + starts[i], amounts[i], 10 * i + rank);
  memcpy(in, out, (size_t)total * sizeof(int));
  OK(MPI_Alltoallv(MPI_IN_PLACE, GARBAGE, GARBAGE, MPI_DATATYPE_NULL, in, amounts, starts, MPI_INT,
                   MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK_FILL(in + starts[i], amounts[i], 10 * i + rank);
  memcpy(in, out, (size_t)total * sizeof(int));
  OK(MPI_Alltoallw(MPI_IN_PLACE, GARBAGE, GARBAGE, GARBAGE, in, amounts, byte_starts, integers, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK_FILL(in + starts[i], amounts[i], 10 * i + rank);
}

// Element i of rank r is (r + 1) * i, so that the sum is triangle * i and the maximum size * i.
static void reductions(int root, int n) {
  int triangle = size * (size + 1) / 2;
  for (int i = 0; i < n; ++i) out[i] = (rank + 1) * i;
  clear(in, n + 1);
  OK(MPI_Reduce(out, rank == root ? in : GARBAGE, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
  if (rank == root)
    for (int i = 0; i < n; ++i) EQ(triangle * i, in[i]);
  EQ(UNTOUCHED, in[n]);
  memcpy(in, out, (size_t)n * sizeof(int));
  OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : in, rank == root ? in : NULL, n, MPI_INT, MPI_MAX, root,
                MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ(rank == root ? size * i : out[i], in[i]);
}

static void all_reductions(int n) {
  int triangle = size * (size + 1) / 2;
  for (int i = 0; i < n; ++i) out[i] = (rank + 1) * i;
  clear(in, n + 1);
  OK(MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ(triangle * i, in[i]);
  EQ(UNTOUCHED, in[n]);
  memcpy(in, out, (size_t)n * sizeof(int));
  OK(MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ(triangle * i, in[i]);
  clear(in, n);
  OK(MPI_Scan(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ((rank + 1) * (rank + 2) / 2 * i, in[i]);
  memcpy(in, out, (size_t)n * sizeof(int));
  OK(MPI_Scan(MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ((rank + 1) * (rank + 2) / 2 * i, in[i]);
  memcpy(in, out, (size_t)n * sizeof(int));
  OK(MPI_Exscan(MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  if (rank > 0)
    for (int i = 0; i < n; ++i) EQ(rank * (rank + 1) / 2 * i, in[i]);
}

static void reduce_scatters(int n) {
  int triangle = size * (size + 1) / 2, amounts[64], before = 0, total = 0;
  for (int i = 0; i < size; ++i) {
    amounts[i] = i == 1 ? 0 : n + i;
    if (i < rank) before += amounts[i];
    total += amounts[i];
  }
  for (int i = 0; i < total; ++i) out[i] = (rank + 1) * i;
  clear(in, total + 1);
  OK(MPI_Reduce_scatter(out, in, amounts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < amounts[rank]; ++i) EQ(triangle * (before + i), in[i]);
  EQ(UNTOUCHED, in[amounts[rank]]);
  // MPICH 5.0.2 stops with "memory ranges overlap" where a long block overlaps its place in the buffer.
  if (n < LONG || !library_is("MPICH")) {
    memcpy(in, out, (size_t)total * sizeof(int));
    OK(MPI_Reduce_scatter(MPI_IN_PLACE, in, amounts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < amounts[rank]; ++i) EQ(triangle * (before + i), in[i]);
  }
  for (int i = 0; i < size * n; ++i) out[i] = (rank + 1) * i;
  clear(in, n + 1);
  OK(MPI_Reduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ(triangle * (rank * n + i), in[i]);
  EQ(UNTOUCHED, in[n]);
  OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < n; ++i) EQ(triangle * (rank * n + i), out[i]);
}

// Every second integer on one side, packed on the other: signatures agree, types do not.
static void derived_types(void) {
  enum { N = 100 };
  MPI_Datatype spread, wide;
  OK(MPI_Type_vector(N, 1, 2, MPI_INT, &spread));
  OK(MPI_Type_create_resized(spread, 0, 2 * N * (MPI_Aint)sizeof(int), &wide));
  OK(MPI_Type_commit(&wide));
  OK(MPI_Type_free(&spread));
  clear(out, 2 * N);
  for (int i = 0; i < N; ++i) out[2 * i] = 1000 * rank + i;
  OK(MPI_Allgather(out, 1, wide, in, N, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size * N; ++i) EQ(1000 * (i / N) + i % N, in[i]);
  clear(out, 2 * N * size);
  OK(MPI_Alltoall(in, N, MPI_INT, out, 1, wide, MPI_COMM_WORLD));
  for (int i = 0; i < size * N; ++i) {
    EQ(1000 * rank + i % N, out[2 * i]);
    EQ(UNTOUCHED, out[2 * i + 1]);
  }
  if (rank == 0)
    for (int i = 0; i < N; ++i) out[2 * i] = 7 * i;
  if (rank == 0)
    OK(MPI_Bcast(out, 1, wide, 0, MPI_COMM_WORLD));
  else {
    OK(MPI_Bcast(in, N, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < N; ++i) EQ(7 * i, in[i]);
  }
  OK(MPI_Type_free(&wide));
}

static void of_no_length(void) {
  OK(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Allreduce(MPI_IN_PLACE, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Nobody leaves a barrier before everybody came: the last to come says so in the others' memory of messages.
static void barrier_holds(void) {
  int flag = UNTOUCHED;
  for (int last = 0; last < size; ++last) {
    if (rank == last)
      for (int i = 0; i < size; ++i)
        if (i != rank) OK(MPI_Ssend(&rank, 1, MPI_INT, i, last, MPI_COMM_WORLD));
    if (rank != last) OK(MPI_Recv(&flag, 1, MPI_INT, last, last, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

int main(void) {
  start();
  prepare_varying();
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < LENGTHS; ++i) {
      broadcast(root, lengths[i]);
      gather_and_scatter(root, lengths[i]);
      gather_and_scatter_in_place(root, lengths[i]);
      reductions(root, lengths[i]);
    }
    varying(root);
    varying_in_place(root);
  }
  for (int i = 0; i < LENGTHS; ++i) {
    all_gather(lengths[i]);
    all_to_all(lengths[i]);
    all_reductions(lengths[i]);
    reduce_scatters(lengths[i]);
  }
  all_to_all_varying();
  derived_types();
  of_no_length();
  barrier_holds();
  return finish("collective");
}
