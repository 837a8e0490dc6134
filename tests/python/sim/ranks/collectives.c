// Every collective of the simulated MPI on any number of ranks, at once and in the background, short and long
// blocks, each result against a formula. An operator that does not commute (composition of x -> a x + b modulo a
// prime) shows the order of operands. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, LONGEST = 300, PRIME = 10007 };

static int rank, size;
static int in[MOST * LONGEST], out[MOST * LONGEST];

#define EQ(expected, found)                                                                            \
  do {                                                                                                 \
    const long e = (expected), f = (found);                                                            \
    if (e != f) {                                                                                      \
      printf("%s:%d: rank %d of %d: expected %ld, found %ld\n", __FILE__, __LINE__, rank, size, e, f); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                    \
    }                                                                                                  \
  } while (0)

static int value(int from, int to, int element) {
  return from * 1000003 + to * 1009 + element;
}

static void finish(MPI_Request* request) {
  if (*request != MPI_REQUEST_NULL) MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void movement(int n, int later) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < n; ++i) in[i] = rank == root ? value(root, 0, i) : -1;
    later ? MPI_Ibcast(in, n, MPI_INT, root, MPI_COMM_WORLD, &request)
          : MPI_Bcast(in, n, MPI_INT, root, MPI_COMM_WORLD);
    finish(&request);
    for (int i = 0; i < n; ++i) EQ(value(root, 0, i), in[i]);
    for (int i = 0; i < n; ++i) in[i] = value(rank, root, i);
    later ? MPI_Igather(in, n, MPI_INT, out, n, MPI_INT, root, MPI_COMM_WORLD, &request)
          : MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, MPI_COMM_WORLD);
    finish(&request);
    for (int i = 0; rank == root && i < n * size; ++i) EQ(value(i / n, root, i % n), out[i]);
    for (int i = 0; i < n * size; ++i) out[i] = value(root, i / n, i % n);
    later ? MPI_Iscatter(out, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD, &request)
          : MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD);
    finish(&request);
    for (int i = 0; i < n; ++i) EQ(value(root, rank, i), in[i]);
  }
  for (int i = 0; i < n; ++i) in[i] = value(rank, 0, i);
  later ? MPI_Iallgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD, &request)
        : MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
  finish(&request);
  for (int i = 0; i < n * size; ++i) EQ(value(i / n, 0, i % n), out[i]);
  for (int i = 0; i < n * size; ++i) in[i] = value(rank, i / n, i % n);
  later ? MPI_Ialltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD, &request)
        : MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
  finish(&request);
  for (int i = 0; i < n * size; ++i) EQ(value(i / n, rank, i % n), out[i]);
}

// Rank r has r % 3 elements for everybody, in blocks that lie backwards.
static void uneven(void) {
  int counts[MOST], places[MOST], mine[MOST], own_places[MOST], total = 0;
  for (int i = size - 1; i >= 0; --i) {
    counts[i] = i % 3;
    places[i] = total;
    total += counts[i];
    mine[i] = rank % 3;
    own_places[i] = i * 3;
  }
  for (int i = 0; i < rank % 3; ++i) in[i] = value(rank, 0, i);
  MPI_Allgatherv(in, rank % 3, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) EQ(value(r, 0, i), out[places[r] + i]);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < mine[r]; ++i) in[own_places[r] + i] = value(rank, r, i);
  MPI_Alltoallv(in, mine, own_places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) EQ(value(r, rank, i), out[places[r] + i]);
  const int root = size / 2;
  MPI_Gatherv(in, rank % 3, MPI_INT, out, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  for (int r = 0; rank == root && r < size; ++r)
    for (int i = 0; i < counts[r]; ++i) EQ(value(r, 0, i), out[places[r] + i]);
  MPI_Scatterv(out, counts, places, MPI_INT, in, rank % 3, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < rank % 3; ++i) EQ(value(rank, 0, i), in[i]);
}

typedef struct {
  int a, b;
} Line;

static Line composed(Line first, Line second) {
  const Line both = {first.a * second.a % PRIME, (first.b * second.a + second.b) % PRIME};
  return both;
}

static void compose(void* low, void* high, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((Line*)high)[i] = composed(((Line*)low)[i], ((Line*)high)[i]);
}

static Line line_of(int r) {
  const Line line = {r + 2, 3 * r + 1};
  return line;
}

static Line line_to(int last) {
  Line all = line_of(0);
  for (int r = 1; r <= last; ++r) all = composed(all, line_of(r));
  return all;
}

static void order_of_operands(void) {
  MPI_Datatype pair;
  MPI_Op op;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(compose, 0, &op);
  const Line mine = line_of(rank), all = line_to(size - 1);
  Line found = {-1, -1};
  MPI_Allreduce(&mine, &found, 1, pair, op, MPI_COMM_WORLD);
  EQ(all.a, found.a);
  EQ(all.b, found.b);
  for (int root = 0; root < size; ++root) {
    found.a = -1;
    MPI_Reduce(&mine, &found, 1, pair, op, root, MPI_COMM_WORLD);
    if (rank == root) EQ(all.a, found.a);
    if (rank == root) EQ(all.b, found.b);
  }
  MPI_Scan(&mine, &found, 1, pair, op, MPI_COMM_WORLD);
  EQ(line_to(rank).a, found.a);
  EQ(line_to(rank).b, found.b);
  MPI_Exscan(&mine, &found, 1, pair, op, MPI_COMM_WORLD);
  if (rank > 0) EQ(line_to(rank - 1).b, found.b);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
}

static void sums(int n) {
  int counts[MOST];
  const int ranks = size * (size - 1) / 2;
  for (int i = 0; i < size * (n + size); ++i) in[i] = rank + i;
  MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) EQ(ranks + size * (rank * n + i), out[i]);
  for (int i = 0; i < size; ++i) counts[i] = i;
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < rank; ++i) EQ(ranks + size * (rank * (rank - 1) / 2 + i), out[i]);
  MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) EQ(ranks + size * i, in[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int later = 0; later < 2; ++later) {
    movement(1, later);
    movement(LONGEST, later);
  }
  uneven();
  order_of_operands();
  sums(5);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) printf("ok collectives\n");
  return 0;
}
