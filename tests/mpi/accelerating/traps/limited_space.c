// Rank 1 has a limit on its address space, far above what it needs, and keeps all of that: no rank has places for
// its peers' heaps. SPDX-License-Identifier: BSD-3-Clause
#include <sys/resource.h>
#include <unistd.h>

#include "trap.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, heaps = 0;
  char line[4096];
  struct rlimit limit;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = (rlim_t)1 << 40;
  if (rank == 1) REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, MPI_COMM_WORLD, 0, 10000);
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) heaps += strstr(line, "corewise-heap") != NULL;
  fclose(maps);
  REQUIRE(rank != 1 || heaps == 0);
  return finish();
}
