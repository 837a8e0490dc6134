// MPI_THREAD_MULTIPLE: ping-pong by several threads of two ranks, and threads that come and go.
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include "scenario.h"

enum { kThreads = 4, kRounds = 200, kVisitors = 1000 };

__attribute__((noinline)) static void* ping_pong(void* argument) {
  const int tag = (int)(long)argument;
  int ball[8] = {0};
  MPI_Request request;
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 0) MPI_Send(ball, tag + 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    MPI_Irecv(ball, 8, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(ball, tag + 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  }
  return NULL;
}

__attribute__((noinline)) static void* visit(void* argument) {
  MPI_Send(argument, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, number = 0;
  pthread_t threads[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  REQUIRE(provided == MPI_THREAD_MULTIPLE);
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, ping_pong, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kVisitors; ++i) {
    pthread_create(&threads[0], NULL, visit, &number);
    pthread_join(threads[0], NULL);
  }
  MPI_Finalize();
  if (rank == 0) puts("ok threads");
  return 0;
}
