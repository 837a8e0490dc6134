// COUNT communicators of all ranks, one after the other and all alive: what each has mapped when it has done a
// barrier and an all-reduce. Rank 0 prints the bytes. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

/// Of the mappings of memory that the library shares.
static long mapped(void) {
  long bytes = 0;
  char line[512];
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end;
    if (strstr(line, "memfd:corewise") != NULL && sscanf(line, "%lx-%lx", &begin, &end) == 2)
      bytes += (long)(end - begin);
  }
  fclose(maps);
  return bytes;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);  // it maps the stages
  for (int i = 0; i < atoi(argv[1]); ++i) {
    MPI_Comm comm;
    int one = 1, sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const long before = mapped();
    MPI_Barrier(comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    REQUIRE(sum == ranks);
    if (rank == 0) printf("bytes: %ld\n", mapped() - before);
  }
  return finish();
}
