// Processes made by a rank, which are not ranks: they end at once, through exit() or _exit(), with their own
// status, and neither hang nor disturb the parent, which goes on sending. A program started from a rank inherits
// its environment.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static void exchange(void) {
  int value = -1, sum = 0;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  EQ((rank + size - 1) % size, value);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EQ(size * (size - 1) / 2, sum);
}

static void expect(pid_t child, int status) {
  int found = 0;
  CHECK(child > 0);
  EQ(child, waitpid(child, &found, 0));
  if (!WIFEXITED(found)) fail_at(__FILE__, __LINE__, "child ended by signal %d", WTERMSIG(found));
  EQ(status, WEXITSTATUS(found));
}

// A child that hangs is ended by its alarm clock, which the parent sees.
static pid_t child(void) {
  fflush(NULL);
  pid_t made = fork();
  if (made == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(120);
  }
  return made;
}

static void leaves(void) {
  pid_t made = child();
  if (made == 0) _exit(3);
  exchange();
  expect(made, 3);
  made = child();
  if (made == 0) exit(4);
  exchange();
  expect(made, 4);
}

static void works_before_it_leaves(void) {
  pid_t made = child();
  if (made == 0) {
    char* room = malloc(1 << 20);
    memset(room, 1, 1 << 20);
    free(room);
    exit(5);
  }
  exchange();
  expect(made, 5);
}

static void runs_a_program(const char* self) {
  pid_t made = child();
  if (made == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(127);
  }
  expect(made, 0);
  made = child();
  if (made == 0) {
    execl(self, self, "not a rank", (char*)NULL);
    _exit(127);
  }
  exchange();
  expect(made, 6);
  EQ(0, system("exit 0"));
}

static void* from_a_thread(void* argument) {
  (void)argument;
  pid_t made = child();
  if (made == 0) exit(8);
  expect(made, 8);
  return NULL;
}

static void before_init(void) {
  pid_t made = child();
  if (made == 0) exit(9);
  expect(made, 9);
}

int main(int argc, char** argv) {
  pthread_t thread;
  if (argc > 1) return 6;
  before_init();
  start();
  exchange();
  leaves();
  works_before_it_leaves();
  runs_a_program(argv[0]);
  EQ(0, pthread_create(&thread, NULL, from_a_thread, NULL));
  EQ(0, pthread_join(thread, NULL));
  exchange();
  return finish("fork");
}
