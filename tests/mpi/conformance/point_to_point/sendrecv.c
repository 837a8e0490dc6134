// Combined send and receive, messages to oneself, messages to and from nobody, messages of no length.
//
// ranks: 1 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static int next, previous;

static void ring(void) {
  enum { N = 70000 };
  static int out[N], in[N];
  static const int lengths[] = {0, 1, 1000, N};
  for (int i = 0; i < 4; ++i) {
    MPI_Status status;
    poison(&status);
    fill(out, lengths[i], rank + i);
    OK(MPI_Sendrecv(out, lengths[i], MPI_INT, next, i, in, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                    &status));
    CHECK_STATUS(status, previous, i, lengths[i], MPI_INT);
    CHECK_FILL(in, lengths[i], previous + i);
  }
}

static void different_types_and_tags(void) {
  int out[2] = {rank, rank + 1};
  char in[2 * sizeof(int)];
  OK(MPI_Sendrecv(out, 2, MPI_INT, next, 10, in, (int)sizeof in, MPI_BYTE, previous, 10, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  int values[2];
  memcpy(values, in, sizeof values);
  EQ(previous, values[0]);
  EQ(previous + 1, values[1]);
}

static void replace(void) {
  enum { N = 50000 };
  static int data[N];
  MPI_Status status;
  fill(data, N, rank);
  poison(&status);
  OK(MPI_Sendrecv_replace(data, N, MPI_INT, next, 11, previous, 11, MPI_COMM_WORLD, &status));
  // MPICH 5.0.2 stores MPI_SUCCESS here.
  EQ(library_is("MPICH") ? MPI_SUCCESS : UNTOUCHED, status.MPI_ERROR);
  status.MPI_ERROR = UNTOUCHED;
  CHECK_STATUS(status, previous, 11, N, MPI_INT);
  CHECK_FILL(data, N, previous);
}

static void replace_strided(void) {
  MPI_Datatype column;
  int data[10];
  for (int i = 0; i < 10; ++i) data[i] = 100 * rank + i;
  OK(MPI_Type_vector(5, 1, 2, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  OK(MPI_Sendrecv_replace(data, 1, column, next, 12, previous, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 10; ++i) EQ(100 * (i % 2 ? rank : previous) + i, data[i]);
  OK(MPI_Type_free(&column));
}

// A line instead of a ring: its ends talk to nobody.
static void open_chain(void) {
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL,
      value = UNTOUCHED;
  MPI_Status status;
  poison(&status);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 13, &value, 1, MPI_INT, left, 13, MPI_COMM_WORLD, &status));
  EQ(rank > 0 ? rank - 1 : UNTOUCHED, value);
  EQ(left, status.MPI_SOURCE);
  EQ(rank > 0 ? 13 : MPI_ANY_TAG, status.MPI_TAG);
  EQ(rank > 0, count_of(&status, MPI_INT));
  value = rank;
  OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, left, 14, right, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(rank < size - 1 ? rank + 1 : rank, value);
}

static void every_call_accepts_nobody(void) {
  MPI_Request requests[6];
  int value = UNTOUCHED;
  OK(MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Ssend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Rsend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Bsend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Isend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Issend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Irsend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Ibsend(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[3]));
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[4]));
  requests[5] = MPI_REQUEST_NULL;
  OK(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
  EQ(UNTOUCHED, value);
}

static void to_myself(void) {
  enum { N = 80000 };
  static int out[N], in[N];
  MPI_Request requests[2];
  MPI_Status status;
  fill(out, N, 5);
  OK(MPI_Irecv(in, N, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]));
  OK(MPI_Isend(out, N, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]));
  poison(&status);
  OK(MPI_Wait(&requests[0], &status));
  OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  CHECK_STATUS(status, 0, 3, N, MPI_INT);
  CHECK_FILL(in, N, 5);
  OK(MPI_Isend(out, 7, MPI_INT, rank, 4, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Recv(in, 7, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status));
  EQ(rank, status.MPI_SOURCE);
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void no_length(void) {
  MPI_Status status;
  MPI_Request request;
  poison(&status);
  OK(MPI_Isend(NULL, 0, MPI_DOUBLE, next, 15, MPI_COMM_WORLD, &request));
  OK(MPI_Recv(NULL, 0, MPI_DOUBLE, previous, 15, MPI_COMM_WORLD, &status));
  CHECK_STATUS(status, previous, 15, 0, MPI_DOUBLE);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

#ifdef HAVE_MPI4
static void nonblocking(void) {
  int value = UNTOUCHED, swapped = 100 + rank;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  OK(MPI_Isendrecv(&rank, 1, MPI_INT, next, 16, &value, 1, MPI_INT, previous, 16, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isendrecv_replace(&swapped, 1, MPI_INT, next, 17, previous, 17, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, statuses));
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  EQ(previous, value);
  EQ(100 + previous, swapped);
  SEEN("status of Isendrecv: source %s, tag %d", statuses[0].MPI_SOURCE == previous ? "of the receive" : "another",
       statuses[0].MPI_TAG);
}
#endif

int main(void) {
  static char room[1 << 14];
  void* detached;
  int bytes;
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  OK(MPI_Buffer_attach(room, sizeof room));
  ring();
  different_types_and_tags();
  replace();
  replace_strided();
  open_chain();
  every_call_accepts_nobody();
  to_myself();
  no_length();
#ifdef HAVE_MPI4
  nonblocking();
#endif
  OK(MPI_Buffer_detach(&detached, &bytes));
  return finish("sendrecv");
}
