// Intercommunicators: ranks in calls and statuses are those of the remote group; collectives move data between the
// two groups; creation, merging in both orders, duplication, split, and their handles after free.
//
// ranks: 2 3 5
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static int left;  // 1 in the group of even world ranks
static int me, local, remote;
static MPI_Comm side, inter;

// World rank of member i of this or the other side. The odd side is in reversed order.
static int world_of(int is_left, int i) {
  return is_left ? 2 * i : 2 * ((size / 2) - 1 - i) + 1;
}

static void create(void) {
  left = rank % 2 == 0;
  local = left ? (size + 1) / 2 : size / 2;
  remote = size - local;
  OK(MPI_Comm_split(MPI_COMM_WORLD, left, left ? rank : -rank, &side));
  OK(MPI_Comm_rank(side, &me));
  EQ(rank, world_of(left, me));
  OK(MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, left ? world_of(0, 0) : 0, 12, &inter));
}

static void queries(void) {
  int flag = 0, count = -1, inside = -1, translated = -1;
  MPI_Group theirs, world;
  OK(MPI_Comm_test_inter(inter, &flag));
  EQ(1, flag);
  OK(MPI_Comm_rank(inter, &inside));
  EQ(me, inside);
  OK(MPI_Comm_size(inter, &count));
  EQ(local, count);
  OK(MPI_Comm_remote_size(inter, &count));
  EQ(remote, count);
  OK(MPI_Comm_remote_group(inter, &theirs));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int i = 0; i < remote; ++i) {
    OK(MPI_Group_translate_ranks(theirs, 1, &i, world, &translated));
    EQ(world_of(!left, i), translated);
  }
  OK(MPI_Group_free(&theirs));
  OK(MPI_Group_free(&world));
}

static void messages(MPI_Comm comm) {
  MPI_Request requests[64];
  int values[64];
  MPI_Status statuses[64];
  for (int i = 0; i < remote; ++i) OK(MPI_Irecv(&values[i], 1, MPI_INT, i, 3, comm, &requests[i]));
  for (int i = 0; i < remote; ++i) OK(MPI_Send(&rank, 1, MPI_INT, i, 3, comm));
  OK(MPI_Waitall(remote, requests, statuses));
  for (int i = 0; i < remote; ++i) {
    EQ(world_of(!left, i), values[i]);
    EQ(i, statuses[i].MPI_SOURCE);
  }
  OK(MPI_Barrier(comm));
  for (int i = 0; i < remote; ++i) OK(MPI_Bsend(&rank, 1, MPI_INT, i, 4, comm));
  for (int i = 0; i < remote; ++i) {
    MPI_Status status;
    int value = -1;
    poison(&status);
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
    OK(MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 4, comm, MPI_STATUS_IGNORE));
    EQ(world_of(!left, status.MPI_SOURCE), value);
  }
}

static void from_one_side(void) {
  int value = left && me == 0 ? 4711 : UNTOUCHED;
  int root = left ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  OK(MPI_Bcast(&value, 1, MPI_INT, root, inter));
  EQ(left && me != 0 ? UNTOUCHED : 4711, value);
  int gathered[64], sum = UNTOUCHED;
  for (int i = 0; i < 64; ++i) gathered[i] = UNTOUCHED;
  int is_root = left && me == 0;
  OK(MPI_Gather(left ? GARBAGE : &rank, left ? -1 : 1, MPI_INT, is_root ? gathered : GARBAGE, is_root ? 1 : -1,
                MPI_INT, root, inter));
  if (is_root)
    for (int i = 0; i < remote; ++i) EQ(world_of(0, i), gathered[i]);
  OK(MPI_Reduce(left ? GARBAGE : &rank, is_root ? &sum : GARBAGE, 1, MPI_INT, MPI_SUM, root, inter));
  if (is_root) {
    for (int i = 0; i < remote; ++i) sum -= world_of(0, i);
    EQ(0, sum);
  }
  int piece = UNTOUCHED;
  OK(MPI_Scatter(is_root ? gathered : GARBAGE, 1, MPI_INT, left ? GARBAGE : &piece, 1, MPI_INT, root, inter));
  EQ(left ? UNTOUCHED : rank, piece);
}

static void to_both_sides(void) {
  int values[64], sum = 0, expected = 0, out[64];
  for (int i = 0; i < remote; ++i) expected += world_of(!left, i);
  OK(MPI_Allgather(&rank, 1, MPI_INT, values, 1, MPI_INT, inter));
  for (int i = 0; i < remote; ++i) EQ(world_of(!left, i), values[i]);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter));
  EQ(expected, sum);
  for (int i = 0; i < remote; ++i) out[i] = 100 * rank + i;
  OK(MPI_Alltoall(out, 1, MPI_INT, values, 1, MPI_INT, inter));
  for (int i = 0; i < remote; ++i) EQ(100 * world_of(!left, i) + me, values[i]);
  OK(MPI_Barrier(inter));
  MPI_Request request;
  sum = 0;
  OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(expected, sum);
}

static void merged(int left_is_high) {
  MPI_Comm both;
  int inside = -1, count = -1, flag = 1, value = -1;
  OK(MPI_Intercomm_merge(inter, left == left_is_high, &both));
  OK(MPI_Comm_test_inter(both, &flag));
  EQ(0, flag);
  OK(MPI_Comm_rank(both, &inside));
  OK(MPI_Comm_size(both, &count));
  EQ(size, count);
  int first = left != left_is_high;
  EQ((first ? 0 : remote) + me, inside);
  OK(MPI_Sendrecv(&inside, 1, MPI_INT, (inside + 1) % size, 0, &value, 1, MPI_INT, MPI_ANY_SOURCE, 0, both,
                  MPI_STATUS_IGNORE));
  EQ((inside + size - 1) % size, value);
  OK(MPI_Comm_free(&both));
}

static void copies(void) {
  MPI_Comm copy, later;
  MPI_Request request;
  int result = UNTOUCHED;
  OK(MPI_Comm_dup(inter, &copy));
  messages(copy);
  OK(MPI_Comm_compare(inter, copy, &result));
  EQ(MPI_CONGRUENT, result);
  OK(MPI_Comm_compare(inter, side, &result));
  EQ(MPI_UNEQUAL, result);
  OK(MPI_Comm_idup(inter, &later, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  messages(later);
  OK(MPI_Comm_free(&copy));
  CHECK(copy == MPI_COMM_NULL);
  OK(MPI_Comm_free(&later));
}

// One member from each side stays: the new remote group has one rank, number 0.
static void split(void) {
  MPI_Comm pair;
  int value = -1, count = -1;
  OK(MPI_Comm_split(inter, me == 0 ? 1 : MPI_UNDEFINED, 0, &pair));
  CHECK((pair == MPI_COMM_NULL) == (me != 0));
  if (me != 0) return;
  OK(MPI_Comm_remote_size(pair, &count));
  EQ(1, count);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, 0, 1, pair, MPI_STATUS_IGNORE));
  EQ(world_of(!left, 0), value);
  OK(MPI_Comm_free(&pair));
}

int main(void) {
  static char room[1 << 16];
  void* detached;
  int bytes;
  start();
  OK(MPI_Buffer_attach(room, sizeof room));
  create();
  queries();
  messages(inter);
  from_one_side();
  to_both_sides();
  merged(1);
  merged(0);
  copies();
  split();
  OK(MPI_Comm_free(&inter));
  CHECK(inter == MPI_COMM_NULL);
  OK(MPI_Comm_free(&side));
  OK(MPI_Buffer_detach(&detached, &bytes));
  return finish("intercomm");
}
