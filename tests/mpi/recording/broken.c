// Programs that go wrong, one a word of the command line: what a report says of each is held in test_broken.py. Two
// ranks. Those that hang end themselves by an alarm, long after both are where they hang.
// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "scenario.h"

enum { kLarge = 1 << 20, kTag = 7 };  // 4 MiB of MPI_INT

static int* buffer;

static void hang_for_a_while(void) {
  const struct itimerval soon = {.it_value = {.tv_usec = 700000}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

SCENARIO(deadlock_by_send) {
  MPI_Send(buffer, kLarge, MPI_INT, 1 - rank, kTag, MPI_COMM_WORLD);  // here: send
  MPI_Recv(buffer, kLarge, MPI_INT, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

SCENARIO(deadlock_by_wildcard) {
  const int any = MPI_ANY_TAG;
  MPI_Recv(buffer, 10, MPI_DOUBLE, MPI_ANY_SOURCE, any, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // here: wildcard
}

SCENARIO(deadlock_by_collective) {
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Recv(buffer, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // here: collective
}

SCENARIO(deadlock_by_requests) {
  MPI_Request requests[2];
  MPI_Irecv(buffer, 1, MPI_INT, 1 - rank, kTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(buffer + 1, 1, MPI_INT, 1 - rank, kTag + 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);  // here: requests
}

SCENARIO(missing_receive) {
  if (rank == 0) MPI_Ssend(buffer, 3, MPI_INT, 1, kTag, MPI_COMM_WORLD);  // here: missing
}

SCENARIO(wrong_root) {
  MPI_Bcast(buffer, kLarge, MPI_INT, 1 - rank, MPI_COMM_WORLD);  // here: root
}

SCENARIO(truncation) {
  if (rank == 0) MPI_Send(buffer, 100, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(buffer, 10, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // here: truncation
}

SCENARIO(give_up) {
  if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);  // here: abort
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);         // MPICH 5.0 may return from MPI_Abort
}

__attribute__((noinline)) static void solve(volatile int* where) {
  *where = 1;  // here: crash
}

__attribute__((noinline)) static void grow(void) {
  const struct rlimit little = {1 << 20, 1 << 20};
  setrlimit(RLIMIT_DATA, &little);
  char* memory = malloc(256 << 20);
  memset(memory, 1, 256 << 20);  // here: memory
  buffer[0] = memory[rank];
}

__attribute__((noinline)) static void save(void) {
  FILE* file = fopen("/dev/full", "w");
  fputs("result", file);
  if (fclose(file) != 0) exit(3);
}

__attribute__((noinline)) static void crash_late(void) {
  abort();  // here: late
}

static void end_of_rank_1(const char* how) {
  if (strcmp(how, "crash") == 0) solve(NULL);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "memory") == 0) grow();
  if (strcmp(how, "disk") == 0) save();
}

static void hang_as(const char* how) {
  if (strcmp(how, "send") == 0) deadlock_by_send();
  if (strcmp(how, "wildcard") == 0) deadlock_by_wildcard();
  if (strcmp(how, "collective") == 0) deadlock_by_collective();
  if (strcmp(how, "requests") == 0) deadlock_by_requests();
  if (strcmp(how, "missing") == 0) missing_receive();
  if (strcmp(how, "root") == 0) wrong_root();
  if (strcmp(how, "truncation") == 0) truncation();
  if (strcmp(how, "abort") == 0) give_up();
  if (strcmp(how, "leave") == 0) _exit(3);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  buffer = calloc(2 * kLarge, sizeof *buffer);
  MPI_Barrier(MPI_COMM_WORLD);  // here: barrier
  const int late = strcmp(argv[1], "late") == 0;
  if (argc < 3 && !late) hang_for_a_while();
  hang_as(argv[1]);
  if (rank == 1) end_of_rank_1(argv[1]);
  if (strcmp(argv[1], "missing") != 0 && !late)
    MPI_Recv(buffer, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // here: other
  MPI_Finalize();
  if (rank == 1 && late) crash_late();
  return 0;
}
