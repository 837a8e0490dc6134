// Much is allocated by MPI_Alloc_mem and little of it used: rank 0 says how many KiB its files without names have.
// SPDX-License-Identifier: BSD-3-Clause
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trap.h"

enum { KIB = 1024, MIB = 1024 * KIB, MOST_FILES = 256 };

/// KiB that the heap's file has behind it.
static long backed(void) {
  long kib = 0;
  for (int file = 0; file < MOST_FILES; ++file) {
    char path[64], name[PATH_MAX] = "";
    struct stat found;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (readlink(path, name, sizeof name - 1) < 0 || strstr(name, "corewise-heap") == NULL) continue;
    if (fstat(file, &found) == 0) kib += found.st_blocks / 2;
  }
  return kib;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  char* block = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, MPI_COMM_WORLD, 0, 100);
  REQUIRE(MPI_Alloc_mem(512L * MIB, MPI_INFO_NULL, &block) == MPI_SUCCESS);
  for (long at = 0; at < 512; at += 64) block[at * MIB] = (char)(at / 64 + rank);
  MPI_Bcast(block + 128L * MIB, MIB, MPI_BYTE, 1, MPI_COMM_WORLD);
  for (long at = 0; at < 512; at += 64) REQUIRE(block[at * MIB] == (char)(at == 128 ? 2 + 1 : at / 64 + rank));
  if (rank == 0) printf("backed: %ld KiB\n", backed());
  MPI_Free_mem(block);
  return finish();
}
