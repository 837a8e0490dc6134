// Rank 2 has nothing to send in 65536 gathers, so it is as many calls ahead of ranks 0 and 1 when these wait for
// each other, long enough to look in which call the others are. Roots differ from call to call.
// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include "trap.h"

enum { AHEAD = 65536, SLOW = 4 };

static int root_of(int call) {
  return call % 3 == 2 ? 1 : 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int call = 0; call < 3; ++call) MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 2) nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
  for (int call = 0; call < AHEAD + 2; ++call) {
    const int counts[3] = {call < SLOW, call < SLOW, 0}, places[3] = {0, 1, 2};
    const long own = rank;
    long all[3] = {-1, -1, -1};
    if (rank == 1 - root_of(call) && call < SLOW) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    REQUIRE(MPI_Gatherv(&own, counts[rank], MPI_LONG, all, counts, places, MPI_LONG, root_of(call),
                        MPI_COMM_WORLD) == MPI_SUCCESS);
    REQUIRE(rank != root_of(call) || all[1] == (call < SLOW ? 1 : -1));
  }
  return finish();
}
