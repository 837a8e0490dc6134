// A session beside MPI_COMM_WORLD: both see the same ranks, and their messages do not meet. The session may be the
// first or the second to open, and outlives a communicator of the other.
//
// ranks: 1 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "sessions.h"

#ifdef HAVE_MPI4
static void beside_world(MPI_Session session) {
  MPI_Comm comm = communicator(session, "mpi://WORLD", "beside"), copy;
  int me = -1, count = -1, value = -1;
  MPI_Request request;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &count));
  EQ(rank, me);
  EQ(size, count);
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  use(comm, 8);
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_free(&comm));
  use(copy, 9);
  OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ((rank + size - 1) % size, value);
  OK(MPI_Barrier(copy));
  OK(MPI_Comm_free(&copy));
}
#endif

int main(void) {
#ifdef HAVE_MPI4
  MPI_Session before = open_session();
  start();
  MPI_Session after = open_session();
  beside_world(before);
  beside_world(after);
  close_session(&before);
  beside_world(after);
  close_session(&after);
#else
  start();
#endif
  return finish("session_world");
}
