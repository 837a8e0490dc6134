// Ways in which a run ends. Every rank makes 5000 known calls, then rank 1 (or the one rank) ends as its argument
// says. SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/wait.h>

#include "scenario.h"

enum { kCalls = 5000 };

SCENARIO(known_calls) {
  int number = rank;
  for (int i = 0; i < kCalls; ++i) MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD);
}

static void fork_child(char* const command[]) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    if (command == NULL) exit(5);
    execv(command[0], command);
    _exit(127);
  }
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == (command == NULL ? 5 : 0));
}

static void end_as(const char* how) {
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  if (strcmp(how, "segv") == 0) *(volatile int*)NULL = 1;
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "fork") == 0) fork_child(NULL);
  if (strcmp(how, "exec") == 0) fork_child((char*[]){"/bin/true", NULL});
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  known_calls();
  // Nobody ends before all have made their calls and left the barrier: a launcher kills the others. (The second
  // barrier is not recorded.)
  MPI_Barrier(MPI_COMM_WORLD);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) end_as(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) puts("ok ends");
  return 0;
}
