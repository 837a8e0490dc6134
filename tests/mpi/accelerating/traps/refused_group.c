// Rank 2 leads the second of two groups and cannot have a file for its lines: no rank goes by groups, on a
// communicator that is set up otherwise. SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/resource.h>

#include "trap.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  struct rlimit before, none;
  MPI_Comm comm;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int call = 0; call < 3; ++call) MPI_Barrier(MPI_COMM_WORLD);  // the processes have their stages
  getrlimit(RLIMIT_FSIZE, &before);
  none = before;
  none.rlim_cur = 4096;
  if (rank == 2) {
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
  }
  for (int call = 0; call < 3; ++call) MPI_Barrier(comm);
  if (rank == 2) setrlimit(RLIMIT_FSIZE, &before);
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, comm, 0, 100);
  MPI_Comm_free(&comm);
  return finish();
}
