/* A thread that opens and closes a region while recording is stopped, and opens another one when it is not; and
 * functions that are met for the first time while errno holds something. SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#include "corewise.h"

#define APART __attribute__((noinline))

static pthread_barrier_t meet;
static volatile int sink;

APART void met_late(void) {
  sink = 1;
}

static void* in_thread(void* argument) {
  corewise_begin("while stopped");
  corewise_end();
  pthread_barrier_wait(&meet);
  pthread_barrier_wait(&meet);
  corewise_begin("while recording");
  corewise_end();
  return argument;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  pthread_barrier_init(&meet, NULL, 2);
  MPI_Pcontrol(0);
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_barrier_wait(&meet);
  MPI_Pcontrol(1);
  pthread_barrier_wait(&meet);
  pthread_join(thread, NULL);
  errno = 4711;
  met_late();
  if (errno != 4711) printf("errno is %d\n", errno);
  MPI_Finalize();
  return 0;
}
