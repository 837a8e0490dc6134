/* A ring of cells over all ranks: in every step each cell becomes the sum of itself and its two
 * neighbours, modulo a prime. A step costs what the first argument says per cell, in ns. What is printed
 * does not depend on how many ranks there are. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "corewise_sim.h"

enum { CELLS = 960, STEPS = 20, PRIME = 10007 };

static long cells[CELLS + 2], next[CELLS + 2];

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double cell_ns = argc > 1 ? atof(argv[1]) : 0;
  const int mine = CELLS / size;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (int i = 1; i <= mine; ++i) cells[i] = (long)(rank * mine + i) * (rank * mine + i) % PRIME;
  for (int step = 0; step < STEPS; ++step) {
    MPI_Request requests[4];
    MPI_Irecv(&cells[0], 1, MPI_LONG, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&cells[mine + 1], 1, MPI_LONG, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&cells[mine], 1, MPI_LONG, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&cells[1], 1, MPI_LONG, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    cw_compute_ns(cell_ns * mine);
    for (int i = 1; i <= mine; ++i) next[i] = (cells[i - 1] + cells[i] + cells[i + 1]) % PRIME;
    for (int i = 1; i <= mine; ++i) cells[i] = next[i];
  }
  long sum = 0, all = 0;
  for (int i = 1; i <= mine; ++i) sum += cells[i] * (rank * mine + i) % PRIME;
  MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %ld\n", all);
  MPI_Finalize();
  return 0;
}
