// Requests of non-contiguous messages: completing one, or looking, delivers the data before it says so; freed,
// cancelled, persistent and half-tested requests; types freed while they are in use.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "typed/typed.h"

static int next, previous;
static layout kinds[LAYOUTS];
static MPI_Comm comm;

static MPI_Request receive_kind(int* room, int kind, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Irecv(address(room, &kinds[kind]), kinds[kind].items, kinds[kind].type, previous, tag, comm, &request));
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

static MPI_Request send_room(const int* room, int kind, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Isend(room + kinds[kind].base, kinds[kind].items, kinds[kind].type, next, tag, comm, &request));
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

static void check_status(MPI_Status* status, int kind, int tag) {
  int elements = UNTOUCHED;
  EQ(previous, status->MPI_SOURCE);
  EQ(tag, status->MPI_TAG);
  EQ(kinds[kind].items, count_of(status, kinds[kind].type));
  EQ(kinds[kind].n, count_of(status, MPI_INT));
  OK(MPI_Get_elements(status, kinds[kind].type, &elements));
  EQ(kinds[kind].n, elements);
}

// Looking is enough: the data must be there before the request is gone.
static void looked_at(void) {
  for (int kind = 0; kind < LAYOUTS; ++kind) {
    int *out = new_room(&kinds[kind], rank + 8), *in = new_room(&kinds[kind], -1), flag = 0;
    MPI_Status status;
    MPI_Request request = receive_kind(in, kind, 1), sent = send_room(out, kind, 1), before = request;
    for (int look = 0; look < 2; ++look) {
      poison(&status);
      do OK(MPI_Request_get_status(request, &flag, &status));
      while (!flag);
      CHECK(request == before);
      check_status(&status, kind, 1);
      if (look == 0) CHECK_LAYOUT(in, &kinds[kind], previous + 8);
      clear_room(in, kinds[kind].span);
    }
    poison(&status);
    OK(MPI_Wait(&request, &status));
    check_status(&status, kind, 1);
    // Since the first look the buffer was the program's again.
    CHECK_GAPS(in, &kinds[kind]);
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_LAYOUT(out, &kinds[kind], rank + 8);
  }
}

// Failed tests change neither request nor buffer.
static void tested_in_vain(void) {
  int *in = new_room(&kinds[0], -1), *out = new_room(&kinds[0], rank), flag = UNTOUCHED, index, count, indices[2];
  MPI_Request pair[2] = {receive_kind(in, 0, 2), MPI_REQUEST_NULL}, before = pair[0];
  for (int i = 0; i < 50; ++i) {
    OK(MPI_Test(&pair[0], &flag, MPI_STATUS_IGNORE));
    EQ(0, flag);
    OK(MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE));
    EQ(0, flag);
    OK(MPI_Testany(2, pair, &index, &flag, MPI_STATUS_IGNORE));
    EQ(0, flag);
    OK(MPI_Testsome(2, pair, &count, indices, MPI_STATUSES_IGNORE));
    EQ(0, count);
    OK(MPI_Request_get_status(pair[0], &flag, MPI_STATUS_IGNORE));
    EQ(0, flag);
    CHECK(pair[0] == before);
  }
  CHECK_GAPS(in, &kinds[0]);
  OK(MPI_Barrier(comm));
  MPI_Request sent = send_room(out, 0, 2);
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  CHECK_LAYOUT(in, &kinds[0], previous);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

// Sends, receives and a null request in one array, ended by calls that end any or some of them.
static void mixed_arrays(int how) {
  enum { MESSAGES = 4 * LAYOUTS, ALL = 2 * MESSAGES + 1 };
  int *in[MESSAGES], *out[MESSAGES], seen[ALL] = {0};
  MPI_Request requests[ALL];
  for (int i = 0; i < MESSAGES; ++i) {
    int kind = i % LAYOUTS;
    in[i] = new_room(&kinds[kind], -1);
    out[i] = new_room(&kinds[kind], 30 + i);
    requests[i] = receive_kind(in[i], kind, 100 + i);
  }
  for (int i = 0; i < MESSAGES; ++i) requests[MESSAGES + i] = send_room(out[i], i % LAYOUTS, 100 + i);
  requests[ALL - 1] = MPI_REQUEST_NULL;
  for (int done = 0; done < ALL - 1;) {
    int count = 1, indices[ALL], flag = 0;
    MPI_Status statuses[ALL];
    if (how == 0)
      OK(MPI_Waitany(ALL, requests, &indices[0], &statuses[0]));
    else if (how == 1)
      while (!flag) OK(MPI_Testany(ALL, requests, &indices[0], &flag, &statuses[0]));
    else
      OK((how == 2 ? MPI_Waitsome : MPI_Testsome)(ALL, requests, &count, indices, statuses));
    for (int i = 0; i < count; ++i, ++done) {
      int which = indices[i];
      CHECK(which >= 0 && which < ALL - 1);
      EQ(0, seen[which]++);
      CHECK(requests[which] == MPI_REQUEST_NULL);
      if (which < MESSAGES) {
        check_status(&statuses[i], which % LAYOUTS, 100 + which);
        CHECK_LAYOUT(in[which], &kinds[which % LAYOUTS], 30 + which);
      }
    }
  }
}

// Sends and receives, persistent or not, that are freed while they are active must still deliver.
static void freed_while_active(int kind, int is_persistent) {
  const layout* of = &kinds[kind];
  int *in = new_room(of, -1), *out = new_room(of, rank + 50), flag;
  volatile int* last = &in[of->base + of->at(of->n, of->n - 1)];
  MPI_Request request;
  if (is_persistent) {
    OK(MPI_Recv_init(address(in, of), of->items, of->type, previous, 3, comm, &request));
    OK(MPI_Start(&request));
  } else
    request = receive_kind(in, kind, 3);
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Barrier(comm));
  if (is_persistent) {
    OK(MPI_Send_init(address(out, of), of->items, of->type, next, 3, comm, &request));
    OK(MPI_Start(&request));
  } else
    request = send_room(out, kind, 3);
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  // A barrier does not say that the data are there, so the program looks at them while MPI makes progress.
  while (*last == GAP) OK(MPI_Iprobe(MPI_ANY_SOURCE, 9999, comm, &flag, MPI_STATUS_IGNORE));
  for (int tries = 0; tries < 100; ++tries) OK(MPI_Iprobe(MPI_ANY_SOURCE, 9999, comm, &flag, MPI_STATUS_IGNORE));
  CHECK_LAYOUT(in, of, previous + 50);
  OK(MPI_Barrier(comm));
}

static void cancelled(void) {
  int *first = new_room(&kinds[1], -1), *second = new_room(&kinds[1], -1), *out = new_room(&kinds[1], rank),
      flag = 0;
  MPI_Status status;
  MPI_Request request = receive_kind(first, 1, 4), kept = receive_kind(second, 1, 4);
  OK(MPI_Cancel(&request));
  CHECK(request != MPI_REQUEST_NULL);
  poison(&status);
  OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(1, flag);
  OK(MPI_Barrier(comm));
  MPI_Request sent = send_room(out, 1, 4);
  OK(MPI_Wait(&kept, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(0, flag);
  check_status(&status, 1, 4);
  CHECK_GAPS(first, &kinds[1]);
  CHECK_LAYOUT(second, &kinds[1], previous);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  // A cancelled request may be freed instead, and one that has received can no longer be cancelled.
  request = receive_kind(first, 1, 5);
  OK(MPI_Cancel(&request));
  OK(MPI_Request_free(&request));
  request = receive_kind(first, 1, 6);
  sent = send_room(out, 1, 6);
  for (flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(0, flag);
  CHECK_LAYOUT(first, &kinds[1], previous);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

typedef int (*init_function)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

// What a persistent send sends is what lies in the buffer when it is started.
static void persistent(void) {
  static const init_function init[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init};
  for (int mode = 0; mode < 3; ++mode)
    for (int kind = 0; kind < LAYOUTS; ++kind) {
      int *in = new_room(&kinds[kind], -1), *out = new_room(&kinds[kind], -1);
      MPI_Request pair[2], before[2];
      MPI_Datatype receiving, sending;
      OK(MPI_Type_dup(kinds[kind].type, &receiving));
      OK(MPI_Type_dup(kinds[kind].type, &sending));
      OK(MPI_Recv_init(address(in, &kinds[kind]), kinds[kind].items, receiving,
                       kind % 2 ? previous : MPI_ANY_SOURCE, 7, comm, &pair[0]));
      OK(init[mode](address(out, &kinds[kind]), kinds[kind].items, sending, next, 7, comm, &pair[1]));
      OK(MPI_Type_free(&receiving));
      OK(MPI_Type_free(&sending));
      for (int round = 0; round < 6; ++round) {
        MPI_Status statuses[2];
        clear_room(in, kinds[kind].span);
        fill_layout(out, &kinds[kind], 5 * rank + round);
        if (round % 2)
          OK(MPI_Startall(2, pair));
        else {
          OK(MPI_Start(&pair[0]));
          OK(MPI_Start(&pair[1]));
        }
        // Starting may give another handle: Open MPI does, where the last send is not quite over.
        memcpy(before, pair, sizeof pair);
        int flag = 0, index = UNTOUCHED;
        if (round % 3 == 0)
          OK(MPI_Waitall(2, pair, statuses));
        else if (round % 3 == 1)
          while (!flag) OK(MPI_Testall(2, pair, &flag, statuses));
        else
          for (int i = 0; i < 2; ++i) {
            MPI_Status status;
            OK(MPI_Waitany(2, pair, &index, &status));
            CHECK(index == 0 || index == 1);
            statuses[index] = status;
          }
        CHECK(pair[0] == before[0] && pair[1] == before[1]);
        check_status(&statuses[0], kind, 7);
        CHECK_LAYOUT(in, &kinds[kind], 5 * previous + round);
        CHECK_LAYOUT(out, &kinds[kind], 5 * rank + round);
        // Now they are inactive, and another look touches nothing.
        clear_room(in, kinds[kind].span);
        OK(MPI_Wait(&pair[0], &statuses[0]));
        EQ(0, count_of(&statuses[0], MPI_INT));
        CHECK_GAPS(in, &kinds[kind]);
      }
      for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&pair[i]));
      CHECK(pair[0] == MPI_REQUEST_NULL);
    }
}

static void persistent_cancelled_and_restarted(void) {
  int *in = new_room(&kinds[2], -1), *out = new_room(&kinds[2], rank), flag = 0;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Recv_init(address(in, &kinds[2]), kinds[2].items, kinds[2].type, previous, 8, comm, &request));
  OK(MPI_Start(&request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(1, flag);
  CHECK_GAPS(in, &kinds[2]);
  OK(MPI_Barrier(comm));
  OK(MPI_Start(&request));
  MPI_Request sent = send_room(out, 2, 8);
  OK(MPI_Wait(&request, &status));
  check_status(&status, 2, 8);
  CHECK_LAYOUT(in, &kinds[2], previous);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
}

// Types go as soon as the calls have returned, and others take their handles.
static void types_freed_early(void) {
  enum { MESSAGES = 12 };
  int *in[MESSAGES], *out[MESSAGES];
  MPI_Request requests[2 * MESSAGES];
  for (int i = 0; i < MESSAGES; ++i) {
    layout of = make_layout(i % LAYOUTS, kinds[0].n);
    in[i] = new_room(&of, -1);
    OK(MPI_Irecv(address(in[i], &of), of.items, of.type, previous, 200 + i, comm, &requests[i]));
    free_layout(&of);
  }
  for (int i = 0; i < MESSAGES; ++i) {
    layout of = make_layout((i + 3) % LAYOUTS, kinds[0].n);
    out[i] = new_room(&of, rank + i);
    OK(MPI_Isend(address(out[i], &of), of.items, of.type, next, 200 + i, comm, &requests[MESSAGES + i]));
    free_layout(&of);
  }
  OK(MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < MESSAGES; ++i) CHECK_LAYOUT(in[i], &kinds[i % LAYOUTS], previous + i);
}

// A request's handle comes back for another request, contiguous after strided: nothing may stick to it.
static void handles_are_reused(void) {
  int *in = new_room(&kinds[3], -1), *out = new_room(&kinds[3], rank);
  for (int i = 0; i < 600; ++i) {
    int value = -1, index;
    MPI_Request pair[2];
    if (i % 2) {
      pair[0] = receive_kind(in, 3, 11);
      pair[1] = send_room(out, 3, 11);
    } else {
      OK(MPI_Irecv(&value, 1, MPI_INT, previous, 11, comm, &pair[0]));
      OK(MPI_Isend(&i, 1, MPI_INT, next, 11, comm, &pair[1]));
    }
    if (i % 3 == 0)
      OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
    else
      for (int k = 0; k < 2; ++k) OK(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE));
    if (i % 2 == 0) {
      EQ(i, value);
      CHECK_GAPS(in, &kinds[3]);
    } else {
      CHECK_LAYOUT(in, &kinds[3], previous);
      clear_room(in, kinds[3].span);
    }
  }
}

int main(void) {
  enum { ROOM = 1 << 22 };
  void* detached;
  int bytes;
  start();
  comm = MPI_COMM_WORLD;
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  OK(MPI_Buffer_attach(malloc(ROOM), ROOM));
  for (int n = SMALL; n <= LARGE; n += LARGE - SMALL) {
    for (int i = 0; i < LAYOUTS; ++i) kinds[i] = make_layout(i, n);
    looked_at();
    tested_in_vain();
    for (int how = 0; how < 4; ++how) mixed_arrays(how);
    for (int kind = 0; kind < LAYOUTS; ++kind)
      for (int is_persistent = 0; is_persistent < 2; ++is_persistent) freed_while_active(kind, is_persistent);
    cancelled();
    persistent();
    persistent_cancelled_and_restarted();
    types_freed_early();
    if (n == SMALL) handles_are_reused();
    for (int i = 0; i < LAYOUTS; ++i) free_layout(&kinds[i]);
  }
  OK(MPI_Buffer_detach(&detached, &bytes));
  free(detached);
  return finish("typed_requests");
}
