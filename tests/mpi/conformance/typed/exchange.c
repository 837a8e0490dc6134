// Non-contiguous data in every send mode, to nobody, and by PMPI names. One rank exchanges with itself.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "typed/typed.h"

static int next, previous;
static layout kinds[LAYOUTS];

// Every mode, blocking and not. A buffered send needs what MPI_Pack_size says and the overhead, and no more; the
// program may overwrite its data at once.
static void modes(void) {
  static int (*const blocking[])(const void*, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Bsend,
                                                                                        MPI_Rsend, MPI_Ssend};
  static int (*const starting[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
      MPI_Isend, MPI_Ibsend, MPI_Irsend, MPI_Issend};
  for (int kind = 0; kind < LAYOUTS; ++kind)
    for (int mode = 0; mode < 8; ++mode) {
      const layout* of = &kinds[kind];
      int *out = new_room(of, rank + mode), *in = new_room(of, -1), packed = 0, attached = 0;
      void* detached = NULL;
      MPI_Request received, sent = MPI_REQUEST_NULL;
      OK(MPI_Pack_size(of->items, of->type, MPI_COMM_WORLD, &packed));
      char* buffer = malloc((size_t)packed + MPI_BSEND_OVERHEAD);
      OK(MPI_Buffer_attach(buffer, packed + MPI_BSEND_OVERHEAD));
      OK(MPI_Irecv(address(in, of), of->items, of->type, previous, 6, MPI_COMM_WORLD, &received));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      if (mode < 4)
        OK(blocking[mode](address(out, of), of->items, of->type, next, 6, MPI_COMM_WORLD));
      else {
        OK(starting[mode - 4](address(out, of), of->items, of->type, next, 6, MPI_COMM_WORLD, &sent));
        OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
      }
      clear_room(out, of->span);
      OK(MPI_Wait(&received, MPI_STATUS_IGNORE));
      CHECK_LAYOUT(in, of, previous + mode);
      OK(MPI_Buffer_detach(&detached, &attached));
      CHECK(detached == buffer);
      EQ(packed + MPI_BSEND_OVERHEAD, attached);
      free(buffer);
    }
}

// A synchronous send is over only when its receive has begun.
static void synchronous(void) {
  const layout* of = &kinds[2];
  if (size < 2) return;
  int* room = new_room(of, rank == 0 ? 5 : -1);
  if (rank == 0) {
    int flag = 1;
    MPI_Request request;
    OK(MPI_Issend(address(room, of), of->items, of->type, 1, 8, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 200; ++i) {
      OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      EQ(0, flag);
    }
    OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else if (rank == 1) {
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(address(room, of), of->items, of->type, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_LAYOUT(room, of, 5);
  }
}

static void to_nobody(void) {
  const layout* of = &kinds[0];
  int* room = new_room(of, -1);
  MPI_Status status;
  MPI_Request requests[3];
  MPI_Message message = MPI_MESSAGE_NULL;
  OK(MPI_Send(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Ssend(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  poison(&status);
  OK(MPI_Recv(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
  CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, of->type);
  OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  poison(&status);
  OK(MPI_Mrecv(address(room, of), of->items, of->type, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  EQ(MPI_PROC_NULL, status.MPI_SOURCE);
  OK(MPI_Sendrecv_replace(address(room, of), of->items, of->type, MPI_PROC_NULL, 3, MPI_PROC_NULL, 3,
                          MPI_COMM_WORLD, &status));
  EQ(MPI_PROC_NULL, status.MPI_SOURCE);
  EQ(0, count_of(&status, of->type));
  OK(MPI_Isend(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Issend(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK_GAPS(room, of);
}

// What a program, or a tool in it, begins by one name it may end by the other.
static void by_both_names(void) {
  for (int turn = 0; turn < 4; ++turn) {
    const layout* of = &kinds[turn];
    int *out = new_room(of, rank), *in = new_room(of, -1);
    MPI_Request pair[2];
    MPI_Status status;
    OK((turn % 2 ? MPI_Irecv : PMPI_Irecv)(address(in, of), of->items, of->type, previous, 1, MPI_COMM_WORLD,
                                           &pair[0]));
    OK((turn / 2 ? MPI_Isend : PMPI_Isend)(address(out, of), of->items, of->type, next, 1, MPI_COMM_WORLD,
                                           &pair[1]));
    OK((turn % 2 ? PMPI_Wait : MPI_Wait)(&pair[0], &status));
    OK((turn / 2 ? PMPI_Wait : MPI_Wait)(&pair[1], MPI_STATUS_IGNORE));
    EQ(of->items, count_of(&status, of->type));
    CHECK_LAYOUT(in, of, previous);
  }
}

int main(void) {
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  for (int n = SMALL; n <= LARGE; n += LARGE - SMALL) {
    for (int i = 0; i < LAYOUTS; ++i) kinds[i] = make_layout(i, n);
    modes();
    synchronous();
    to_nobody();
    by_both_names();
    for (int i = 0; i < LAYOUTS; ++i) free_layout(&kinds[i]);
  }
  return finish("typed_exchange");
}
