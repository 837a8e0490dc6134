// The status that main returns after MPI_Finalize reaches the launcher.
//
// ranks: 1 2
// exit: 7
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

int main(void) {
  start();
  say_ok("exit_code");
  // Open MPI's launcher ends the other ranks as soon as one has failed: what they say must be out by then. One rank
  // sleeps, the others wait for it: simulated ranks would sleep one after another.
  if (rank == 0) sleep(2);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  return 7;
}
