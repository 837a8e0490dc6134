// COUNT communicators alive at once, each used, and freed in another order on every rank; TIMES over. Files and
// memory are those of the beginning then. A third word asks for many threads. SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>

#include "trap.h"

static int open_files(void) {
  int files = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++files;
  closedir(folder);
  return files;
}

/// Mappings of memory that the library shares.
static int mappings(void) {
  int lines = 0;
  char line[512];
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) lines += strstr(line, "memfd:corewise") != NULL;
  fclose(maps);
  return lines;
}

static MPI_Comm made(int index, int rank) {
  MPI_Comm comm;
  if (index % 3 == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (index % 3 == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  if (index % 3 == 2) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
  return comm;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, argc > 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  const int count = atoi(argv[1]), times = atoi(argv[2]);
  MPI_Comm* const comms = malloc((size_t)count * sizeof(MPI_Comm));
  int rank, most = 0, files = 0, maps = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int time = 0; time <= times; ++time) {
    if (time == 1) files = open_files(), maps = mappings();  // the first time is there to be compared with
    const int some = time == 0 ? 12 : count;
    for (int i = 0; i < some; ++i) comms[i] = made(i, rank);
    for (int round = 0; round < 3; ++round)
      for (int i = 0; i < some; ++i) collective((i + round * 5) % KINDS, comms[i], 0, 1 + i % 40);
    most = mappings() > most ? mappings() : most;
    // From the front, from the back, or every other one first.
    for (int i = 0; i < some; ++i) {
      const int odd = i < some / 2 ? 2 * i + 1 : 2 * (i - some / 2);
      MPI_Comm_free(&comms[rank % 3 == 0 ? i : rank % 3 == 1 ? some - 1 - i : odd]);
    }
  }
  REQUIRE(open_files() == files);
  REQUIRE(mappings() == maps);
  if (rank == 0) printf("mappings: %d then %d at most\n", maps, most);
  free(comms);
  return finish();
}
