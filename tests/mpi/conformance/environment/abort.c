// MPI_Abort ends all ranks, those that wait included, with its code.
//
// ranks: 1 2 3
// exit: 42
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

int main(void) {
  int value;
  start();
  say_ok("abort");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank != size - 1) MPI_Recv(&value, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sleep(2);  // MPICH's launcher drops what it has not read by then
  MPI_Abort(MPI_COMM_WORLD, 42);
  return 1;
}
