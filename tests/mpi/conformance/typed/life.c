// The life of types: what the program's own attributes and callbacks see, types made of freed types and of
// contents; many threads that use, make and free types at once; messages from the callbacks of MPI_Finalize.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include "typed/typed.h"

enum { THREADS = 4 };
static int next, previous, provided;

static void exchange(const layout* of, MPI_Datatype type, int tag, int seed) {
  int *out = new_room(of, seed + rank), *in = new_room(of, -1);
  MPI_Request pair[2];
  OK(MPI_Irecv(address(in, of), of->items, type, previous, tag, MPI_COMM_WORLD, &pair[0]));
  OK(MPI_Isend(address(out, of), of->items, type, next, tag, MPI_COMM_WORLD, &pair[1]));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  CHECK_LAYOUT(in, of, seed + previous);
}

static void through_packing(const layout* of, MPI_Datatype type, int seed) {
  int *out = new_room(of, seed), *in = new_room(of, -1), bytes = 0, position = 0;
  OK(MPI_Pack_size(of->items, type, MPI_COMM_WORLD, &bytes));
  char* packed = malloc((size_t)bytes);
  OK(MPI_Pack(address(out, of), of->items, type, packed, bytes, &position, MPI_COMM_WORLD));
  EQ(of->n * (int)sizeof(int), position);
  position = 0;
  OK(MPI_Unpack(packed, bytes, &position, address(in, of), of->items, type, MPI_COMM_WORLD));
  CHECK_LAYOUT(in, of, seed);
  free(packed);
}

static int copies, deletions, last_deleted;
static int copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  ++copies;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int forget(MPI_Datatype type, int key, void* value, void* extra) {
  ++deletions;
  last_deleted = *(int*)value;
  return MPI_SUCCESS;
}
static int refuse_copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  *flag = 0;
  return MPI_ERR_OTHER;
}

// The program's attributes live and die with the type, as often as without the use in between.
static void attributes(void) {
  layout of = make_layout(0, SMALL);
  int key, flag = 0, marks[2] = {1, 2};
  int* found = NULL;
  MPI_Datatype twin;
  OK(MPI_Type_create_keyval(copy, forget, &key, NULL));
  OK(MPI_Type_set_attr(of.type, key, &marks[0]));
  exchange(&of, of.type, 1, 3);
  OK(MPI_Type_dup(of.type, &twin));
  EQ(1, copies);
  OK(MPI_Type_get_attr(twin, key, &found, &flag));
  CHECK(flag && found == &marks[0]);
  OK(MPI_Type_set_attr(twin, key, &marks[1]));
  EQ(1, deletions);
  through_packing(&of, twin, 4);
  exchange(&of, twin, 1, 5);
  OK(MPI_Type_free(&of.type));
  // The twin may keep the first one alive.
  SEEN("attributes deleted by MPI_Type_free of a type that has a twin: %d", deletions - 1);
  through_packing(&of, twin, 6);
  exchange(&of, twin, 1, 7);
  int before = deletions;
  OK(MPI_Type_delete_attr(twin, key));
  EQ(before + 1, deletions);
  EQ(2, last_deleted);
  exchange(&of, twin, 1, 8);
  OK(MPI_Type_free(&twin));
  EQ(3, deletions);
  EQ(1, copies);
  OK(MPI_Type_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
}

// A copy callback that fails makes no type, and leaves the first one as it was.
static void copy_that_fails(void) {
  layout of = make_layout(1, SMALL);
  int key;
  MPI_Datatype twin = MPI_DATATYPE_NULL;
  MPI_Errhandler before;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  exchange(&of, of.type, 2, 1);
  OK(MPI_Type_create_keyval(refuse_copy, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Type_set_attr(of.type, key, &of));
  CHECK(MPI_Type_dup(of.type, &twin) != MPI_SUCCESS);
  exchange(&of, of.type, 2, 2);
  through_packing(&of, of.type, 3);
  OK(MPI_Type_free_keyval(&key));
  free_layout(&of);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
  OK(MPI_Errhandler_free(&before));
}

// Parts are freed before the whole is used; a type rebuilt from what MPI_Type_get_contents says is the same type.
static void made_of_freed_types(void) {
  for (int kind = 0; kind < LAYOUTS; ++kind) {
    layout inner = make_layout(kind, SMALL), whole = inner;
    MPI_Datatype parts[1] = {MPI_DATATYPE_NULL};
    int lengths[2];
    MPI_Aint places[1];
    OK(MPI_Type_create_struct(1, &inner.items, (const MPI_Aint[]){0}, &inner.type, &whole.type));
    through_packing(&inner, inner.type, 1);
    free_layout(&inner);
    OK(MPI_Type_commit(&whole.type));
    OK(MPI_Type_commit(&whole.type));
    whole.items = 1;
    exchange(&whole, whole.type, 4, kind);
    OK(MPI_Type_get_contents(whole.type, 2, 1, 1, lengths, places, parts));
    whole.items = lengths[1];
    OK(MPI_Type_commit(&parts[0]));
    exchange(&whole, parts[0], 4, 10 + kind);
    OK(MPI_Type_free(&parts[0]));
    whole.items = 1;
    through_packing(&whole, whole.type, 20 + kind);
    free_layout(&whole);
  }
}

// A message without gaps: its requests have handles that those of others had.
static void exchange_ints(int tag, int seed) {
  int out[SMALL], in[SMALL];
  MPI_Request pair[2];
  for (int k = 0; k < SMALL; ++k) out[k] = value_of(seed + rank, k);
  memset(in, 0, sizeof in);
  OK(MPI_Irecv(in, SMALL, MPI_INT, previous, tag, MPI_COMM_WORLD, &pair[0]));
  OK(MPI_Isend(out, SMALL, MPI_INT, next, tag, MPI_COMM_WORLD, &pair[1]));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  for (int k = 0; k < SMALL; ++k) EQ(value_of(seed + previous, k), in[k]);
}

// All threads meet a type that has not been used before, and use it at once; each makes and frees others meanwhile.
static layout shared[LAYOUTS];
static pthread_barrier_t together;

static void* many_types(void* argument) {
  int id = *(int*)argument;
  for (int round = 0; round < 20 * LAYOUTS; ++round) {
    const layout* of = &shared[round % LAYOUTS];
    if (round < 2 * LAYOUTS) pthread_barrier_wait(&together);
    exchange(of, of->type, 50 + id, round * 7 + id);
    exchange_ints(50 + id, round * 9 + id);
    through_packing(of, of->type, id);
    layout own = make_layout((id + round) % LAYOUTS, 24);
    exchange(&own, own.type, 50 + id, round);
    free_layout(&own);
  }
  return NULL;
}

static void threads(void) {
  pthread_t running[THREADS];
  int ids[THREADS];
  if (provided < MPI_THREAD_MULTIPLE) return;
  for (int i = 0; i < LAYOUTS; ++i) shared[i] = make_layout(i, 120);
  EQ(0, pthread_barrier_init(&together, NULL, THREADS));
  for (int i = 0; i < THREADS; ++i) {
    ids[i] = i;
    EQ(0, pthread_create(&running[i], NULL, many_types, &ids[i]));
  }
  for (int i = 0; i < THREADS; ++i) EQ(0, pthread_join(running[i], NULL));
  EQ(0, pthread_barrier_destroy(&together));
  for (int i = 0; i < LAYOUTS; ++i) free_layout(&shared[i]);
}

// MPI_Finalize first deletes the attributes of MPI_COMM_SELF, while MPI still works (MPI-4.1, 11.2.4).
static layout last;
static int finalizing;
static int at_the_end(MPI_Comm where, int key, void* value, void* extra) {
  int *out = new_room(&last, 1), *in = new_room(&last, -1);
  MPI_Request request;
  OK(MPI_Isend(address(out, &last), last.items, last.type, 0, 1, where, &request));
  OK(MPI_Recv(address(in, &last), last.items, last.type, 0, 1, where, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_LAYOUT(in, &last, 1);
  layout fresh = make_layout(3, SMALL);
  through_packing(&fresh, fresh.type, 2);
  free_layout(&fresh);
  free_layout(&last);
  ++finalizing;
  return MPI_SUCCESS;
}

int main(void) {
  int key;
  layout kept;
  OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  know_world();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  attributes();
  copy_that_fails();
  made_of_freed_types();
  threads();
  last = make_layout(1, SMALL);
  kept = make_layout(4, SMALL);  // never freed
  exchange(&kept, kept.type, 7, 1);
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  EQ(1, finalizing);
  say_ok("typed_life");
  return 0;
}
