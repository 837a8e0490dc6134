// Rank 1 is late in a gather. Ranks 2 and 3 have done their part in it and go on to broadcasts from different
// roots, of which they are told; rank 0 still has the gather's result when rank 1 has come, and all are told of the
// wrong call in that. SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include "trap.h"

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int call = 0; call < 3; ++call) collective(8, comm, 0, 1);  // it is set up
  const long own = rank + 1;
  long all[MOST_RANKS] = {0}, more[8] = {0};
  if (rank == 1) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
  REQUIRE(MPI_Gather(&own, 1, MPI_LONG, all, 1, MPI_LONG, 0, comm) == MPI_SUCCESS);
  for (int i = 0; rank == 0 && i < size; ++i) REQUIRE(all[i] == i + 1);
  REQUIRE(class_of(MPI_Bcast(more, 8, MPI_LONG, rank == 3 ? 2 : 3, comm)) == MPI_ERR_ROOT);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&comm);
  return finish();
}
