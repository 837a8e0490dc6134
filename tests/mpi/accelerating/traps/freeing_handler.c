// An error handler frees the communicator whose collective has failed: a wrong root in one that was taken over, and
// one without a type in one that was not yet. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

static int told;

static void free_it(MPI_Comm* comm, int* code, ...) {
  MPI_Comm freed = *comm;
  (void)code;
  if (told++ == 0) MPI_Comm_free(&freed);
}

static MPI_Comm freed_on_error(void) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(free_it, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  told = 0;
  return comm;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  long data[8] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = freed_on_error();
  for (int call = 0; call < 3; ++call) MPI_Barrier(comm);
  REQUIRE(MPI_Bcast(data, 8, MPI_LONG, rank == 0 ? 1 : 0, comm) != MPI_SUCCESS);
  REQUIRE(told == 1);
  comm = freed_on_error();
  MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, comm);
  REQUIRE(told == 1);
  MPI_Barrier(MPI_COMM_WORLD);
  return finish();
}
