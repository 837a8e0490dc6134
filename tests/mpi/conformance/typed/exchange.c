// Non-contiguous data in the calls that send and receive at once, in every send mode, to oneself, to nobody,
// through intercommunicators, from absolute addresses, of no size, and by PMPI names.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "typed/typed.h"

static int next, previous;
static layout kinds[LAYOUTS];

static void sendrecv(void) {
  for (int from = 0; from < LAYOUTS; ++from)
    for (int to = 0; to < LAYOUTS; ++to) {
      const layout *out_of = &kinds[from], *in_of = &kinds[to];
      int *out = new_room(out_of, rank + 7 * to), *in = new_room(in_of, -1);
      MPI_Status status;
      poison(&status);
      OK(MPI_Sendrecv(address(out, out_of), out_of->items, out_of->type, next, 1, address(in, in_of), in_of->items,
                      in_of->type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK_STATUS(status, previous, 1, in_of->items, in_of->type);
      CHECK_LAYOUT(in, in_of, previous + 7 * to);
      CHECK_LAYOUT(out, out_of, rank + 7 * to);
      free(out);
      free(in);
    }
}

// One side strided, the other contiguous.
static void sendrecv_half(void) {
  const layout* of = &kinds[1];
  int *room = new_room(of, rank), *flat = calloc((size_t)of->n, sizeof *flat);
  OK(MPI_Sendrecv(address(room, of), of->items, of->type, next, 2, flat, of->n, MPI_INT, previous, 2,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int k = 0; k < of->n; ++k) EQ(value_of(previous, k), flat[k]);
  clear_room(room, of->span);
  OK(MPI_Sendrecv(flat, of->n, MPI_INT, previous, 2, address(room, of), of->items, of->type, next, 2,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_LAYOUT(room, of, rank);
  free(room);
  free(flat);
}

static void replace(void) {
  for (int kind = 0; kind < LAYOUTS; ++kind) {
    const layout* of = &kinds[kind];
    int* room = new_room(of, rank);
    MPI_Status status;
    OK(MPI_Sendrecv_replace(address(room, of), of->items, of->type, next, 3, previous, 3, MPI_COMM_WORLD, &status));
    EQ(previous, status.MPI_SOURCE);
    EQ(3, status.MPI_TAG);
    EQ(of->items, count_of(&status, of->type));
    CHECK_LAYOUT(room, of, previous);
    OK(MPI_Sendrecv_replace(address(room, of), of->items, of->type, MPI_PROC_NULL, 3, MPI_PROC_NULL, 3,
                            MPI_COMM_WORLD, &status));
    EQ(MPI_PROC_NULL, status.MPI_SOURCE);
    EQ(0, count_of(&status, of->type));
    CHECK_LAYOUT(room, of, previous);
    free(room);
  }
}

#ifdef HAVE_MPI4
static void nonblocking(void) {
  for (int kind = 0; kind < LAYOUTS; ++kind) {
    const layout* of = &kinds[kind];
    int *out = new_room(of, rank), *in = new_room(of, -1), *both = new_room(of, 20 + rank);
    MPI_Request pair[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    // MPICH 5.0.2 sends and receives as if the type had no gaps.
    int replaces = !library_is("MPICH");
    MPI_Datatype passing;
    OK(MPI_Type_dup(of->type, &passing));
    OK(MPI_Isendrecv(address(out, of), of->items, passing, next, 4, address(in, of), of->items, passing, previous,
                     4, MPI_COMM_WORLD, &pair[0]));
    if (replaces)
      OK(MPI_Isendrecv_replace(address(both, of), of->items, passing, next, 5, previous, 5, MPI_COMM_WORLD,
                               &pair[1]));
    OK(MPI_Type_free(&passing));
    OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
    CHECK_LAYOUT(in, of, previous);
    CHECK_LAYOUT(both, of, replaces ? 20 + previous : 20 + rank);
    free(out);
    free(in);
    free(both);
  }
}
#endif

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
      free(out);
      free(in);
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
  free(room);
}

static void to_myself(void) {
  for (int kind = 0; kind < LAYOUTS; ++kind) {
    const layout *of = &kinds[kind], *as = &kinds[(kind + 1) % LAYOUTS];
    int *out = new_room(of, kind), *in = new_room(as, -1);
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Irecv(address(in, as), as->items, as->type, 0, 3, MPI_COMM_SELF, &request));
    OK(MPI_Send(address(out, of), of->items, of->type, 0, 3, MPI_COMM_SELF));
    poison(&status);
    OK(MPI_Wait(&request, &status));
    EQ(0, status.MPI_SOURCE);
    EQ(as->items, count_of(&status, as->type));
    CHECK_LAYOUT(in, as, kind);
    clear_room(in, as->span);
    OK(MPI_Isend(address(out, of), of->items, of->type, rank, 4, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(address(in, as), as->items, as->type, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status));
    EQ(rank, status.MPI_SOURCE);
    CHECK_LAYOUT(in, as, kind);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(out);
    free(in);
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
  OK(MPI_Isend(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Issend(address(room, of), of->items, of->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK_GAPS(room, of);
  free(room);
}

// Both groups send to each other; ranks are those of the other group.
static void between_groups(void) {
  MPI_Comm side, inter;
  if (size < 2) return;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side));
  OK(MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &inter));
  if (rank < 2) {
    const layout *of = &kinds[3], *as = &kinds[1];
    int *out = new_room(of, rank), *in = new_room(as, -1);
    MPI_Status status;
    MPI_Request request;
    OK(MPI_Irecv(address(in, as), as->items, as->type, MPI_ANY_SOURCE, 6, inter, &request));
    OK(MPI_Send(address(out, of), of->items, of->type, 0, 6, inter));
    poison(&status);
    OK(MPI_Wait(&request, &status));
    EQ(0, status.MPI_SOURCE);
    CHECK_LAYOUT(in, as, 1 - rank);
    free(out);
    free(in);
  }
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&side));
}

static MPI_Datatype absolute(const int* room, const layout* of) {
  MPI_Datatype type;
  MPI_Aint where;
  OK(MPI_Get_address(room + of->base, &where));
  OK(MPI_Type_create_hindexed(1, &of->items, &where, of->type, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

// A type of absolute addresses is used with MPI_BOTTOM in every kind of call.
static void from_the_bottom(void) {
  for (int kind = 0; kind < LAYOUTS; ++kind) {
    const layout* of = &kinds[kind];
    int *out = new_room(of, rank), *in = new_room(of, -1);
    MPI_Datatype from = absolute(out, of), into = absolute(in, of);
    MPI_Request request;
    OK(MPI_Irecv(MPI_BOTTOM, 1, into, previous, 7, MPI_COMM_WORLD, &request));
    OK(MPI_Send(MPI_BOTTOM, 1, from, next, 7, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_LAYOUT(in, of, previous);
    clear_room(in, of->span);
    int bytes = 0, position = 0;
    OK(MPI_Pack_size(1, from, MPI_COMM_WORLD, &bytes));
    char* packed = malloc((size_t)bytes);
    OK(MPI_Pack(MPI_BOTTOM, 1, from, packed, bytes, &position, MPI_COMM_WORLD));
    position = 0;
    OK(MPI_Unpack(packed, bytes, &position, MPI_BOTTOM, 1, into, MPI_COMM_WORLD));
    CHECK_LAYOUT(in, of, rank);
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, from, next, 7, MPI_BOTTOM, 1, into, previous, 7, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK_LAYOUT(in, of, previous);
    OK(MPI_Sendrecv_replace(MPI_BOTTOM, 1, from, next, 7, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_LAYOUT(out, of, previous);
    OK(MPI_Type_free(&from));
    OK(MPI_Type_free(&into));
    free(packed);
    free(out);
    free(in);
  }
}

static void of_no_size(void) {
  MPI_Datatype empty, none, hollow;
  MPI_Status status;
  int value = UNTOUCHED, elements = UNTOUCHED;
  OK(MPI_Type_vector(0, 4, 9, MPI_INT, &empty));
  OK(MPI_Type_create_hindexed(2, (const int[]){0, 0}, (const MPI_Aint[]){64, -64}, MPI_DOUBLE, &none));
  OK(MPI_Type_create_resized(none, -8, 32, &hollow));
  OK(MPI_Type_free(&none));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Type_commit(&hollow));
  poison(&status);
  OK(MPI_Sendrecv(&value, 3, empty, next, 1, &value, 5, hollow, previous, 1, MPI_COMM_WORLD, &status));
  EQ(previous, status.MPI_SOURCE);
  EQ(0, count_of(&status, MPI_INT));
  OK(MPI_Get_elements(&status, hollow, &elements));
  EQ(0, elements);
  poison(&status);
  OK(MPI_Sendrecv(&value, 0, kinds[0].type, next, 2, &value, 0, kinds[1].type, previous, 2, MPI_COMM_WORLD,
                  &status));
  CHECK_STATUS(status, previous, 2, 0, kinds[1].type);
  // A message of nothing into a receive of something.
  int* room = new_room(&kinds[0], -1);
  poison(&status);
  OK(MPI_Sendrecv(NULL, 0, kinds[2].type, next, 3, address(room, &kinds[0]), kinds[0].items, kinds[0].type,
                  previous, 3, MPI_COMM_WORLD, &status));
  CHECK_STATUS(status, previous, 3, 0, kinds[0].type);
  CHECK_GAPS(room, &kinds[0]);
  EQ(UNTOUCHED, value);
  free(room);
  OK(MPI_Type_free(&empty));
  OK(MPI_Type_free(&hollow));
}

// A sender's type may name the same data twice.
static void overlapping_source(void) {
  MPI_Datatype twice;
  int out[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3}, in[6] = {0};
  OK(MPI_Type_vector(3, 2, 1, MPI_INT, &twice));
  OK(MPI_Type_commit(&twice));
  OK(MPI_Sendrecv(out, 1, twice, next, 1, in, 6, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int k = 0; k < 6; ++k) EQ(10 * previous + k / 2 + k % 2, in[k]);
  OK(MPI_Type_free(&twice));
}

// What a program, or a tool in it, begins by one name it may end by the other.
static void by_both_names(void) {
  for (int turn = 0; turn < 4; ++turn) {
    const layout* of = &kinds[turn];
    int *out = new_room(of, rank), *in = new_room(of, -1), bytes = 0, position = 0;
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
    clear_room(in, of->span);
    OK(PMPI_Pack_size(of->items, of->type, MPI_COMM_WORLD, &bytes));
    char* packed = malloc((size_t)bytes);
    OK((turn % 2 ? PMPI_Pack : MPI_Pack)(address(out, of), of->items, of->type, packed, bytes, &position,
                                         MPI_COMM_WORLD));
    int end = position;
    position = 0;
    OK((turn % 2 ? MPI_Unpack : PMPI_Unpack)(packed, end, &position, address(in, of), of->items, of->type,
                                             MPI_COMM_WORLD));
    CHECK_LAYOUT(in, of, rank);
    free(packed);
    free(out);
    free(in);
  }
}

int main(void) {
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  for (int n = SMALL; n <= LARGE; n += LARGE - SMALL) {
    for (int i = 0; i < LAYOUTS; ++i) kinds[i] = make_layout(i, n);
    sendrecv();
    sendrecv_half();
    replace();
#ifdef HAVE_MPI4
    nonblocking();
#endif
    modes();
    synchronous();
    to_myself();
    to_nobody();
    between_groups();
    from_the_bottom();
    of_no_size();
    by_both_names();
    for (int i = 0; i < LAYOUTS; ++i) free_layout(&kinds[i]);
  }
  overlapping_source();
  return finish("typed_exchange");
}
