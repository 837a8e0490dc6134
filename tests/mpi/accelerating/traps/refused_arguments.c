// Ranks make calls that the MPI refuses for their arguments, before anybody else is in them, and make them again as
// they should be. The others do not notice. Word 1: which of a communicator's calls is the first such one.
// SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

static int refused(int call, MPI_Comm comm, long* value, long* sum) {
  switch (call % 3) {
    case 0:
      return MPI_Bcast(value, 1, MPI_DATATYPE_NULL, 0, comm);
    case 1:
      return MPI_Bcast(value, -1, MPI_LONG, 0, comm);
    default:
      return MPI_Gather(value, 1, MPI_LONG, sum, 1, MPI_LONG, 1000, comm);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int first = argc > 1 ? atoi(argv[1]) : 0;
  for (int call = 0; call < 20; ++call) {
    long value = rank + call, sum = 0, more[8] = {0};
    if (call >= first && (call + rank) % 2 == 0) REQUIRE(refused(call, comm, &value, more) != MPI_SUCCESS);
    MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, comm);
    REQUIRE(sum == (long)size * (size - 1) / 2 + (long)size * call);
  }
  MPI_Comm_free(&comm);
  return finish();
}
