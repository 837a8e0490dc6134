// Rank 1 cannot have shared memory when the communicator is set up, WHY: no files, no address space, no length of
// files, or it may not look into its peers. SPDX-License-Identifier: BSD-3-Clause
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trap.h"

static struct rlimit old;

static void limit(int what, rlim_t to) {
  getrlimit(what, &old);
  const struct rlimit now = {to, old.rlim_max};
  REQUIRE(setrlimit(what, &now) == 0);
}

/// Bytes of address space in use.
static rlim_t space(void) {
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  REQUIRE(file != NULL && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  return (rlim_t)(pages * sysconf(_SC_PAGESIZE));
}

/// Heap that stays with the process: what the MPI itself allocates under the limit comes from here (MPICH ends the
/// program where malloc fails).
static void keep_heap(void) {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  void* const heap = malloc(1 << 24);
  REQUIRE(heap != NULL);
  free(heap);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const why = argv[1];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Ranks meet by messages: the first collectives are those that set up.
  if (rank == 1) {
    if (strcmp(why, "files") == 0) limit(RLIMIT_NOFILE, 3);
    if (strcmp(why, "space") == 0) keep_heap(), limit(RLIMIT_AS, space() + 65536);
    if (strcmp(why, "length") == 0) signal(SIGXFSZ, SIG_IGN), limit(RLIMIT_FSIZE, 0);
    if (strcmp(why, "peers") == 0 && geteuid() == 0) REQUIRE(seteuid(65534) == 0);
  } else if (strcmp(why, "peers") == 0) {
    REQUIRE(prctl(PR_SET_DUMPABLE, 0) == 0);
  }
  for (int i = 0; i < 3; ++i) collective(i % 2 == 0 ? 0 : 3, MPI_COMM_WORLD, 0, 1);
  if (rank == 1) {
    if (strcmp(why, "files") == 0) setrlimit(RLIMIT_NOFILE, &old);
    if (strcmp(why, "space") == 0) setrlimit(RLIMIT_AS, &old);
    if (strcmp(why, "length") == 0) setrlimit(RLIMIT_FSIZE, &old);
    if (strcmp(why, "peers") == 0 && getuid() == 0) REQUIRE(seteuid(0) == 0);
  }
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, MPI_COMM_WORLD, 0, 1000);
  return finish();
}
