// The four send modes, blocking and not: a synchronous send ends only after its receive began, a buffered one at
// once, a ready one where the receive waits. Attach and detach give back the very buffer, detach after delivery
// only.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static void all_modes_arrive(void) {
  int values[8];
  MPI_Request requests[8], sends[4];
  static const int tags[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int i = 0; i < 8; ++i) OK(MPI_Irecv(&values[i], 1, MPI_INT, previous, i, MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&tags[0], 1, MPI_INT, next, 0, MPI_COMM_WORLD));
  OK(MPI_Bsend(&tags[1], 1, MPI_INT, next, 1, MPI_COMM_WORLD));
  OK(MPI_Rsend(&tags[3], 1, MPI_INT, next, 3, MPI_COMM_WORLD));
  OK(MPI_Isend(&tags[4], 1, MPI_INT, next, 4, MPI_COMM_WORLD, &sends[0]));
  OK(MPI_Ibsend(&tags[5], 1, MPI_INT, next, 5, MPI_COMM_WORLD, &sends[1]));
  OK(MPI_Issend(&tags[6], 1, MPI_INT, next, 6, MPI_COMM_WORLD, &sends[2]));
  OK(MPI_Irsend(&tags[7], 1, MPI_INT, next, 7, MPI_COMM_WORLD, &sends[3]));
  OK(MPI_Ssend(&tags[2], 1, MPI_INT, next, 2, MPI_COMM_WORLD));
  OK(MPI_Waitall(4, sends, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 8; ++i) EQ(i, values[i]);
}

static void synchronous_send_waits(void) {
  int flag = 1, value = -1;
  if (rank == 0) {
    MPI_Request request;
    OK(MPI_Issend(&rank, 1, MPI_INT, 1, 10, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 1000; ++i) {
      OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      EQ(0, flag);
    }
    OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 11, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  if (rank == 1) {
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&value, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQ(0, value);
  }
}

// With room attached, both ranks may send large messages first and receive afterwards.
static void buffered_sends_need_no_receive(void) {
  enum { N = 100000, MESSAGES = 4 };
  static int out[N], in[N];
  int packed = 0, bytes = 0;
  void* detached = NULL;
  OK(MPI_Pack_size(N, MPI_INT, MPI_COMM_WORLD, &packed));
  int needed = MESSAGES * (packed + MPI_BSEND_OVERHEAD);
  char* room = malloc((size_t)needed);
  OK(MPI_Buffer_attach(room, needed));
  for (int i = 0; i < MESSAGES; ++i) {
    fill(out, N, rank + i);
    OK(MPI_Bsend(out, N, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD));
  }
  memset(out, 0, sizeof out);
  for (int i = MESSAGES - 1; i >= 0; --i) {
    OK(MPI_Recv(in, N, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_FILL(in, N, (rank + size - 1) % size + i);
  }
  OK(MPI_Buffer_detach(&detached, &bytes));
  CHECK(detached == room);
  EQ(needed, bytes);
  free(room);
}

static void detach_waits_for_delivery(void) {
  enum { N = 30000 };
  static int data[N];
  static char room[N * sizeof(int) + 1000 + MPI_BSEND_OVERHEAD];
  void* detached = NULL;
  int bytes = 0;
  if (rank == 0) {
    OK(MPI_Buffer_attach(room, (int)sizeof room));
    fill(data, N, 7);
    OK(MPI_Bsend(data, N, MPI_INT, 1, 12, MPI_COMM_WORLD));
    OK(MPI_Buffer_detach(&detached, &bytes));
    CHECK(detached == room);
    EQ(sizeof room, bytes);
    memset(room, 0xff, sizeof room);
  }
  if (rank == 1) {
    usleep(20000);
    OK(MPI_Recv(data, N, MPI_INT, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_FILL(data, N, 7);
  }
}

int main(void) {
  static char room[1 << 16];
  void* detached = NULL;
  int bytes = 0;
  start();
  OK(MPI_Buffer_attach(room, sizeof room));
  all_modes_arrive();
  OK(MPI_Buffer_detach(&detached, &bytes));
  CHECK(detached == room);
  EQ(sizeof room, bytes);
  synchronous_send_waits();
  buffered_sends_need_no_receive();
  detach_waits_for_delivery();
  return finish("modes");
}
