// Two threads under MPI_THREAD_MULTIPLE, each with a communicator of its own, in different collectives at the same
// time. SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include "trap.h"

struct part {
  MPI_Comm comm;
  int first;
};

static void* work(void* argument) {
  const struct part* const part = argument;
  int size;
  MPI_Comm_size(part->comm, &size);
  for (int i = 0; i < 200; ++i)
    collective((i * part->first + part->first) % KINDS, part->comm, i % size, i % 10 == 0 ? 10000 : 1 + i % 50);
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  REQUIRE(level == MPI_THREAD_MULTIPLE);
  struct part parts[2] = {{MPI_COMM_NULL, 3}, {MPI_COMM_NULL, 5}};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &parts[i].comm);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &parts[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&parts[i].comm);
  return finish();
}
