// MPI_Request_get_status in one thread while another one waits for the request: when it says that a receive is
// complete, the data are there.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include "typed/typed.h"

enum { ROUNDS = 60, TAG = 5 };
static layout strided;
static int *room, round_of;
static MPI_Request request;
static pthread_barrier_t together;

// Looks until the receive of the round is complete, in one thread or the other.
static void* look(void* unused) {
  for (int seed = 1; seed <= ROUNDS; ++seed) {
    int complete = 0;
    pthread_barrier_wait(&together);
    while (complete == 0) OK(MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE));
    CHECK_LAYOUT(room, &strided, seed);
    pthread_barrier_wait(&together);
  }
  return unused;
}

static void receive(void) {
  pthread_t looker;
  OK(MPI_Recv_init(address(room, &strided), strided.items, strided.type, 0, TAG, MPI_COMM_WORLD, &request));
  EQ(0, pthread_barrier_init(&together, NULL, 2));
  EQ(0, pthread_create(&looker, NULL, look, NULL));
  for (int seed = 1; seed <= ROUNDS; ++seed) {
    clear_room(room, strided.span);
    OK(MPI_Start(&request));
    pthread_barrier_wait(&together);
    OK(MPI_Send(&seed, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_LAYOUT(room, &strided, seed);
    pthread_barrier_wait(&together);
  }
  EQ(0, pthread_join(looker, NULL));
  EQ(0, pthread_barrier_destroy(&together));
  OK(MPI_Request_free(&request));
}

static void send(void) {
  for (int seed = 1; seed <= ROUNDS; ++seed) {
    OK(MPI_Recv(&round_of, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(seed, round_of);
    fill_layout(room, &strided, seed);
    OK(MPI_Send(address(room, &strided), strided.items, strided.type, 1, TAG, MPI_COMM_WORLD));
  }
}

int main(void) {
  int provided = 0;
  OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  know_world();
  strided = make_layout(0, LARGE);
  room = new_room(&strided, -1);
  // Open MPI 5.0 says so before the data are there.
  const int runs = provided == MPI_THREAD_MULTIPLE && !library_is("Open MPI");
  if (runs && rank == 1) receive();
  if (runs && rank == 0) send();
  free_layout(&strided);
  return finish("typed_status");
}
