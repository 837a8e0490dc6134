// Many receives of non-contiguous types at once, of something and of nothing, where the process may have little
// more address space than it has: what the program allocates meanwhile is there.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include <sys/resource.h>

#include "typed/typed.h"

enum { MANY = 64 };
static const size_t kOfProgram = (size_t)700 << 20, kRoom = (size_t)1 << 30;  // bytes

static rlim_t address_space(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void exchange(const layout* of) {
  int *in[MANY], *out = new_room(of, 3), other = 1 - rank;
  MPI_Request receives[2 * MANY], sends[2 * MANY];
  for (int i = 0; i < MANY; ++i) {
    in[i] = new_room(of, -1);
    OK(MPI_Irecv(in[i], of->items, of->type, other, i, MPI_COMM_WORLD, &receives[2 * i]));
    OK(MPI_Irecv(in[i], 0, of->type, other, MANY + i, MPI_COMM_WORLD, &receives[2 * i + 1]));
  }
  char* more = malloc(kOfProgram);
  CHECK(more != NULL);
  free(more);
  for (int i = 0; i < MANY; ++i) {
    OK(MPI_Isend(out, of->items, of->type, other, i, MPI_COMM_WORLD, &sends[2 * i]));
    OK(MPI_Isend(out, 0, of->type, other, MANY + i, MPI_COMM_WORLD, &sends[2 * i + 1]));
  }
  OK(MPI_Waitall(2 * MANY, receives, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(2 * MANY, sends, MPI_STATUSES_IGNORE));
  for (int i = 0; i < MANY; ++i) CHECK_LAYOUT(in[i], of, 3);
}

int main(void) {
  struct rlimit limit, before;
  start();
  layout of = make_layout(0, SMALL);
  exchange(&of);
  EQ(0, getrlimit(RLIMIT_AS, &before));
  limit = before;
  limit.rlim_cur = address_space() + kRoom;
  EQ(0, setrlimit(RLIMIT_AS, &limit));
  free_layout(&of);
  of = make_layout(0, LARGE);
  exchange(&of);
  EQ(0, setrlimit(RLIMIT_AS, &before));
  free_layout(&of);
  return finish("typed_limits");
}
