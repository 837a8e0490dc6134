// Ten thousand requests at once, more than a tool with bounded tables can follow, completed by every kind of call,
// in the order and out of it; and statuses for all of them in one call.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { N = 10000 };
static int in[N], out[N], indices[N];
static MPI_Request receives[N], sends[N];
static MPI_Status statuses[N];

static void post_all(void) {
  int peer = 1 - rank;
  for (int i = 0; i < N; ++i) {
    in[i] = -1;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, i % 5 ? peer : MPI_ANY_SOURCE, i % 1000, MPI_COMM_WORLD, &receives[i]));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < N; ++i) {
    out[i] = i + rank;
    OK(MPI_Isend(&out[i], 1, MPI_INT, peer, i % 1000, MPI_COMM_WORLD, &sends[i]));
  }
}

static void check_all(void) {
  for (int i = 0; i < N; ++i) {
    EQ(i + 1 - rank, in[i]);
    CHECK(receives[i] == MPI_REQUEST_NULL && sends[i] == MPI_REQUEST_NULL);
  }
}

static void all_at_once(void) {
  post_all();
  OK(MPI_Waitall(N, receives, statuses));
  OK(MPI_Waitall(N, sends, MPI_STATUSES_IGNORE));
  for (int i = 0; i < N; ++i) {
    EQ(1 - rank, statuses[i].MPI_SOURCE);
    EQ(i % 1000, statuses[i].MPI_TAG);
    EQ(1, count_of(&statuses[i], MPI_INT));
  }
  check_all();
}

static void some_at_a_time(void) {
  int count = 0, flag = 0;
  post_all();
  for (int done = 0; done < N; done += count) {
    OK(MPI_Waitsome(N, receives, &count, indices, statuses));
    CHECK(count > 0);
    for (int i = 0; i < count; ++i) EQ(indices[i] % 1000, statuses[i].MPI_TAG);
  }
  while (!flag) OK(MPI_Testall(N, sends, &flag, MPI_STATUSES_IGNORE));
  check_all();
}

static void one_by_one_backwards(void) {
  post_all();
  for (int i = N - 1; i >= 0; --i) {
    OK(MPI_Wait(&receives[i], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&sends[i], MPI_STATUS_IGNORE));
  }
  check_all();
}

// Any-completion over a short window, so that the quadratic cost of the call stays small.
static void any_in_windows(void) {
  enum { WINDOW = 100 };
  post_all();
  for (int first = 0; first < N; first += WINDOW)
    for (int i = 0; i < WINDOW; ++i) {
      int index = -1;
      OK(MPI_Waitany(WINDOW, receives + first, &index, MPI_STATUS_IGNORE));
      CHECK(index >= 0 && index < WINDOW);
      EQ(first + index + 1 - rank, in[first + index]);
    }
  OK(MPI_Waitall(N, sends, statuses));
  check_all();
}

static void many_persistent(void) {
  enum { P = 2000 };
  int peer = 1 - rank;
  for (int i = 0; i < P; ++i) {
    OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &receives[i]));
    OK(MPI_Send_init(&out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &sends[i]));
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < P; ++i) out[i] = i * (round + 2) + rank;
    OK(MPI_Startall(P, receives));
    OK(MPI_Startall(P, sends));
    OK(MPI_Waitall(P, receives, statuses));
    OK(MPI_Waitall(P, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < P; ++i) EQ(i * (round + 2) + peer, in[i]);
  }
  for (int i = 0; i < P; ++i) {
    OK(MPI_Request_free(&receives[i]));
    OK(MPI_Request_free(&sends[i]));
  }
}

int main(void) {
  start();
  all_at_once();
  some_at_a_time();
  one_by_one_backwards();
  any_in_windows();
  many_persistent();
  return finish("many");
}
