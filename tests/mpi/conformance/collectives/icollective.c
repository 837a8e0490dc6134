// Nonblocking and persistent collectives: several under way at once and mixed with messages and blocking
// collectives of another communicator, completed out of order, statuses not disturbed, root-only arguments unread
// elsewhere.
//
// ranks: 1 2 3 5
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { N = 500 };
static int triangle;
static int amounts[64], places[64], total;

static void prepare(void) {
  triangle = size * (size + 1) / 2;
  for (int i = 0; i < size; ++i) {
    amounts[i] = i % 3;
    places[i] = total;
    total += amounts[i];
  }
}

static void many_at_once(void) {
  static int b[N], sum[N], mine[N], gathered[8 * N], shuffled[8 * N], to_all[8 * N], prefix[N], before[N];
  MPI_Request requests[7];
  fill(mine, N, rank);
  for (int i = 0; i < size; ++i) fill(to_all + i * N, N, 10 * rank + i);
  if (rank == size - 1) fill(b, N, 77);
  for (int i = 0; i < N; ++i) sum[i] = (rank + 1) * i;
  memcpy(prefix, sum, sizeof prefix);
  OK(MPI_Ibcast(b, N, MPI_INT, size - 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Iallreduce(MPI_IN_PLACE, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Iallgather(mine, N, MPI_INT, gathered, N, MPI_INT, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]));
  OK(MPI_Ialltoall(to_all, N, MPI_INT, shuffled, N, MPI_INT, MPI_COMM_WORLD, &requests[4]));
  OK(MPI_Iscan(MPI_IN_PLACE, prefix, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]));
  OK(MPI_Iexscan(mine, before, N, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[6]));
  OK(MPI_Wait(&requests[6], MPI_STATUS_IGNORE));
  CHECK(requests[6] == MPI_REQUEST_NULL);
  OK(MPI_Waitall(7, requests, MPI_STATUSES_IGNORE));
  CHECK_FILL(b, N, 77);
  for (int i = 0; i < N; ++i) {
    EQ(triangle * i, sum[i]);
    EQ((rank + 1) * (rank + 2) / 2 * i, prefix[i]);
  }
  for (int i = 0; i < size; ++i) {
    CHECK_FILL(gathered + i * N, N, i);
    CHECK_FILL(shuffled + i * N, N, 10 * i + rank);
  }
  if (rank > 0) CHECK_FILL(before, N, rank - 1);
}

static void rooted(int root) {
  int gathered[64], piece = -1, sum = -1, is_root = rank == root, pieces[64];
  MPI_Request requests[3];
  for (int i = 0; i < size; ++i) pieces[i] = 50 + i;
  OK(MPI_Igather(&rank, 1, MPI_INT, is_root ? gathered : GARBAGE, is_root ? 1 : -1,
                 is_root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Iscatter(is_root ? pieces : GARBAGE, is_root ? 1 : -1, is_root ? MPI_INT : MPI_DATATYPE_NULL, &piece, 1,
                  MPI_INT, root, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Ireduce(&rank, is_root ? &sum : GARBAGE, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[2]));
  for (int i = 0; i < 3; ++i) {
    int index = -1;
    OK(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index >= 0 && index < 3);
  }
  EQ(50 + rank, piece);
  if (!is_root) return;
  for (int i = 0; i < size; ++i) EQ(i, gathered[i]);
  EQ(size * (size - 1) / 2, sum);
}

static void rooted_varying(int root) {
  int mine[3], all[128], is_root = rank == root;
  MPI_Request requests[2];
  fill(mine, amounts[rank], rank);
  OK(MPI_Igatherv(mine, amounts[rank], MPI_INT, is_root ? all : GARBAGE, is_root ? amounts : GARBAGE,
                  is_root ? places : GARBAGE, MPI_INT, root, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  if (is_root)
    for (int i = 0; i < size; ++i) CHECK_FILL(all + places[i], amounts[i], i);
  memset(mine, 0, sizeof mine);
  OK(MPI_Iscatterv(is_root ? all : GARBAGE, is_root ? amounts : GARBAGE, is_root ? places : GARBAGE, MPI_INT, mine,
                   amounts[rank], MPI_INT, root, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  CHECK_FILL(mine, amounts[rank], rank);
}

static void varying(void) {
  int mine[3], all[128], out[64], in[64], ones[64], starts[64], bytes[64], block = -1, scattered[3];
  MPI_Datatype types[64];
  MPI_Request requests[5];
  fill(mine, amounts[rank], rank);
  for (int i = 0; i < size; ++i) {
    ones[i] = 1;
    starts[i] = i;
    bytes[i] = i * (int)sizeof(int);
    types[i] = MPI_INT;
    out[i] = 10 * rank + i;
  }
  int again[64], sums[128];
  for (int i = 0; i < total; ++i) sums[i] = (rank + 1) * i;
  OK(MPI_Iallgatherv(mine, amounts[rank], MPI_INT, all, amounts, places, MPI_INT, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Ialltoallv(out, ones, starts, MPI_INT, in, ones, starts, MPI_INT, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Ialltoallw(out, ones, bytes, types, again, ones, bytes, types, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Ireduce_scatter(sums, scattered, amounts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]));
  OK(MPI_Ireduce_scatter_block(starts, &block, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]));
  OK(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < size; ++i) {
    CHECK_FILL(all + places[i], amounts[i], i);
    EQ(10 * i + rank, in[i]);
    EQ(10 * i + rank, again[i]);
  }
  for (int i = 0; i < amounts[rank]; ++i) EQ(triangle * (places[rank] + i), scattered[i]);
  EQ(size * rank, block);
}

static void mixed_with_messages(void) {
  MPI_Comm other;
  int value = -1, sum = 0, sum_other = 0, flag = 0;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  OK(MPI_Irecv(&value, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Allreduce(&rank, &sum_other, 1, MPI_INT, MPI_SUM, other));
  do OK(MPI_Testall(3, requests, &flag, statuses));
  while (!flag);
  EQ((rank + size - 1) % size, value);
  EQ((rank + size - 1) % size, statuses[0].MPI_SOURCE);
  EQ(size * (size - 1) / 2, sum);
  EQ(sum, sum_other);
  OK(MPI_Comm_free(&other));
}

static void hundred_barriers(void) {
  MPI_Request requests[100];
  for (int i = 0; i < 100; ++i) OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Waitall(100, requests, MPI_STATUSES_IGNORE));
}

#ifdef HAVE_MPI4
static void persistent(void) {
  enum { M = 50 };
  int b[M], sum[M], out[M], barrier_round;
  MPI_Request requests[3], before;
  memset(out, 0, sizeof out);
  OK(MPI_Bcast_init(b, M, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Allreduce_init(out, sum, M, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]));
  before = requests[1];
  for (barrier_round = 0; barrier_round < 10; ++barrier_round) {
    if (rank == 0) fill(b, M, barrier_round);
    for (int i = 0; i < M; ++i) out[i] = (rank + 1) * (i + barrier_round);
    if (barrier_round % 2)
      OK(MPI_Startall(3, requests));
    else
      for (int i = 0; i < 3; ++i) OK(MPI_Start(&requests[i]));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(requests[1] == before);
    CHECK_FILL(b, M, barrier_round);
    for (int i = 0; i < M; ++i) EQ(triangle * (i + barrier_round), sum[i]);
  }
  for (int i = 0; i < 3; ++i) OK(MPI_Request_free(&requests[i]));
}

static void more_persistent(void) {
  int gathered[64], in[64], out[64], mine = 0, before = -1, piece = -1;
  MPI_Request requests[5];
  memset(out, 0, sizeof out);
  OK(MPI_Allgather_init(&mine, 1, MPI_INT, gathered, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Exscan_init(&mine, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]));
  OK(MPI_Scatter_init(rank ? GARBAGE : out, 1, MPI_INT, &piece, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[3]));
  int sum = 0;
  OK(MPI_Reduce_init(&mine, rank ? GARBAGE : &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[4]));
  for (int round = 0; round < 5; ++round) {
    mine = rank + round;
    for (int i = 0; i < size; ++i) out[i] = 100 * round + 10 * rank + i;
    OK(MPI_Startall(5, requests));
    OK(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < size; ++i) {
      EQ(i + round, gathered[i]);
      EQ(100 * round + 10 * i + rank, in[i]);
    }
    if (rank) EQ(rank * (rank - 1) / 2 + rank * round, before);
    EQ(100 * round + rank, piece);
    if (rank == 0) EQ(size * (size - 1) / 2 + size * round, sum);
  }
  for (int i = 0; i < 5; ++i) OK(MPI_Request_free(&requests[i]));
}
#endif

int main(void) {
  start();
  prepare();
  many_at_once();
  for (int root = 0; root < size; ++root) {
    rooted(root);
    rooted_varying(root);
  }
  varying();
  mixed_with_messages();
  hundred_barriers();
#ifdef HAVE_MPI4
  persistent();
  more_persistent();
#endif
  return finish("icollective");
}
