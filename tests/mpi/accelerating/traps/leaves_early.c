// Ranks that have done their part in a gather free the communicator, end their session and are gone while the root
// still waits for the last rank. SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include "trap.h"

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, size;
  REQUIRE(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "leaves", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int call = 0; call < 3; ++call) MPI_Barrier(comm);
  const long own = rank;
  long all[MOST_RANKS];
  if (rank == size - 1) nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL);
  const int code = MPI_Gather(&own, 1, MPI_LONG, all, 1, MPI_LONG, 0, comm);
  for (int i = 0; rank == 0 && code == MPI_SUCCESS && i < size; ++i) {
    if (all[i] != i) return 2;
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  if (rank == 0 && code == MPI_SUCCESS) puts("right");
  return code == MPI_SUCCESS ? 0 : 3;
}
