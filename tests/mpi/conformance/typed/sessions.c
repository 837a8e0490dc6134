// Threads that exchange non-contiguous messages over communicators of a session with MPI_THREAD_MULTIPLE, beside a
// world that was started with less: a session has a level of threads of its own (MPI-4.1, 11.3.1).
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include "sessions.h"

#include <pthread.h>

#include "typed/typed.h"

#ifdef HAVE_MPI4
enum { THREADS = 4, ROUNDS = 400, WINDOW = 4 };

static layout of;

static MPI_Session open_threaded(int* multiple) {
  char level[64] = "";
  int length = sizeof level, found = 0;
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Info info, got;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Info_free(&info));
  OK(MPI_Session_get_info(session, &got));
  OK(MPI_Info_get(got, "thread_level", length - 1, level, &found));
  OK(MPI_Info_free(&got));
  *multiple = found && strcmp(level, "MPI_THREAD_MULTIPLE") == 0;
  return session;
}

static void* exchange(void* argument) {
  const MPI_Comm comm = *(MPI_Comm*)argument;
  int *in[WINDOW], *out[WINDOW], other = 1 - rank;
  for (int i = 0; i < WINDOW; ++i) {
    in[i] = new_room(&of, -1);
    out[i] = new_room(&of, -1);
  }
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < WINDOW; ++i) {
      fill_layout(out[i], &of, round + i);
      clear_room(in[i], of.span);
      OK(MPI_Irecv(in[i], of.items, of.type, other, i, comm, &requests[i]));
    }
    for (int i = 0; i < WINDOW; ++i)
      OK(MPI_Isend(out[i], of.items, of.type, other, i, comm, &requests[WINDOW + i]));
    OK(MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < WINDOW; ++i) CHECK_LAYOUT(in[i], &of, round + i);
  }
  return NULL;
}

static void exchange_in_threads(MPI_Session session) {
  pthread_t threads[THREADS];
  MPI_Comm comms[THREADS];
  comms[0] = communicator(session, "mpi://WORLD", "threads");
  for (int i = 1; i < THREADS; ++i) OK(MPI_Comm_dup(comms[0], &comms[i]));
  of = make_layout(0, SMALL);
  for (int i = 0; i < THREADS; ++i) EQ(0, pthread_create(&threads[i], NULL, exchange, &comms[i]));
  for (int i = 0; i < THREADS; ++i) EQ(0, pthread_join(threads[i], NULL));
  free_layout(&of);
  for (int i = 0; i < THREADS; ++i) OK(MPI_Comm_free(&comms[i]));
}
#endif

int main(void) {
#ifdef HAVE_MPI4
  int multiple = 0;
  MPI_Session session = open_threaded(&multiple);
  start();
  if (multiple) exchange_in_threads(session);
  close_session(&session);
#else
  start();
#endif
  return finish("typed_sessions");
}
