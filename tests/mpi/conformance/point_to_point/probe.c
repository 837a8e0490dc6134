// Probing: a probe tells of the message that the same receive would take and leaves it there; a matched probe takes
// it out of the queue. Rank 0 sends, rank 1 looks; further ranks only join the collective calls.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static const int numbers[] = {11, 22, 33, 44, 55, 66, 77, 88};

static void send_numbers(int count, int tag) {
  OK(MPI_Send(numbers, count, MPI_INT, 1, tag, MPI_COMM_WORLD));
}

static void probe_leaves_the_message(void) {
  if (rank == 0) send_numbers(3, 17);
  if (rank != 1) return;
  MPI_Status first, second, third;
  poison(&first);
  poison(&second);
  poison(&third);
  OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &first));
  CHECK_STATUS(first, 0, 17, 3, MPI_INT);
  OK(MPI_Probe(0, 17, MPI_COMM_WORLD, &second));
  CHECK_STATUS(second, 0, 17, 3, MPI_INT);
  OK(MPI_Probe(0, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  int data[3] = {0};
  OK(MPI_Recv(data, 3, MPI_INT, first.MPI_SOURCE, first.MPI_TAG, MPI_COMM_WORLD, &third));
  CHECK_STATUS(third, 0, 17, 3, MPI_INT);
  EQ(33, data[2]);
}

static int iprobe_until(int source, int tag, MPI_Status* status) {
  int flag = 0, misses = -1;
  while (!flag) {
    OK(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, status));
    ++misses;
  }
  EQ(1, flag);
  return misses;
}

static void iprobe_misses_then_hits(void) {
  int flag = UNTOUCHED;
  if (rank == 1) {
    for (int i = 0; i < 5000; ++i) {
      OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      EQ(0, flag);
    }
    OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
    MPI_Status status;
    poison(&status);
    iprobe_until(0, 18, &status);
    CHECK_STATUS(status, 0, 18, 5, MPI_INT);
    OK(MPI_Iprobe(0, 19, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    EQ(0, flag);
    int data[5];
    OK(MPI_Recv(data, 5, MPI_INT, 0, 18, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(55, data[4]);
  }
  if (rank == 0) {
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    send_numbers(5, 18);
  }
}

static void matched_probe_takes_it_out(void) {
  if (rank == 0) {
    send_numbers(1, 20);
    OK(MPI_Send(&numbers[1], 1, MPI_INT, 1, 20, MPI_COMM_WORLD));
    OK(MPI_Send(&numbers[2], 1, MPI_INT, 1, 20, MPI_COMM_WORLD));
  }
  if (rank != 1) return;
  MPI_Message first = MPI_MESSAGE_NULL, second = MPI_MESSAGE_NULL;
  MPI_Status status;
  poison(&status);
  OK(MPI_Mprobe(0, 20, MPI_COMM_WORLD, &first, &status));
  CHECK_STATUS(status, 0, 20, 1, MPI_INT);
  CHECK(first != MPI_MESSAGE_NULL && first != MPI_MESSAGE_NO_PROC);
  OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &second, MPI_STATUS_IGNORE));
  CHECK(second != first);
  int value = 0;
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(33, value);
  poison(&status);
  OK(MPI_Mrecv(&value, 1, MPI_INT, &second, &status));
  EQ(22, value);
  CHECK(second == MPI_MESSAGE_NULL);
  CHECK_STATUS(status, 0, 20, 1, MPI_INT);
  OK(MPI_Mrecv(&value, 1, MPI_INT, &first, MPI_STATUS_IGNORE));
  EQ(11, value);
  CHECK(first == MPI_MESSAGE_NULL);
}

static void improbe_and_imrecv(void) {
  int flag = UNTOUCHED, data[8] = {0};
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request request;
  MPI_Status status;
  if (rank == 1) {
    OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
    EQ(0, flag);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) send_numbers(8, 21);
  if (rank != 1) return;
  poison(&status);
  do OK(MPI_Improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
  while (!flag);
  CHECK_STATUS(status, 0, 21, 8, MPI_INT);
  OK(MPI_Imrecv(data, 8, MPI_INT, &message, &request));
  CHECK(message == MPI_MESSAGE_NULL);
  poison(&status);
  OK(MPI_Wait(&request, &status));
  CHECK_STATUS(status, 0, 21, 8, MPI_INT);
  CHECK(request == MPI_REQUEST_NULL);
  EQ(88, data[7]);
}

static void large_message_matched_then_received_late(void) {
  enum { N = 300000 };
  static int data[N];
  if (rank == 0) {
    fill(data, N, 3);
    OK(MPI_Send(data, N, MPI_INT, 1, 22, MPI_COMM_WORLD));
  }
  if (rank != 1) return;
  MPI_Message message;
  MPI_Status status;
  poison(&status);
  OK(MPI_Mprobe(MPI_ANY_SOURCE, 22, MPI_COMM_WORLD, &message, &status));
  EQ(N, count_of(&status, MPI_INT));
  OK(MPI_Mrecv(data, N, MPI_INT, &message, MPI_STATUS_IGNORE));
  CHECK_FILL(data, N, 3);
}

static void nobody_is_always_there(void) {
  int flag = 0, value = UNTOUCHED;
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request request;
  poison(&status);
  OK(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
  CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  poison(&status);
  OK(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status));
  EQ(1, flag);
  CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  poison(&status);
  OK(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  poison(&status);
  OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  flag = 0;
  OK(MPI_Improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
  EQ(1, flag);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  OK(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
  CHECK(message == MPI_MESSAGE_NULL);
  poison(&status);
  OK(MPI_Wait(&request, &status));
  EQ(MPI_PROC_NULL, status.MPI_SOURCE);
  EQ(MPI_ANY_TAG, status.MPI_TAG);
  EQ(0, count_of(&status, MPI_INT));
  EQ(UNTOUCHED, value);
}

int main(void) {
  start();
  probe_leaves_the_message();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  iprobe_misses_then_hits();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  matched_probe_takes_it_out();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  improbe_and_imrecv();
  large_message_matched_then_received_late();
  nobody_is_always_there();
  return finish("probe");
}
