// A thread makes a shared window while rank 1 is in a reduction on another communicator already, in which rank 0
// uses that window as soon as it has it. SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>
#include <time.h>

#include "trap.h"

enum { NUMBERS = 8192 };

static MPI_Comm comm_of_window;
static MPI_Win window;
static double* in_window;
static int rank;

static void* make_window(void* argument) {
  if (rank == 1) nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
  MPI_Win_allocate_shared(2 * NUMBERS * sizeof(double), sizeof(double), MPI_INFO_NULL, comm_of_window, &in_window,
                          &window);
  return argument;
}

int main(int argc, char** argv) {
  int level;
  MPI_Comm comm;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  REQUIRE(level == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_of_window);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int call = 0; call < 3; ++call) {
    MPI_Barrier(comm);
    MPI_Barrier(comm_of_window);
  }
  double* numbers;
  MPI_Alloc_mem(2 * NUMBERS * sizeof(double), MPI_INFO_NULL, &numbers);
  double* used = numbers;
  pthread_t thread;
  pthread_create(&thread, NULL, make_window, NULL);
  if (rank == 0) {
    pthread_join(thread, NULL);
    used = in_window;
  }
  for (int i = 0; i < NUMBERS; ++i) used[i] = rank + 1;
  MPI_Allreduce(used, used + NUMBERS, NUMBERS, MPI_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < NUMBERS; ++i) REQUIRE(used[NUMBERS + i] == 3);
  if (rank == 1) pthread_join(thread, NULL);
  MPI_Win_free(&window);
  MPI_Free_mem(numbers);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&comm_of_window);
  return finish();
}
