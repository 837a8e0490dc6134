// A world ends while another thread is in the collectives of a session: on each rank at another of them. Word 1:
// how many. SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../traps/trap.h"

static atomic_int calls_done;
static int calls;

static MPI_Session open_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  REQUIRE(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  MPI_Info_free(&info);
  return session;
}

static MPI_Comm communicator(MPI_Session session) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "theirs", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

static void* work(void* argument) {
  const MPI_Comm comm = *(MPI_Comm*)argument;
  for (int i = 0; i < calls; ++i) {
    collective(i % KINDS, comm, 0, 3);
    ++calls_done;
    usleep(100);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  REQUIRE(level == MPI_THREAD_MULTIPLE);
  calls = atoi(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, MPI_COMM_WORLD, 0, 3);
  MPI_Session session = open_session();
  MPI_Comm comm = communicator(session);
  pthread_t thread;
  pthread_create(&thread, NULL, work, &comm);
  while (calls_done < calls / 4 * (1 + rank % 2)) usleep(100);
  MPI_Finalize();
  pthread_join(thread, NULL);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  if (rank == 0) puts("right");
  return 0;
}
