// Two sessions that overlap, with a communicator each, in programs without a world (alone), or with one that begins
// while they are open and ends before them (inside) or after them (after); then perhaps a session AGAIN.
// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include "trap.h"

static MPI_Session open_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  REQUIRE(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  return session;
}

static MPI_Comm communicator(MPI_Session session, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

static void use(MPI_Comm comm) {
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, comm, 1, 3);
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, comm, 0, 3000);
}

int main(int argc, char** argv) {
  const int alone = strcmp(argv[1], "alone") == 0, inside = strcmp(argv[1], "inside") == 0;
  int rank = 0;
  MPI_Session first = open_session();
  MPI_Comm one = communicator(first, "one");
  MPI_Comm_rank(one, &rank);
  use(one);
  MPI_Session second = open_session();
  MPI_Comm two = communicator(second, "two");
  use(two);
  if (!alone) {
    MPI_Init(&argc, &argv);
    use(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&one);
  MPI_Session_finalize(&first);
  use(two);
  if (inside) {
    use(MPI_COMM_WORLD);
    MPI_Finalize();
  }
  MPI_Comm_free(&two);
  MPI_Session_finalize(&second);
  if (!alone && !inside) {
    use(MPI_COMM_WORLD);
    MPI_Finalize();
  }
  // When all has ended on all ranks: MPICH 5.0.2 may hang where one rank begins anew while another still ends.
  if (argc > 2) {
    usleep(500000);
    MPI_Session last = open_session();
    one = communicator(last, "last");
    use(one);
    MPI_Comm_free(&one);
    MPI_Session_finalize(&last);
  }
  if (rank == 0) puts("right");
  return 0;
}
