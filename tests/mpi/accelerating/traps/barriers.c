// COUNT barriers. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < atoi(argv[1]); ++i) MPI_Barrier(MPI_COMM_WORLD);
  return finish();
}
