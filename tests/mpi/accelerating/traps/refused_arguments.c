// Ranks make calls that the MPI refuses for their arguments, before anybody else is in them, and make them again as
// they should be. The others do not notice. Word 1: which of a communicator's calls is the first such one.
// SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

enum { LONG = 10000 };

static int refused(int call, MPI_Comm comm, long* value, long* sum) {
  const int wrong[8] = {-1}, none[8] = {0};
  int rank;
  MPI_Comm_rank(comm, &rank);
  switch (call % 6) {
    case 0:
      return MPI_Bcast(value, 1, MPI_DATATYPE_NULL, 0, comm);
    case 1:
      return MPI_Bcast(value, -1, MPI_LONG, 0, comm);
    case 2:
      return MPI_Gatherv(value, 0, MPI_LONG, sum, wrong, none, MPI_LONG, rank, comm);
    case 3:
      return MPI_Scatterv(sum, wrong, none, MPI_LONG, value, 0, MPI_LONG, rank, comm);
    case 4:
      return MPI_Alltoallv(value, wrong, none, MPI_LONG, sum, none, none, MPI_LONG, comm);
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
  // Long enough for all to compare at the end which call they are in.
  static long own[LONG], all[LONG];
  REQUIRE(MPI_Allreduce(own, all, LONG, MPI_LONG, MPI_SUM, comm) == MPI_SUCCESS);
  MPI_Comm_free(&comm);
  return finish();
}
