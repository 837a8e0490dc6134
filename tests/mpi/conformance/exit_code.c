// The status that main returns after MPI_Finalize reaches the launcher.
//
// ranks: 1 2
// exit: 7
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

int main(void) {
  start();
  finish("exit_code");
  return 7;
}
