// Sessions without MPI_Init: communicators from process sets; two sessions at once, their communicators kept apart,
// one closed while the other goes on. Nothing here may assume that MPI_COMM_WORLD exists.
//
// ranks: 1 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "sessions.h"

#ifdef HAVE_MPI4
static void process_sets(MPI_Session session) {
  int sets = 0, world = 0, self = 0;
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
  CHECK(sets >= 2);
  for (int i = 0; i < sets; ++i) {
    char name[MPI_MAX_PSET_NAME_LEN];
    int length = MPI_MAX_PSET_NAME_LEN;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    world |= strcmp(name, "mpi://WORLD") == 0;
    self |= strcmp(name, "mpi://SELF") == 0;
  }
  EQ(1, world);
  EQ(1, self);
  // Open MPI 5.0.11 ends the job here with "MPI_SUCCESS: no errors".
  if (library_is("Open MPI")) return;
  MPI_Info info;
  char text[32] = "";
  int length = sizeof text, found = 0;
  OK(MPI_Session_get_pset_info(session, "mpi://WORLD", &info));
  OK(MPI_Info_get_string(info, "mpi_size", &length, text, &found));
  CHECK(found);
  EQ(size, atoi(text));
  OK(MPI_Info_free(&info));
}

static void without_world(void) {
  int flag = 1;
  OK(MPI_Initialized(&flag));
  EQ(0, flag);
  MPI_Session first = open_session();
  MPI_Comm world = communicator(first, "mpi://WORLD", "first");
  OK(MPI_Comm_rank(world, &rank));
  OK(MPI_Comm_size(world, &size));
  process_sets(first);
  use(world, 1);
  MPI_Session second = open_session();
  MPI_Comm other = communicator(second, "mpi://WORLD", "second"), self = communicator(second, "mpi://SELF", "self");
  use(other, 2);
  use(self, 3);
  MPI_Request request;
  int value = -1;
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &request));
  use(world, 4);
  MPI_Comm part;
  OK(MPI_Comm_split(world, rank % 2, -rank, &part));
  use(part, 5);
  OK(MPI_Comm_free(&part));
  OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 6, other));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ((rank + size - 1) % size, value);
  OK(MPI_Barrier(other));
  OK(MPI_Comm_free(&world));
  close_session(&first);
  use(other, 7);
  OK(MPI_Comm_free(&self));
  OK(MPI_Comm_free(&other));
  close_session(&second);
}
#endif

int main(void) {
#ifdef HAVE_MPI4
  without_world();
#endif
  say_ok("session");
  return 0;
}
