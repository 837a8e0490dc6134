// Non-contiguous messages are messages like others: they match in the order in which they were sent, whatever type
// either side uses, by wildcards, after probes; statuses and counts are those of the data. Rank 0 sends, rank 1
// receives.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include "typed/typed.h"

enum { N = 24, TYPES = LAYOUTS + 1 };
static layout kinds[TYPES];  // the last one is contiguous

static int at_itself(int n, int k) {
  return k;
}

static void make_kinds(int n) {
  for (int i = 0; i < LAYOUTS; ++i) kinds[i] = make_layout(i, n);
  MPI_Datatype type;
  OK(MPI_Type_contiguous(n, MPI_INT, &type));
  kinds[LAYOUTS] = commit_layout(type, 1, n, 0, n, at_itself);
}

static void send_kind(int kind, int seed, int tag) {
  int* room = new_room(&kinds[kind], seed);
  OK(MPI_Send(address(room, &kinds[kind]), kinds[kind].items, kinds[kind].type, 1, tag, MPI_COMM_WORLD));
}

// Sends under way, for what is received in another order than it was sent.
static MPI_Request pending[TYPES];
static int pending_count;

static void start_kind(int kind, int seed, int tag) {
  const layout* of = &kinds[kind];
  int* room = new_room(of, seed);
  OK(MPI_Isend(address(room, of), of->items, of->type, 1, tag, MPI_COMM_WORLD, &pending[pending_count++]));
}

static void finish_sends(void) {
  OK(MPI_Waitall(pending_count, pending, MPI_STATUSES_IGNORE));
  pending_count = 0;
}

static void check_counts(MPI_Status* status, const layout* of) {
  int elements = UNTOUCHED, bytes = UNTOUCHED;
  MPI_Count many = UNTOUCHED;
  CHECK_STATUS(*status, 0, status->MPI_TAG, of->items, of->type);
  EQ(of->n, count_of(status, MPI_INT));
  OK(MPI_Get_elements(status, of->type, &elements));
  EQ(of->n, elements);
  OK(MPI_Get_elements_x(status, of->type, &many));
  EQ(of->n, many);
  OK(MPI_Get_count(status, MPI_PACKED, &bytes));
  EQ(of->n * (int)sizeof(int), bytes);
}

static void receive_kind(int kind, int seed, int source, int tag, int expected_tag) {
  const layout* of = &kinds[kind];
  int* room = new_room(of, -1);
  MPI_Status status;
  poison(&status);
  OK(MPI_Recv(address(room, of), of->items, of->type, source, tag, MPI_COMM_WORLD, &status));
  EQ(expected_tag, status.MPI_TAG);
  check_counts(&status, of);
  CHECK_LAYOUT(room, of, seed);
}

// Every layout into every other one.
static void any_type_into_any(void) {
  for (int from = 0; from < TYPES; ++from)
    for (int to = 0; to < TYPES; ++to) {
      if (rank == 0) send_kind(from, 100 * from + to, 5);
      if (rank == 1) receive_kind(to, 100 * from + to, to % 2 ? 0 : MPI_ANY_SOURCE, from % 2 ? 5 : MPI_ANY_TAG, 5);
    }
}

// Sent one after the other on one tag, large and small, contiguous and not: received in that order.
static void order_is_kept(void) {
  enum { MESSAGES = 60 };
  if (rank == 0)
    for (int i = 0; i < MESSAGES; ++i) send_kind(i % TYPES, i, 6);
  if (rank == 1)
    for (int i = 0; i < MESSAGES; ++i) receive_kind((i * 5 + 2) % TYPES, i, MPI_ANY_SOURCE, MPI_ANY_TAG, 6);
}

// Receives are posted first; messages of one tag fill them in order, whichever request is waited for first.
static void posted_order_is_kept(void) {
  enum { MESSAGES = 18 };
  if (rank == 0) {
    OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < MESSAGES; ++i) send_kind((i * 5 + 1) % TYPES, i, 7);
    return;
  }
  int* rooms[MESSAGES];
  MPI_Request requests[MESSAGES];
  for (int i = 0; i < MESSAGES; ++i) {
    const layout* of = &kinds[i % TYPES];
    rooms[i] = new_room(of, -1);
    OK(MPI_Irecv(address(rooms[i], of), of->items, of->type, i % 2 ? 0 : MPI_ANY_SOURCE, i % 3 ? 7 : MPI_ANY_TAG,
                 MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 70, MPI_COMM_WORLD));
  for (int i = MESSAGES - 1; i >= 0; --i) {
    MPI_Status status;
    poison(&status);
    OK(MPI_Wait(&requests[i], &status));
    check_counts(&status, &kinds[i % TYPES]);
    CHECK_LAYOUT(rooms[i], &kinds[i % TYPES], i);
  }
}

static void probes_tell_the_count(void) {
  for (int kind = 0; kind < TYPES; ++kind) {
    MPI_Status first, second;
    int flag = 0;
    if (rank == 0) send_kind(kind, kind, 30 + kind);
    if (rank == 0) continue;
    poison(&first);
    poison(&second);
    OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &first));
    check_counts(&first, &kinds[(kind + 1) % TYPES]);
    EQ(30 + kind, first.MPI_TAG);
    while (!flag) OK(MPI_Iprobe(0, 30 + kind, MPI_COMM_WORLD, &flag, &second));
    check_counts(&second, &kinds[kind]);
    receive_kind(kind, kind, first.MPI_SOURCE, first.MPI_TAG, 30 + kind);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 30 + kind, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    EQ(0, flag);
  }
}

// A matched probe takes the message out of the queue: the later one is received before it.
static void matched_probes(void) {
  for (int kind = 0; kind < TYPES; ++kind) {
    const layout* of = &kinds[kind];
    if (rank == 0) {
      for (int i = 0; i < 3; ++i) start_kind((kind + i + 1) % TYPES, kind + i, 40);
      finish_sends();
      continue;
    }
    MPI_Message first, third;
    MPI_Status status;
    MPI_Request request;
    int flag = 0, *room = new_room(of, -1);
    poison(&status);
    OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &first, &status));
    check_counts(&status, of);
    receive_kind(kind, kind + 1, 0, 40, 40);
    while (!flag) OK(MPI_Improbe(0, 40, MPI_COMM_WORLD, &flag, &third, MPI_STATUS_IGNORE));
    poison(&status);
    OK(MPI_Mrecv(address(room, of), of->items, of->type, &first, &status));
    CHECK(first == MPI_MESSAGE_NULL);
    check_counts(&status, of);
    CHECK_LAYOUT(room, of, kind);
    clear_room(room, of->span);
    OK(MPI_Imrecv(address(room, of), of->items, of->type, &third, &request));
    CHECK(third == MPI_MESSAGE_NULL);
    poison(&status);
    OK(MPI_Wait(&request, &status));
    check_counts(&status, of);
    CHECK_LAYOUT(room, of, kind + 2);
  }
}

int main(void) {
  start();
  for (int n = N; n <= LARGE; n += LARGE - N) {  // the second is too long to be sent eagerly
    make_kinds(n);
    any_type_into_any();
    posted_order_is_kept();
    matched_probes();
    if (n == N) order_is_kept();
    if (n == N) probes_tell_the_count();
    for (int i = 0; i < TYPES; ++i) free_layout(&kinds[i]);
  }
  return finish("typed_matching");
}
