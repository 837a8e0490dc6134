// One-sided communication: windows of every flavour, the three kinds of synchronisation, atomic updates,
// request-based calls, what a window tells of itself. Every value that arrives is checked on the rank that owns the
// memory.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static int next, previous;

static void fences(MPI_Win win, int* memory) {
  int value = -1;
  for (int i = 0; i < 8; ++i) memory[i] = 100 * rank + i;
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
  OK(MPI_Put(&rank, 1, MPI_INT, next, 7, 1, MPI_INT, win));
  OK(MPI_Get(&value, 1, MPI_INT, previous, 2, 1, MPI_INT, win));
  OK(MPI_Accumulate((const int[]){1}, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  EQ(previous, memory[7]);
  EQ(100 * previous + 2, value);
  if (rank == 0) EQ(size, memory[0]);
  OK(MPI_Put(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void strided(MPI_Win win, int* memory) {
  MPI_Datatype every_second;
  int in[4] = {-1, -1, -1, -1};
  OK(MPI_Type_vector(4, 1, 2, MPI_INT, &every_second));
  OK(MPI_Type_commit(&every_second));
  for (int i = 0; i < 8; ++i) memory[i] = 10 * rank + i;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get(in, 4, MPI_INT, next, 0, 1, every_second, win));
  OK(MPI_Type_free(&every_second));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 4; ++i) EQ(10 * next + 2 * i, in[i]);
}

static void locks(MPI_Win win, int* memory) {
  int before = -1, one = 1, expected = 5, swapped = -1, replacement = 6;
  memory[0] = 0;
  memory[1] = 5;
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 20; ++i) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Get(&before, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush(0, win));
    ++before;
    OK(MPI_Put(&before, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < 20; ++i) {
    OK(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win));
    OK(MPI_Win_flush_local(0, win));
  }
  OK(MPI_Compare_and_swap(&replacement, &expected, &swapped, MPI_INT, next, 1, win));
  OK(MPI_Win_flush_all(win));
  EQ(5, swapped);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  if (rank == 0) EQ(40 * size, memory[0]);
  EQ(6, memory[1]);
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void with_requests(MPI_Win win, int* memory) {
  int out[2] = {rank, rank + 1}, in[2] = {-1, -1}, old[2] = {-1, -1};
  MPI_Request requests[3];
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  OK(MPI_Rput(out, 2, MPI_INT, next, 2, 2, MPI_INT, win, &requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK(requests[0] == MPI_REQUEST_NULL);
  OK(MPI_Win_flush(next, win));
  OK(MPI_Rget(in, 2, MPI_INT, next, 2, 2, MPI_INT, win, &requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  EQ(rank, in[0]);
  OK(MPI_Raccumulate(out, 2, MPI_INT, next, 2, 2, MPI_INT, MPI_SUM, win, &requests[1]));
  OK(MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE));
  OK(MPI_Win_flush(next, win));
  OK(MPI_Rget_accumulate(out, 2, MPI_INT, old, 2, MPI_INT, next, 2, 2, MPI_INT, MPI_NO_OP, win, &requests[2]));
  OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
  EQ(2 * rank, old[0]);
  EQ(2 * rank + 2, old[1]);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  EQ(2 * previous, memory[2]);
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void posts_and_starts(MPI_Win win, int* memory) {
  MPI_Group all, before, after;
  int flag = 0;
  memory[3] = -1;
  OK(MPI_Win_get_group(win, &all));
  OK(MPI_Group_incl(all, 1, &previous, &before));
  OK(MPI_Group_incl(all, 1, &next, &after));
  OK(MPI_Win_post(before, 0, win));
  OK(MPI_Win_start(after, 0, win));
  OK(MPI_Put(&rank, 1, MPI_INT, next, 3, 1, MPI_INT, win));
  OK(MPI_Win_complete(win));
  while (!flag) OK(MPI_Win_test(win, &flag));
  EQ(previous, memory[3]);
  OK(MPI_Win_post(before, 0, win));
  OK(MPI_Win_start(after, 0, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&before));
  OK(MPI_Group_free(&after));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void queries(MPI_Win win, void* memory, MPI_Aint bytes, int unit, int flavour) {
  void* base = NULL;
  MPI_Aint* found_bytes = NULL;
  int *found_unit = NULL, *found_flavour = NULL, flag = 0, length = 0;
  char name[MPI_MAX_OBJECT_NAME];
  OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
  CHECK(flag && base == memory);
  OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &found_bytes, &flag));
  EQ(bytes, *found_bytes);
  OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &found_unit, &flag));
  EQ(unit, *found_unit);
  OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &found_flavour, &flag));
  EQ(flavour, *found_flavour);
  OK(MPI_Win_set_name(win, "window"));
  OK(MPI_Win_get_name(win, name, &length));
  SAME_TEXT("window", name);
}

static void whole(MPI_Win* win, int* memory, int flavour) {
  queries(*win, memory, 8 * (MPI_Aint)sizeof(int), sizeof(int), flavour);
  fences(*win, memory);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  strided(*win, memory);
  locks(*win, memory);
  with_requests(*win, memory);
  posts_and_starts(*win, memory);
  OK(MPI_Win_free(win));
  CHECK(*win == MPI_WIN_NULL);
}

static void shared(void) {
  MPI_Win win;
  int *mine = NULL, *theirs = NULL, unit = 0;
  MPI_Aint bytes = 0;
  OK(MPI_Win_allocate_shared(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  OK(MPI_Win_shared_query(win, next, &bytes, &unit, &theirs));
  EQ(8 * sizeof(int), bytes);
  EQ(sizeof(int), unit);
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  mine[4] = 100 + rank;
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_sync(win));
  EQ(100 + next, theirs[4]);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  whole(&win, mine, MPI_WIN_FLAVOR_SHARED);
}

static void dynamic(void) {
  MPI_Win win;
  MPI_Aint here, there[64];
  int memory = -1;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_attach(win, &memory, sizeof memory));
  OK(MPI_Get_address(&memory, &here));
  OK(MPI_Allgather(&here, 1, MPI_AINT, there, 1, MPI_AINT, MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  OK(MPI_Put(&rank, 1, MPI_INT, next, there[next], 1, MPI_INT, win));
  OK(MPI_Win_unlock(next, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  EQ(previous, memory);
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_detach(win, &memory));
  OK(MPI_Win_free(&win));
}

int main(void) {
  static int memory[8];
  int* allocated = NULL;
  MPI_Win win;
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  whole(&win, memory, MPI_WIN_FLAVOR_CREATE);
  OK(MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win));
  whole(&win, allocated, MPI_WIN_FLAVOR_ALLOCATE);
  shared();
  dynamic();
  return finish("rma");
}
