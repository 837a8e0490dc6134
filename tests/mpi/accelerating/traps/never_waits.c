// Rank 1 adds to rank 0's window while rank 0 makes collectives without data, in which it waits for nobody. Rank 1
// makes as many of them later. SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include "trap.h"

enum { NUMBERS = 4096, LONGEST_S = 5 };

static long numbers[NUMBERS];

static void gather_nothing(MPI_Comm comm) {
  const int none[MOST_RANKS] = {0};
  MPI_Gatherv(NULL, 0, MPI_LONG, NULL, none, none, MPI_LONG, 0, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  long calls = 0;
  MPI_Comm comm;
  MPI_Win window;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win_create(numbers, sizeof numbers, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int call = 0; call < 3; ++call) MPI_Barrier(comm);
  if (rank == 0) {
    const time_t begun = time(NULL);
    volatile const long* const last = &numbers[NUMBERS - 1];
    while (*last == 0 && time(NULL) <= begun + LONGEST_S) {
      gather_nothing(comm);
      ++calls;
    }
    REQUIRE(*last == NUMBERS);
  } else {
    long added[NUMBERS];
    for (int i = 0; i < NUMBERS; ++i) added[i] = i + 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(added, NUMBERS, MPI_LONG, 0, 0, NUMBERS, MPI_LONG, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_free(&window);
  MPI_Bcast(&calls, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  for (long call = 0; rank != 0 && call < calls; ++call) gather_nothing(comm);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  return finish();
}
