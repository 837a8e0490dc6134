// Broadcasts and reductions of data in the segments of shared windows: of all ranks' windows and of some ranks',
// one after the other and several at once, in own segments and in others', on the world and on a part of it. Rank 0
// prints how many calls all ranks' memory was fit for. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

enum { NUMBERS = 6000 };

static int rank, size, fitting;

typedef struct {
  MPI_Win window;
  long* own;
} Shared;

/// A window of `comm` whose segments have room for twice the numbers, and rank 0's for a few more.
static Shared make(MPI_Comm comm) {
  Shared made;
  int number;
  MPI_Comm_rank(comm, &number);
  const MPI_Aint bytes = (2 * NUMBERS + (number == 0 ? 13 : 0)) * (MPI_Aint)sizeof(long);
  REQUIRE(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, comm, &made.own, &made.window) ==
          MPI_SUCCESS);
  for (int i = 0; i < 2 * NUMBERS; ++i) made.own[i] = -1;
  MPI_Win_fence(0, made.window);
  return made;
}

static void broadcast(MPI_Comm comm, long* data, int root, int fits) {
  int number;
  MPI_Comm_rank(comm, &number);
  for (int i = 0; i < NUMBERS; ++i) data[i] = number == root ? 5L * i + root : -2;
  MPI_Bcast(data, NUMBERS, MPI_LONG, root, comm);
  for (int i = 0; i < NUMBERS; ++i) REQUIRE(data[i] == 5L * i + root);
  fitting += fits;
}

static void all_reduce(MPI_Comm comm, long* from, long* to, int fits) {
  int number, ranks;
  MPI_Comm_rank(comm, &number);
  MPI_Comm_size(comm, &ranks);
  for (int i = 0; i < NUMBERS; ++i) from[i] = i + number;
  MPI_Allreduce(from == to ? MPI_IN_PLACE : from, to, NUMBERS, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < NUMBERS; ++i) REQUIRE(to[i] == (long)ranks * i + (long)ranks * (ranks - 1) / 2);
  fitting += fits;
}

/// Rank 0's segment of the world's window, as this rank has it.
static long* first_segment(MPI_Win window) {
  MPI_Aint bytes;
  int unit;
  long* at = NULL;
  REQUIRE(MPI_Win_shared_query(window, 0, &bytes, &unit, &at) == MPI_SUCCESS);
  return at;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, -rank, &part);
  int partners;
  MPI_Comm_size(part, &partners);
  for (int turn = 0; turn < 3; ++turn) {
    Shared all = make(MPI_COMM_WORLD);
    for (int root = 0; root < size; ++root) broadcast(MPI_COMM_WORLD, all.own + 3, root, 1);
    all_reduce(MPI_COMM_WORLD, all.own, all.own + NUMBERS, 1);
    all_reduce(MPI_COMM_WORLD, all.own + 7, all.own + 7, 1);
    // A part of the world in the world's window, which all of its ranks have.
    all_reduce(part, all.own, all.own + NUMBERS, partners > 1);
    // The world in the window of a part: nobody else has it.
    Shared some = make(part);
    all_reduce(MPI_COMM_WORLD, some.own, some.own, 0);
    all_reduce(part, some.own, all.own, partners > 1);
    // Data in the segment of another rank: the root's is its own.
    long* const first = first_segment(all.window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      for (int i = 0; i < NUMBERS; ++i) first[i] = 9L * i;
    MPI_Bcast(rank == 0 ? first : all.own + NUMBERS, NUMBERS, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < NUMBERS; ++i) REQUIRE((rank == 0 ? first : all.own + NUMBERS)[i] == 9L * i);
    ++fitting;
    if (turn == 1) {
      MPI_Win_free(&all.window);
      all_reduce(part, some.own, some.own + NUMBERS, partners > 1);
      MPI_Win_free(&some.window);
    } else {
      MPI_Win_free(&some.window);
      all_reduce(MPI_COMM_WORLD, all.own, all.own, 1);
      MPI_Win_free(&all.window);
    }
    // What is freed is forgotten.
    static long plain[NUMBERS];
    all_reduce(MPI_COMM_WORLD, plain, plain, 0);
  }
  MPI_Comm_free(&part);
  // Rank 0 is alone in its part: rank 1 knows.
  MPI_Bcast(&fitting, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  if (rank == 0) printf("fitting: %d\n", fitting);
  return finish();
}
