// Faults that a program has of its own: children that end in either way, calls in signal handlers, and how much
// memory the process has. One rank; the output must not depend on a tool, but for the memory.
// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "scenario.h"

enum { kCalls = 40000, kOutstanding = 200 };

static volatile sig_atomic_t handled;

SCENARIO(in_handler) {
  int number = 1;
  MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
}

static void on_alarm(int number) {
  (void)number;
  in_handler();
  ++handled;
}

SCENARIO(known_calls) {
  int number = 7;
  for (int i = 0; i < kCalls; ++i) MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD);
}

SCENARIO(outstanding) {
  static int from[kOutstanding], to[kOutstanding];
  static MPI_Request requests[2 * kOutstanding];
  for (int i = 0; i < kOutstanding; ++i) {
    MPI_Irecv(&to[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    MPI_Isend(&from[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[kOutstanding + i]);
  }
  MPI_Waitall(2 * kOutstanding, requests, MPI_STATUSES_IGNORE);
}

// One child calls exit, one _exit, one is killed; each sends first, which is nobody's business.
static void fork_children(void) {
  for (int way = 0; way < 3; ++way) {
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      if (way == 0) exit(5);
      if (way == 1) _exit(6);
      raise(SIGKILL);
    }
    waitpid(child, &status, 0);
    REQUIRE(way == 2 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 5 + way);
  }
}

// Prints kilobytes: dirty pages of private mappings (the MPI's shared memory varies), and what trace files have
// resident.
static void print_memory(void) {
  char line[4400];
  long private_dirty = 0, mapped = 0, value;
  int trace = 0, shared = 0;
  char modes[8];
  FILE* maps = fopen("/proc/self/smaps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    if (strchr(line, '-') != NULL && strchr(line, '-') < strchr(line, ' ') && strstr(line, ":") > strstr(line, " "))
      trace = strstr(line, ".cwt") != NULL, shared = sscanf(line, "%*s %7s", modes) == 1 && modes[3] == 's';
    if (!shared && sscanf(line, "Private_Dirty: %ld", &value) == 1) private_dirty += value;
    if (trace && sscanf(line, "Rss: %ld", &value) == 1) mapped += value;
  }
  fclose(maps);
  printf("%ld %ld\n", private_dirty, mapped);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (strcmp(argv[1], "handler") == 0) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval every = {{0, 500}, {0, 500}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    do known_calls();
    while (handled < 20);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  } else {
    known_calls();
    outstanding();
  }
  if (strcmp(argv[1], "children") == 0) fork_children();
  if (strcmp(argv[1], "memory") == 0) print_memory();
  MPI_Finalize();
  if (strcmp(argv[1], "memory") != 0) puts("ok faults");
  return 3;
}
