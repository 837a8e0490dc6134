// Collectives of data with gaps: types that are used again and again, freed, and followed by others under the same
// handles; ranks with odd numbers have their data side by side. What lies in the gaps stays. With an argument:
// without a copy of the data, for which ranks have no memory.
// SPDX-License-Identifier: BSD-3-Clause
#include <sys/resource.h>

#include "trap.h"

enum { LARGEST = 1 << 15, GAP = -7 };

/// `count` numbers in blocks of `block`, `step` numbers apart; an item follows the last one at once.
static MPI_Datatype scattered(int count, int block, int step) {
  MPI_Datatype rows, made;
  MPI_Type_vector(count / block, block, step, MPI_LONG, &rows);
  MPI_Type_create_resized(rows, 0, (MPI_Aint)(count / block * step) * (MPI_Aint)sizeof(long), &made);
  MPI_Type_free(&rows);
  MPI_Type_commit(&made);
  return made;
}

/// Where a rank has number `i`, and whether there is any.
struct shape {
  int count, block, step;
};
static size_t place(struct shape at, size_t i) {
  return i / (size_t)at.block * (size_t)at.step + i % (size_t)at.block;
}
static size_t room(struct shape at, size_t items) {
  return items * (size_t)(at.count / at.block * at.step);
}

static long number(int from, int to, size_t i) {
  return 1000000 * from + 10000 * to + (long)(i % 9973);
}

static void fill(long* at, size_t places) {
  for (size_t i = 0; i < places; ++i) at[i] = GAP;
}

/// Of block `item`, the numbers that rank `from` has for rank `to`.
static void put(long* at, struct shape shape, int item, int from, int to) {
  for (size_t i = 0; i < (size_t)shape.count; ++i)
    at[place(shape, (size_t)item * (size_t)shape.count + i)] = number(from, to, i);
}
static void expect(const long* at, struct shape shape, int item, int from, int to) {
  for (size_t i = 0; i < (size_t)shape.count; ++i)
    REQUIRE(at[place(shape, (size_t)item * (size_t)shape.count + i)] == number(from, to, i));
}
static void expect_gaps(const long* at, struct shape shape, size_t places) {
  for (size_t i = 0; i < places; ++i)
    if (i % (size_t)shape.step >= (size_t)shape.block) REQUIRE(at[i] == GAP);
}

static void all_to_all(int with_types, const long* send, long* receive, MPI_Datatype type, MPI_Aint extent) {
  int ranks, counts[MOST_RANKS], places[MOST_RANKS];
  MPI_Datatype types[MOST_RANKS];
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < ranks; ++i) counts[i] = 1, places[i] = i * (with_types ? (int)extent : 1), types[i] = type;
  if (with_types) {
    MPI_Alltoallw(send, counts, places, types, receive, counts, places, types, MPI_COMM_WORLD);
  } else {
    MPI_Alltoallv(send, counts, places, type, receive, counts, places, type, MPI_COMM_WORLD);
  }
}

enum { RUNS = 1 << 16, BLOCK = 32 };  // of longs: 16 MiB for each rank

/// No more private memory than there is now, and a quarter of a block.
static void limit_memory(void) {
  char line[256];
  long kib = 0;
  FILE* const status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) (void)sscanf(line, "VmData: %ld", &kib);
  fclose(status);
  const rlim_t bytes = (rlim_t)kib * 1024 + (rlim_t)RUNS * BLOCK * sizeof(long) / 4;
  REQUIRE(setrlimit(RLIMIT_DATA, &(struct rlimit){bytes, bytes}) == 0);
}

/// An all-to-all of ranks that have no memory for a copy of what they send.
static void without_copies(int rank, int ranks) {
  MPI_Datatype rows, type;
  MPI_Type_vector(RUNS, BLOCK, 2 * BLOCK, MPI_LONG, &rows);
  MPI_Type_create_resized(rows, 0, (MPI_Aint)sizeof(long) * RUNS * 2 * BLOCK, &type);
  MPI_Type_commit(&type);
  const size_t places = (size_t)RUNS * 2 * BLOCK * (size_t)ranks;
  long* const send = malloc(places * sizeof(long));
  long* const receive = malloc(places * sizeof(long));
  for (size_t i = 0; i < places; ++i) send[i] = rank * 7 + (long)(i / 3), receive[i] = -1;
  for (int call = 0; call < 3; ++call) collective(14, MPI_COMM_WORLD, 0, 1);  // it is set up
  limit_memory();
  MPI_Alltoall(send, 1, type, receive, 1, type, MPI_COMM_WORLD);
  const size_t block = places / (size_t)ranks;
  for (size_t i = 0; i < places; ++i) {
    const long sent = (long)(i / block) * 7 + (long)(((size_t)rank * block + i % block) / 3);
    REQUIRE(receive[i] == (i % (2 * BLOCK) < BLOCK ? sent : -1));
  }
  free(send);
  free(receive);
  MPI_Type_free(&rows);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1) {
    without_copies(rank, ranks);
    return finish();
  }
  static const int counts[] = {4, 120, 1024, 8192, LARGEST};
  for (int size = 0; size < 5; ++size) {
    for (int form = 0; form < 3; ++form) {
      struct shape shape = {counts[size], form == 1 ? 4 : 2, 3 + 2 * form};
      if (rank % 2 == 1) shape.block = shape.step = shape.count;
      const MPI_Datatype type = scattered(shape.count, shape.block, shape.step);
      const size_t places = room(shape, (size_t)ranks);
      const MPI_Aint extent = (MPI_Aint)(room(shape, 1) * sizeof(long));
      long* const send = malloc(places * sizeof(long));
      long* const receive = malloc(places * sizeof(long));
      for (int again = 0; again < 4; ++again) {
        const int root = again % ranks;
        for (int kind = 0; kind < 7; ++kind) {
          fill(send, places), fill(receive, places);
          for (int to = 0; to < ranks; ++to) put(send, shape, to, rank, to);
          MPI_Comm w = MPI_COMM_WORLD;
          if (kind == 0) memcpy(receive, send, rank == root ? (size_t)extent : 0);
          if (kind == 0) MPI_Bcast(receive, 1, type, root, w);
          if (kind == 1) MPI_Gather(send, 1, type, receive, 1, type, root, w);
          if (kind == 2) MPI_Scatter(send, 1, type, receive, 1, type, root, w);
          if (kind == 3) MPI_Allgather(send, 1, type, receive, 1, type, w);
          if (kind == 4) MPI_Alltoall(send, 1, type, receive, 1, type, w);
          if (kind > 4) all_to_all(kind == 6, send, receive, type, extent);
          if (kind == 0) expect(receive, shape, 0, root, 0);
          if (kind == 2) expect(receive, shape, 0, root, rank);
          for (int from = 0; from < ranks; ++from) {
            if (kind == 3 || (kind == 1 && rank == root)) expect(receive, shape, from, from, 0);
            if (kind > 3) expect(receive, shape, from, from, rank);
          }
          expect_gaps(receive, shape, places);
        }
      }
      free(send);
      free(receive);
      MPI_Datatype end = type;
      MPI_Type_free(&end);
    }
  }
  return finish();
}
