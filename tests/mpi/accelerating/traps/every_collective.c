// Every collective on the world, of few bytes and of many, COUNT times each. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int times = argc > 1 ? atoi(argv[1]) : 3;
  for (int time = 0; time < times; ++time)
    for (int kind = 0; kind < KINDS; ++kind) {
      collective(kind, MPI_COMM_WORLD, time % size, 3);
      collective(kind, MPI_COMM_WORLD, time % size, 20000);
    }
  return finish();
}
