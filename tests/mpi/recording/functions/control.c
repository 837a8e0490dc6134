/* Two ranks that stop and resume recording in the middle of messages, functions and regions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "corewise.h"

#define APART __attribute__((noinline))

static int me, other;
static volatile int sink;

/* Every message has its own tag: the test knows which are recorded. */
APART static void swap_messages(int tag) {
  int sent = tag, got = -1;
  MPI_Request requests[2];
  MPI_Irecv(&got, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&sent, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (got != tag) printf("%d: got %d, not %d\n", me, got, tag);
}

/* The receive is posted before MPI_Pcontrol(level) and completed after it. */
APART static void across(int level, int tag) {
  int sent = tag, got = -1;
  MPI_Request request;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
  MPI_Pcontrol(level);
  MPI_Send(&sent, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (got != tag) printf("%d: got %d, not %d\n", me, got, tag);
}

APART void inside(void) {
  sink = 1;
}

APART void entered_before_the_stop(void) {
  corewise_begin("begun before the stop");
  MPI_Pcontrol(0);
  corewise_end();
  inside();
}

APART void entered_before_the_resume(void) {
  inside();
  corewise_begin("begun before the resume");
  MPI_Pcontrol(1);
  corewise_end();
}

APART void* in_thread(void* argument) {
  inside();
  return argument;
}

APART static void thread_while_stopped(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  corewise_begin("ended before MPI_Init");
  corewise_end();
  corewise_phase("forgotten");
  corewise_phase("begun before MPI_Init");
  corewise_begin("whole program");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  other = 1 - me;
  MPI_Pcontrol(1); /* recording already */
  swap_messages(1);
  MPI_Pcontrol(0);
  MPI_Pcontrol(0); /* stopped already */
  swap_messages(2);
  corewise_phase("begun while stopped");
  thread_while_stopped();
  MPI_Pcontrol(1);
  swap_messages(3);
  across(0, 4);
  across(1, 5);
  entered_before_the_stop();
  entered_before_the_resume();
  MPI_Pcontrol(17, "text", 2.5); /* means nothing */
  MPI_Pcontrol(2);
  swap_messages(6);
  corewise_end(); /* whole program */
  corewise_end(); /* one too many */
  MPI_Finalize();
  corewise_begin("after MPI_Finalize");
  corewise_end();
  return 0;
}
