// Transfers of derived datatypes in every way that Open MPI moves them by its convertors, looked at byte by byte:
// what a receiver finds must be the sender's data in packing order, and nothing between may change. The last line
// says what the engine of the packing library moved, where there is one: "engine ON PACKED UNPACKED".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 20, TYPES = 7, GUARD = 0x5a };

static int rank, size;

static void fail(const char* what, int type, long at) {
  printf("rank %d: %s: type %d: wrong at %ld\n", rank, what, type, at);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// ---- types

typedef struct {
  MPI_Datatype type;
  int items;
  long bytes;     // of all items
  char* is_data;  // whether a byte of the memory is in the stream
  int* order;     // where each byte of the stream lies
} typed;

static MPI_Datatype make(int which) {
  MPI_Datatype type, inner;
  int n = 5000;
  int* places = malloc(sizeof(int) * (size_t)n);
  int* lengths = malloc(sizeof(int) * (size_t)n);
  switch (which) {
    case 0:
      MPI_Type_vector(6000, 2, 5, MPI_INT, &type);
      break;
    case 1:  // an odd list
      for (int i = 0; i < n; ++i) {
        places[i] = 7 * ((i * 37) % n);
        lengths[i] = 1 + i % 3;
      }
      MPI_Type_indexed(n, lengths, places, MPI_DOUBLE, &inner);
      MPI_Type_create_resized(inner, -64, 8 * 7 * n + 64, &type);
      MPI_Type_free(&inner);
      break;
    case 2: {  // elements of several sizes, at any place of the stream
      int blocks[3] = {1, 3, 1};
      MPI_Aint offsets[3] = {0, 8, 40};
      MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
      MPI_Type_create_struct(3, blocks, offsets, parts, &inner);
      MPI_Type_create_resized(inner, 0, 56, &type);
      MPI_Type_free(&inner);
      MPI_Type_contiguous(3000, type, &inner);
      MPI_Type_free(&type);
      type = inner;
      break;
    }
    case 3: {
      int sizes[3] = {30, 40, 50}, parts[3] = {29, 17, 13}, starts[3] = {1, 9, 20};
      MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_FLOAT, &type);
      break;
    }
    case 4:  // backwards
      MPI_Type_create_hvector(2000, 3, -72, MPI_LONG, &inner);
      MPI_Type_create_resized(inner, -72 * 1999, 72 * 2000, &type);
      MPI_Type_free(&inner);
      break;
    case 5:
      MPI_Type_vector(300, 33, 70, MPI_C_DOUBLE_COMPLEX, &type);
      break;
    default:
      MPI_Type_vector(3, 1, 2, MPI_BYTE, &type);
  }
  free(places);
  free(lengths);
  MPI_Type_commit(&type);
  return type;
}

// Where the stream's bytes lie, found by packing memory whose bytes say where they are. The type is used three
// times.
static typed describe(int which, int items) {
  typed made = {.type = make(which), .items = items};
  int bytes = 0;
  MPI_Type_size(made.type, &bytes);
  made.bytes = (long)bytes * items;
  made.is_data = calloc(2 * ROOM, 1);
  made.order = calloc((size_t)made.bytes, sizeof(int));
  unsigned char* memory = malloc(2 * ROOM);
  unsigned char* packed = malloc((size_t)made.bytes);
  for (int pass = 0; pass < 3; ++pass) {
    int at = 0;
    for (long i = 0; i < 2 * ROOM; ++i) memory[i] = (unsigned char)(i >> (8 * pass));
    MPI_Pack(memory + ROOM, items, made.type, packed, (int)made.bytes, &at, MPI_COMM_SELF);
    for (long i = 0; i < made.bytes; ++i) made.order[i] |= packed[i] << (8 * pass);
  }
  for (long i = 0; i < made.bytes; ++i) made.is_data[made.order[i]] = 1;
  free(memory);
  free(packed);
  return made;
}

static unsigned char value(long i, int seed) {
  return (unsigned char)(i * 131 + (i >> 8) * 17 + (i >> 16) * 5 + seed * 29);
}

static unsigned char *mine, *theirs;  // 2 * ROOM bytes; items begin in the middle

static void fill(const typed* t, int seed) {
  memset(mine, 0x33, 2 * ROOM);
  memset(theirs, GUARD, 2 * ROOM);
  for (long i = 0; i < t->bytes; ++i) mine[t->order[i]] = value(i, seed);
}

// `theirs` has the first `bytes` of the stream of `seed`, and nothing else.
static void check(const char* what, int which, const typed* t, long bytes, int seed) {
  for (long i = 0; i < t->bytes; ++i) {
    unsigned char expected = i < bytes ? value(i, seed) : GUARD;
    if (theirs[t->order[i]] != expected) fail(what, which, i);
  }
  for (long i = 0; i < 2 * ROOM; ++i)
    if (!t->is_data[i] && theirs[i] != GUARD) fail(what, which, -i);
}

static void* data(unsigned char* memory) {
  return memory + ROOM;
}

// ---- ways

static void messages(int which, const typed* t, int seed) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[2];
  fill(t, seed + rank);
  MPI_Irecv(data(theirs), t->items, t->type, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(data(mine), t->items, t->type, right, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check("messages", which, t, t->bytes, seed + left);
}

// The sender's bytes are plain: they may be cut in the middle of an element.
static void from_plain_bytes(int which, const typed* t, int seed) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  unsigned char* stream = malloc((size_t)t->bytes);
  fill(t, seed);
  for (long i = 0; i < t->bytes; ++i) stream[i] = value(i, seed + rank);
  MPI_Sendrecv(stream, (int)t->bytes, MPI_PACKED, right, 2, data(theirs), t->items, t->type, left, 2,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check("from plain bytes", which, t, t->bytes, seed + left);
  fill(t, seed + rank);
  MPI_Sendrecv(data(mine), t->items, t->type, right, 2, stream, (int)t->bytes, MPI_PACKED, left, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (long i = 0; i < t->bytes; ++i)
    if (stream[i] != value(i, seed + left)) fail("to plain bytes", which, i);
  free(stream);
}

// The receiver has room for more than comes.
static void partial(int which, const typed* t, int seed) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size, bytes = 0;
  int part = (int)(t->bytes / t->items / 3) / 32 * 32;
  MPI_Status status;
  unsigned char* stream = malloc((size_t)t->bytes);
  fill(t, seed);
  for (long i = 0; i < t->bytes; ++i) stream[i] = value(i, seed + rank);
  MPI_Sendrecv(stream, part, MPI_PACKED, right, 3, data(theirs), t->items, t->type, left, 3, MPI_COMM_WORLD,
               &status);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  if (bytes != part) fail("partial: count", which, bytes);
  check("partial", which, t, part, seed + left);
  free(stream);
}

// The type is freed while the message is under way, and its handle may belong to another one at once.
static void freed(int which, int items, int seed) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  typed t = describe(which, items);
  MPI_Request requests[2];
  MPI_Datatype twin;
  MPI_Type_dup(t.type, &twin);
  fill(&t, seed + rank);
  MPI_Irecv(data(theirs), items, t.type, left, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(data(mine), items, twin, right, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&t.type);
  MPI_Type_free(&twin);
  MPI_Datatype others[8];
  for (int i = 0; i < 8; ++i) others[i] = make((which + i) % TYPES);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 8; ++i) MPI_Type_free(&others[i]);
  check("freed", which, &t, t.bytes, seed + left);
  free(t.is_data);
  free(t.order);
}

static void persistent(int which, const typed* t, int seed) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Recv_init(data(theirs), t->items, t->type, left, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(data(mine), t->items, t->type, right, 5, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    fill(t, seed + rank + round);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check("persistent", which, t, t->bytes, seed + left + round);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void buffered(int which, const typed* t, int seed) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int room = (int)t->bytes + 2 * MPI_BSEND_OVERHEAD;
  void* buffer = malloc((size_t)room);
  fill(t, seed + rank);
  MPI_Buffer_attach(buffer, room);
  MPI_Bsend(data(mine), t->items, t->type, right, 6, MPI_COMM_WORLD);
  MPI_Recv(data(theirs), t->items, t->type, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&buffer, &room);
  free(buffer);
  check("buffered", which, t, t->bytes, seed + left);
}

static void collectives(int which, const typed* t, int seed) {
  fill(t, seed);
  if (rank == size - 1) memcpy(theirs, mine, 2 * ROOM);
  MPI_Bcast(data(theirs), t->items, t->type, size - 1, MPI_COMM_WORLD);
  if (rank != size - 1) check("bcast", which, t, t->bytes, seed);
  int places[64];
  MPI_Datatype types[64];
  for (int i = 0; i < size; ++i) {
    places[i] = 0;
    types[i] = t->type;
  }
  int left = (rank + size - 1) % size, sent[64] = {0}, received[64] = {0};
  sent[(rank + 1) % size] = t->items;
  received[left] = t->items;
  for (int blocking = 0; blocking < 2; ++blocking) {
    fill(t, seed + rank);
    if (blocking) {
      MPI_Alltoallw(data(mine), sent, places, types, data(theirs), received, places, types, MPI_COMM_WORLD);
    } else {
      MPI_Request request;
      MPI_Ialltoallw(data(mine), sent, places, types, data(theirs), received, places, types, MPI_COMM_WORLD,
                     &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check("alltoallw", which, t, t->bytes, seed + left);
  }
}

// Windows on all of `mine` and `theirs`, and on the target of sums: made once, because Open MPI 5.0.11 crashes now
// and then after many were made and freed, also without the packing library.
enum { SUMS = 3000 };
static MPI_Win on_mine, on_theirs, on_target;
static int target[2 * SUMS];

static void make_windows(void) {
  MPI_Win_create(mine, 2 * ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &on_mine);
  MPI_Win_create(theirs, 2 * ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &on_theirs);
  MPI_Win_create(target, sizeof target, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &on_target);
}

static void free_windows(void) {
  MPI_Win_free(&on_mine);
  MPI_Win_free(&on_theirs);
  MPI_Win_free(&on_target);
}

static void one_sided(int which, const typed* t, int seed) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  fill(t, seed + rank);
  MPI_Win_fence(0, on_theirs);
  MPI_Put(data(mine), t->items, t->type, right, ROOM, t->items, t->type, on_theirs);
  MPI_Win_fence(0, on_theirs);
  check("put", which, t, t->bytes, seed + left);
  fill(t, seed + rank);
  MPI_Win_fence(0, on_mine);
  MPI_Get(data(theirs), t->items, t->type, right, ROOM, t->items, t->type, on_mine);
  MPI_Win_fence(0, on_mine);
  check("get", which, t, t->bytes, seed + right);
}

// Sums of vectors: a type with one kind of elements.
static void accumulate(void) {
  static int local[2 * SUMS];
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Datatype type;
  MPI_Type_vector(SUMS, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2 * SUMS; ++i) {
      local[i] = i * (rank + 1);
      target[i] = 7;
    }
    MPI_Win_fence(0, on_target);
    MPI_Accumulate(local, 1, type, right, 0, 1, type, MPI_SUM, on_target);
    MPI_Win_fence(0, on_target);
    for (int i = 0; i < 2 * SUMS; ++i)
      if (target[i] != 7 + (i % 2 == 0 ? i * (left + 1) : 0)) fail("accumulate", -1, i);
  }
  MPI_Type_free(&type);
}

// A view of the file and memory that are both strided; then the file's bytes, plain.
static void files(int which, const typed* t, int seed, const char* path) {
  MPI_File file;
  MPI_Datatype view;
  unsigned char* stream = malloc((size_t)t->bytes);
  MPI_Type_vector(1 << 20, 16, 32, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  fill(t, seed + rank);
  MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
  MPI_File_write_at(file, 0, data(mine), t->items, t->type, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 0, data(theirs), t->items, t->type, MPI_STATUS_IGNORE);
  check("file", which, t, t->bytes, seed + rank);
  MPI_File_read_at(file, 0, stream, (int)t->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (long i = 0; i < t->bytes; ++i)
    if (stream[i] != value(i, seed + rank)) fail("file, plain", which, i);
  MPI_File_close(&file);
  MPI_Type_free(&view);
  free(stream);
}

// Several types behind one another in a buffer, with bytes before and behind.
static void packs(const typed* all, int seed) {
  long room = 100;
  for (int i = 0; i < TYPES; ++i) room += all[i].bytes;
  unsigned char* stream = malloc((size_t)room);
  memset(stream, GUARD, (size_t)room);
  int at = 50;
  for (int i = 0; i < TYPES; ++i) {
    fill(&all[i], seed + i);
    MPI_Pack(data(mine), all[i].items, all[i].type, stream, (int)room, &at, MPI_COMM_SELF);
  }
  if (at != room - 50) fail("pack: position", -1, at);
  at = 50;
  long before = 50;
  for (int i = 0; i < TYPES; ++i) {
    for (long k = 0; k < all[i].bytes; ++k)
      if (stream[before + k] != value(k, seed + i)) fail("pack", i, k);
    before += all[i].bytes;
    fill(&all[i], seed);
    MPI_Unpack(stream, (int)room, &at, data(theirs), all[i].items, all[i].type, MPI_COMM_SELF);
    check("unpack", i, &all[i], all[i].bytes, seed + i);
  }
  for (int i = 0; i < 50; ++i)
    if (stream[i] != GUARD || stream[room - 1 - i] != GUARD) fail("pack: guard", -1, i);
  free(stream);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = malloc(2 * ROOM);
  theirs = malloc(2 * ROOM);
  static const int items[TYPES] = {2, 1, 1, 2, 2, 1, 3};
  typed all[TYPES];
  make_windows();
  char path[4096];
  snprintf(path, sizeof path, "%s/file.%d", argv[1], rank);
  for (int i = 0; i < TYPES; ++i) all[i] = describe(i, items[i]);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < TYPES; ++i) {
      int seed = 10 * round + i;
      messages(i, &all[i], seed);
      from_plain_bytes(i, &all[i], seed);
      partial(i, &all[i], seed);
      freed(i, items[i], seed);
      persistent(i, &all[i], seed);
      buffered(i, &all[i], seed);
      collectives(i, &all[i], seed);
      one_sided(i, &all[i], seed);
      files(i, &all[i], seed, path);
    }
    packs(all, round);
    accumulate();
  }
  free_windows();
  for (int i = 0; i < TYPES; ++i) MPI_Type_free(&all[i].type);
  long (*engine)(int) = (long (*)(int))dlsym(RTLD_DEFAULT, "corewise_packing_engine");
  if (engine != NULL) printf("engine %ld %ld %ld\n", engine(0), engine(1), engine(2));
  MPI_Finalize();
  printf("ok transfers\n");
  return 0;
}
