// The life of request handles: null after completion, persistent ones kept, every wait and test call with null and
// inactive entries in its array, freeing while active, looking without completing, cancelling receives.
//
// ranks: 1 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static int next, previous;
static int token;

static MPI_Request receive(int* value, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Irecv(value, 1, MPI_INT, previous, tag, MPI_COMM_WORLD, &request));
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

// The value sent is 100 * sender + tag.
static void post(int tag) {
  int value = 100 * rank + tag;
  OK(MPI_Bsend(&value, 1, MPI_INT, next, tag, MPI_COMM_WORLD));
}

static void null_after_completion(void) {
  int value = -1, flag = 0;
  MPI_Request request = receive(&value, 1);
  post(1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  EQ(100 * previous + 1, value);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  request = receive(&value, 2);
  post(2);
  while (!flag) {
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  }
  CHECK(request == MPI_REQUEST_NULL);
  EQ(100 * previous + 2, value);
}

static void failed_tests_change_nothing(void) {
  int values[2] = {UNTOUCHED, UNTOUCHED}, flag, index, count, indices[2];
  MPI_Request requests[2] = {receive(&values[0], 3), receive(&values[1], 4)};
  MPI_Request before[2] = {requests[0], requests[1]};
  for (int i = 0; i < 200; ++i) {
    OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    EQ(0, flag);
    OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
    EQ(0, flag);
    OK(MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE));
    EQ(0, flag);
    EQ(MPI_UNDEFINED, index);
    OK(MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE));
    EQ(0, count);
    CHECK(requests[0] == before[0] && requests[1] == before[1]);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  post(4);
  // One of the two is complete: Testall must still change neither.
  do OK(MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE));
  while (!flag);
  OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
  EQ(0, flag);
  CHECK(requests[0] == before[0] && requests[1] == before[1]);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  post(3);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  EQ(100 * previous + 3, values[0]);
}

static void nulls_between(void) {
  enum { N = 7 };
  int values[N], indices[N], seen = 0, index = UNTOUCHED, count = UNTOUCHED;
  MPI_Request requests[N], idle;
  OK(MPI_Recv_init(&token, 1, MPI_INT, previous, 99, MPI_COMM_WORLD, &idle));
  for (int i = 0; i < N; ++i) requests[i] = i % 2 ? receive(&values[i], 10 + i) : MPI_REQUEST_NULL;
  requests[4] = idle;
  for (int i = 1; i < N; i += 2) post(10 + i);
  OK(MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index == 1 || index == 3 || index == 5);
  CHECK(requests[index] == MPI_REQUEST_NULL);
  EQ(100 * previous + 10 + index, values[index]);
  for (seen = 1; seen < 3; seen += count) {
    OK(MPI_Waitsome(N, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK(count >= 1 && count <= 3 - seen);
    for (int i = 0; i < count; ++i) {
      CHECK(indices[i] % 2 == 1);
      EQ(100 * previous + 10 + indices[i], values[indices[i]]);
    }
  }
  CHECK(requests[4] == idle);
  OK(MPI_Waitsome(N, requests, &count, indices, MPI_STATUSES_IGNORE));
  EQ(MPI_UNDEFINED, count);
  OK(MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE));
  EQ(MPI_UNDEFINED, index);
  OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
  CHECK(requests[4] == idle);
  OK(MPI_Request_free(&requests[4]));
  CHECK(requests[4] == MPI_REQUEST_NULL);
}

static void empty_arrays(void) {
  int index = UNTOUCHED, count = UNTOUCHED, flag = 0;
  OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  OK(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
  EQ(1, flag);
  OK(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
  EQ(MPI_UNDEFINED, index);
  flag = 0;
  OK(MPI_Testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE));
  EQ(1, flag);
  EQ(MPI_UNDEFINED, index);
  OK(MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
  EQ(MPI_UNDEFINED, count);
  count = UNTOUCHED;
  OK(MPI_Testsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
  EQ(MPI_UNDEFINED, count);
}

static void looking_does_not_complete(void) {
  int value = UNTOUCHED, flag = 0;
  MPI_Status status;
  MPI_Request request = receive(&value, 20), before = request;
  OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  EQ(0, flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  post(20);
  for (int round = 0; round < 2; ++round) {
    poison(&status);
    do OK(MPI_Request_get_status(request, &flag, &status));
    while (!flag);
    EQ(previous, status.MPI_SOURCE);
    EQ(20, status.MPI_TAG);
    EQ(1, count_of(&status, MPI_INT));
    CHECK(request == before);
  }
  poison(&status);
  OK(MPI_Wait(&request, &status));
  CHECK_STATUS(status, previous, 20, 1, MPI_INT);
  EQ(100 * previous + 20, value);
}

static void freeing_an_active_send(void) {
  enum { N = 50000 };
  static int data[N], received[N];
  MPI_Request request, receiving;
  fill(data, N, rank);
  OK(MPI_Irecv(received, N, MPI_INT, previous, 21, MPI_COMM_WORLD, &receiving));
  OK(MPI_Isend(data, N, MPI_INT, next, 21, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Wait(&receiving, MPI_STATUS_IGNORE));
  CHECK_FILL(received, N, previous);
  // The neighbour's receipt is what allows the buffer to be reused.
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void freeing_an_active_receive(void) {
  static volatile int value;
  value = UNTOUCHED;
  MPI_Request request;
  OK(MPI_Irecv((void*)(size_t)&value, 1, MPI_INT, previous, 22, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  post(22);
  int flag = 0;
  while (value == UNTOUCHED) OK(MPI_Iprobe(MPI_ANY_SOURCE, 9999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  EQ(100 * previous + 22, value);
}

static void cancelled_receives(void) {
  int first = UNTOUCHED, second = UNTOUCHED, flag = 0;
  MPI_Status status;
  MPI_Request cancelled = receive(&first, 23), kept = receive(&second, 23);
  OK(MPI_Cancel(&cancelled));
  CHECK(cancelled != MPI_REQUEST_NULL);
  poison(&status);
  OK(MPI_Wait(&cancelled, &status));
  CHECK(cancelled == MPI_REQUEST_NULL);
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(1, flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  post(23);
  poison(&status);
  OK(MPI_Wait(&kept, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(0, flag);
  EQ(UNTOUCHED, first);
  EQ(100 * previous + 23, second);
  cancelled = receive(&first, 24);
  OK(MPI_Cancel(&cancelled));
  OK(MPI_Request_free(&cancelled));
  CHECK(cancelled == MPI_REQUEST_NULL);
}

static void cancelled_among_many(void) {
  int values[3] = {UNTOUCHED, UNTOUCHED, UNTOUCHED}, flag;
  MPI_Request requests[3] = {receive(&values[0], 25), receive(&values[1], 26), receive(&values[2], 27)};
  MPI_Status statuses[3];
  OK(MPI_Cancel(&requests[1]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  post(25);
  post(27);
  OK(MPI_Waitall(3, requests, statuses));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Test_cancelled(&statuses[i], &flag));
    EQ(i == 1, flag);
  }
  EQ(100 * previous + 27, values[2]);
  EQ(UNTOUCHED, values[1]);
}

static void completed_then_cancelled(void) {
  int value = UNTOUCHED, flag = 0;
  MPI_Status status;
  MPI_Request request = receive(&value, 28);
  post(28);
  do OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  while (!flag);
  OK(MPI_Cancel(&request));
  poison(&status);
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(0, flag);
  EQ(100 * previous + 28, value);
}

// A handle is used again as soon as its request is complete: whoever remembers handles must forget them in time.
static void handles_are_reused(void) {
  for (int i = 0; i < 2000; ++i) {
    int value = -1, index = -1;
    MPI_Request request[1] = {receive(&value, 29)};
    post(29);
    if (i % 3 == 0)
      OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    else if (i % 3 == 1)
      OK(MPI_Waitall(1, request, MPI_STATUSES_IGNORE));
    else
      OK(MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE));
    EQ(100 * previous + 29, value);
  }
}

int main(void) {
  static char room[1 << 20];
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  OK(MPI_Buffer_attach(room, sizeof room));
  null_after_completion();
  failed_tests_change_nothing();
  nulls_between();
  empty_arrays();
  looking_does_not_complete();
  freeing_an_active_send();
  freeing_an_active_receive();
  cancelled_receives();
  cancelled_among_many();
  completed_then_cancelled();
  handles_are_reused();
  void* detached;
  int bytes;
  OK(MPI_Buffer_detach(&detached, &bytes));
  return finish("request");
}
