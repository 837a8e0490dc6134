/* A library of C with functions that have the names of MPI's procedures in lower case, as R's Rmpi has them. It is
   called as loader.c calls one of Fortran. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>

int mpi_comm_rank(int number) {
  return number + 1;
}

int mpi_send(const char* text) {
  return text[0];
}

void part_(void) {
  int (*volatile rank)(int) = mpi_comm_rank;
  if (rank(6) == 7 && mpi_send("s") == 's') return;
  puts("not its own function");
  MPI_Abort(MPI_COMM_WORLD, 7);
}
