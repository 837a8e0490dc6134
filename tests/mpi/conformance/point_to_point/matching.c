// Which message a receive gets: order between two ranks, tags, wildcards, communicators. Messages of one sender,
// tag and communicator never overtake each other, whatever their size and however they were sent.
//
// ranks: 2 3 5
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { MESSAGES = 60, LARGE = 20000 };

// Short and long messages alternate, so that an eager one could overtake one that waits for its receiver.
static int length_of(int message) {
  return message % 3 == 2 ? LARGE : 1 + message;
}

static void send_sequence(void) {
  static int data[MESSAGES][LARGE];
  MPI_Request requests[MESSAGES];
  for (int i = 0; i < MESSAGES; ++i) {
    fill(data[i], length_of(i), i);
    OK(MPI_Isend(data[i], length_of(i), MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
}

static void receive_sequence(void) {
  static int data[LARGE];
  for (int i = 0; i < MESSAGES; ++i) {
    MPI_Status status;
    poison(&status);
    OK(MPI_Recv(data, LARGE, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 0, i % 4 > 1 ? MPI_ANY_TAG : 5, MPI_COMM_WORLD,
                &status));
    CHECK_STATUS(status, 0, 5, length_of(i), MPI_INT);
    CHECK_FILL(data, length_of(i), i);
  }
}

static void no_overtaking(void) {
  if (rank == 0) send_sequence();
  if (rank == 1) receive_sequence();
}

static void posted_receives_match_in_order(void) {
  enum { N = 40 };
  int data[N];
  MPI_Request requests[N];
  if (rank == 1) {
    for (int i = 0; i < N; ++i)
      OK(MPI_Irecv(&data[i], 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, i % 3 ? 6 : MPI_ANY_TAG, MPI_COMM_WORLD,
                   &requests[i]));
    OK(MPI_Send(NULL, 0, MPI_INT, 0, 7, MPI_COMM_WORLD));
    OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; ++i) EQ(i, data[i]);
  }
  if (rank == 0) {
    OK(MPI_Recv(NULL, 0, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; ++i) OK(MPI_Send(&i, 1, MPI_INT, 1, 6, MPI_COMM_WORLD));
  }
}

static void tags_select(void) {
  enum { N = 12 };
  int values[N];
  MPI_Request requests[N];
  if (rank == 0) {
    for (int i = 0; i < N; ++i) {
      values[i] = 100 + i;
      OK(MPI_Isend(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]));
    }
    OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
  }
  if (rank == 1)
    for (int i = N - 1; i >= 0; --i) {
      int value = -1;
      OK(MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      EQ(100 + i, value);
    }
}

static void any_tag_takes_the_oldest(void) {
  static const int tags[] = {9, 3, 9, 0, 4};
  if (rank == 0)
    for (int i = 0; i < 5; ++i) OK(MPI_Send(&i, 1, MPI_INT, 1, tags[i], MPI_COMM_WORLD));
  if (rank != 1) return;
  // Taking tag 0 out of the middle must leave the order of the rest.
  static const int expected[] = {3, 0, 1, 2, 4};
  for (int i = 0; i < 5; ++i) {
    int value = -1;
    MPI_Status status;
    poison(&status);
    OK(MPI_Recv(&value, 1, MPI_INT, 0, i == 0 ? 0 : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    EQ(expected[i], value);
    EQ(tags[value], status.MPI_TAG);
  }
}

static void any_source_keeps_each_senders_order(void) {
  enum { N = 30 };
  if (rank != 0)
    for (int i = 0; i < N; ++i) OK(MPI_Send(&i, 1, MPI_INT, 0, rank, MPI_COMM_WORLD));
  else {
    int next[64] = {0};
    for (int i = 0; i < N * (size - 1); ++i) {
      int value = -1;
      MPI_Status status;
      poison(&status);
      OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK(status.MPI_SOURCE > 0 && status.MPI_SOURCE < size);
      EQ(status.MPI_SOURCE, status.MPI_TAG);
      EQ(next[status.MPI_SOURCE]++, value);
    }
  }
}

static void communicators_are_separate(void) {
  enum { N = 5 };
  MPI_Comm comms[N];
  MPI_Request requests[N];
  int values[N];
  for (int i = 0; i < N; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int i = 0; i < N; ++i) {
    values[i] = rank * 10 + i;
    OK(MPI_Isend(&values[i], 1, MPI_INT, next, 1, comms[i], &requests[i]));
  }
  for (int i = N - 1; i >= 0; --i) {
    int value = -1;
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE));
    EQ(previous * 10 + i, value);
  }
  OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < N; ++i) OK(MPI_Comm_free(&comms[i]));
}

static void collectives_do_not_meet_messages(void) {
  int value = rank, sum = -1, received = -1;
  MPI_Request request;
  OK(MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EQ(size * (size - 1) / 2, sum);
  OK(MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ((rank + size - 1) % size, received);
}

static void highest_tag(void) {
  int *upper = NULL, found = 0, value = -1;
  MPI_Status status;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &found));
  CHECK(found);
  CHECK(*upper >= 32767);
  poison(&status);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, *upper, &value, 1, MPI_INT, MPI_ANY_SOURCE, *upper,
                  MPI_COMM_WORLD, &status));
  CHECK_STATUS(status, (rank + size - 1) % size, *upper, 1, MPI_INT);
}

static void receive_buffer_may_be_longer(void) {
  int data[8];
  for (int i = 0; i < 8; ++i) data[i] = UNTOUCHED;
  if (rank == 0) OK(MPI_Send((const int[]){1, 2, 3}, 3, MPI_INT, 1, 0, MPI_COMM_WORLD));
  if (rank != 1) return;
  OK(MPI_Recv(data, 8, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 3; ++i) EQ(i + 1, data[i]);
  for (int i = 3; i < 8; ++i) EQ(UNTOUCHED, data[i]);
}

int main(void) {
  start();
  no_overtaking();
  posted_receives_match_in_order();
  tags_select();
  any_tag_takes_the_oldest();
  any_source_keeps_each_senders_order();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  communicators_are_separate();
  collectives_do_not_meet_messages();
  highest_tag();
  receive_buffer_may_be_longer();
  return finish("matching");
}
