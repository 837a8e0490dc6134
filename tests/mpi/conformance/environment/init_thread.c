// MPI_Init_thread away from the program's first thread: the calling thread becomes MPI's main thread, and
// finalizes.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include "check.h"

static void* whole_life(void* argument) {
  int provided = -1, flag = 0, value = -1;
  (void)argument;
  OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided));
  CHECK(provided >= MPI_THREAD_SERIALIZED);
  know_world();
  OK(MPI_Is_thread_main(&flag));
  EQ(1, flag);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  EQ((rank + size - 1) % size, value);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  return NULL;
}

int main(void) {
  pthread_t thread;
  int flag = 0;
  EQ(0, pthread_create(&thread, NULL, whole_life, NULL));
  EQ(0, pthread_join(thread, NULL));
  OK(MPI_Finalized(&flag));
  EQ(1, flag);
  say_ok("init_thread");
  return 0;
}
