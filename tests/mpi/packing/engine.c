// A server of two ranks that does with datatypes what it is told, over a socket per rank: packs, unpacks, sends,
// receives, and answers with every byte of its buffers and what lay around them. test_differential.py asks
// one that runs under the packing library and one that does not, and compares.
//
// A command is a line of integers, an answer a length (four bytes) and that many bytes. Buffers lie against a page
// that nobody may touch, on one side, so that a read beyond the data ends the program too.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { GUARD = 64, PAGE = 4096, MAX_WORDS = 1 << 16, FAR = 60000, MOST = 16384, SLACK = 1 << 18 };

static int rank;
static FILE* from_test;
static int to_test;
static long words[MAX_WORDS];
static int word_count, at;

static _Noreturn void give_up(const char* why) {
  fprintf(stderr, "engine: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 3);
  _exit(3);
}

static long next_word(void) {
  if (at >= word_count) give_up("a command ended early");
  return words[at++];
}

// ---- answers

static unsigned char answer[1 << 20];
static size_t answered;

static void put(const void* bytes, size_t n) {
  if (answered + n > sizeof answer) give_up("an answer is too long");
  memcpy(answer + answered, bytes, n);
  answered += n;
}

static void put_number(long value) {
  int64_t number = value;
  put(&number, sizeof number);
}

static void put_class(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  put_number(class);
}

static void write_all(const void* bytes, size_t n) {
  for (const char* from = bytes; n > 0;) {
    ssize_t written = write(to_test, from, n);
    if (written <= 0) give_up("nobody listens");
    from += written;
    n -= (size_t)written;
  }
}

static void send_answer(void) {
  uint32_t n = (uint32_t)answered;
  write_all(&n, sizeof n);
  write_all(answer, answered);
  answered = 0;
}

// ---- types

static const MPI_Datatype* basics(void) {
  static MPI_Datatype table[20];
  const MPI_Datatype all[] = {MPI_BYTE,       MPI_CHAR,       MPI_SHORT,    MPI_INT,  MPI_INT64_T,
                              MPI_FLOAT,      MPI_DOUBLE,     MPI_C_BOOL,   MPI_2INT, MPI_C_DOUBLE_COMPLEX,
                              MPI_DOUBLE_INT, MPI_SHORT_INT,  MPI_LONG_INT, MPI_AINT, MPI_FLOAT_INT,
                              MPI_UINT16_T,   MPI_LONG_DOUBLE};
  memcpy(table, all, sizeof all);
  return table;
}

static int large;    // the constructors of large counts
static int refused;  // constructors that failed since a command began
static int pairs;    // pair types among the types since then

static void made(int code) {
  if (code != MPI_SUCCESS) ++refused;
}

static void read_ints(int* to, int n) {
  for (int i = 0; i < n; ++i) to[i] = (int)next_word();
}
static void read_aints(MPI_Aint* to, int n) {
  for (int i = 0; i < n; ++i) to[i] = next_word();
}

static MPI_Datatype read_type(void);

#if MPI_VERSION >= 4
static void widen(MPI_Count* to, const int* from, int n) {
  for (int i = 0; i < n; ++i) to[i] = from[i];
}
#endif

static MPI_Datatype indexed_type(int kind, int n) {
  int *lengths = calloc((size_t)n + 1, sizeof *lengths), *places = calloc((size_t)n + 1, sizeof *places);
  MPI_Aint* bytes = calloc((size_t)n + 1, sizeof *bytes);
  int block = 0;
  if (kind <= 5)
    read_ints(lengths, n);
  else
    block = (int)next_word();
  for (int i = 0; i < n; ++i) {
    bytes[i] = next_word();
    places[i] = (int)bytes[i];
  }
  MPI_Datatype old = read_type(), type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
  if (large) {
    MPI_Count *wide = calloc((size_t)n + 1, sizeof *wide), *far = calloc((size_t)n + 1, sizeof *far);
    widen(wide, lengths, n);
    for (int i = 0; i < n; ++i) far[i] = bytes[i];
    if (kind == 4) made(MPI_Type_indexed_c(n, wide, far, old, &type));
    if (kind == 5) made(MPI_Type_create_hindexed_c(n, wide, far, old, &type));
    if (kind == 6) made(MPI_Type_create_indexed_block_c(n, block, far, old, &type));
    if (kind == 7) made(MPI_Type_create_hindexed_block_c(n, block, far, old, &type));
    free(wide);
    free(far);
  } else
#endif
  {
    if (kind == 4) made(MPI_Type_indexed(n, lengths, places, old, &type));
    if (kind == 5) made(MPI_Type_create_hindexed(n, lengths, bytes, old, &type));
    if (kind == 6) made(MPI_Type_create_indexed_block(n, block, places, old, &type));
    if (kind == 7) made(MPI_Type_create_hindexed_block(n, block, bytes, old, &type));
  }
  MPI_Type_free(&old);
  free(lengths);
  free(places);
  free(bytes);
  return type;
}

static MPI_Datatype struct_type(int n) {
  int* lengths = calloc((size_t)n + 1, sizeof *lengths);
  MPI_Aint* places = calloc((size_t)n + 1, sizeof *places);
  MPI_Datatype *parts = calloc((size_t)n + 1, sizeof *parts), type = MPI_DATATYPE_NULL;
  read_ints(lengths, n);
  read_aints(places, n);
  for (int i = 0; i < n; ++i) parts[i] = read_type();
#if MPI_VERSION >= 4
  if (large) {
    MPI_Count *wide = calloc((size_t)n + 1, sizeof *wide), *far = calloc((size_t)n + 1, sizeof *far);
    widen(wide, lengths, n);
    for (int i = 0; i < n; ++i) far[i] = places[i];
    made(MPI_Type_create_struct_c(n, wide, far, parts, &type));
    free(wide);
    free(far);
  } else
#endif
    made(MPI_Type_create_struct(n, lengths, places, parts, &type));
  for (int i = 0; i < n; ++i) MPI_Type_free(&parts[i]);
  free(lengths);
  free(places);
  free(parts);
  return type;
}

static MPI_Datatype subarray_type(int n) {
  int sizes[8], parts[8], starts[8];
  read_ints(sizes, n);
  read_ints(parts, n);
  read_ints(starts, n);
  int order = next_word() ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
  MPI_Datatype old = read_type(), type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
  if (large) {
    MPI_Count wide[3][8];
    widen(wide[0], sizes, n);
    widen(wide[1], parts, n);
    widen(wide[2], starts, n);
    made(MPI_Type_create_subarray_c(n, wide[0], wide[1], wide[2], order, old, &type));
  } else
#endif
    made(MPI_Type_create_subarray(n, sizes, parts, starts, order, old, &type));
  MPI_Type_free(&old);
  return type;
}

static MPI_Datatype darray_type(int n) {
  static const int kinds[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  int processes = (int)next_word(), mine = (int)next_word(), sizes[8], how[8], arguments[8], grid[8];
  read_ints(sizes, n);
  read_ints(how, n);
  read_ints(arguments, n);
  read_ints(grid, n);
  for (int i = 0; i < n; ++i) {
    how[i] = kinds[how[i]];
    if (arguments[i] < 0) arguments[i] = MPI_DISTRIBUTE_DFLT_DARG;
  }
  int order = next_word() ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
  MPI_Datatype old = read_type(), type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
  if (large) {
    MPI_Count wide[8];
    widen(wide, sizes, n);
    made(MPI_Type_create_darray_c(processes, mine, n, wide, how, arguments, grid, order, old, &type));
  } else
#endif
    made(MPI_Type_create_darray(processes, mine, n, sizes, how, arguments, grid, order, old, &type));
  MPI_Type_free(&old);
  return type;
}

static MPI_Datatype repeated_type(int kind, int n) {
  long block = kind == 1 ? 0 : next_word(), stride = kind == 1 ? 0 : next_word();
  MPI_Datatype old = read_type(), type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
  if (large) {
    if (kind == 1) made(MPI_Type_contiguous_c(n, old, &type));
    if (kind == 2) made(MPI_Type_vector_c(n, block, stride, old, &type));
    if (kind == 3) made(MPI_Type_create_hvector_c(n, block, stride, old, &type));
  } else
#endif
  {
    if (kind == 1) made(MPI_Type_contiguous(n, old, &type));
    if (kind == 2) made(MPI_Type_vector(n, (int)block, (int)stride, old, &type));
    if (kind == 3) made(MPI_Type_create_hvector(n, (int)block, stride, old, &type));
  }
  MPI_Type_free(&old);
  return type;
}

static MPI_Datatype resized_type(void) {
  long lower = next_word(), extent = next_word();
  MPI_Datatype old = read_type(), type = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
  if (large)
    made(MPI_Type_create_resized_c(old, lower, extent, &type));
  else
#endif
    made(MPI_Type_create_resized(old, lower, extent, &type));
  MPI_Type_free(&old);
  return type;
}

static MPI_Datatype read_any_type(void) {
  MPI_Datatype type = MPI_DATATYPE_NULL, old;
  int kind = (int)next_word();
  if (kind == 0) {
    long index = next_word();
    pairs += index == 8 || index == 10 || index == 11 || index == 12 || index == 14;
    MPI_Type_dup(basics()[index], &type);
    return type;
  }
  if (kind == 11) return resized_type();
  if (kind == 12) {
    old = read_type();
    MPI_Type_dup(old, &type);
    MPI_Type_free(&old);
    return type;
  }
  int n = (int)next_word();
  if (kind <= 3) return repeated_type(kind, n);
  if (kind <= 7) return indexed_type(kind, n);
  if (kind == 8) return struct_type(n);
  if (kind == 9) return subarray_type(n);
  return darray_type(n);
}

// A type of its own, to be freed by whoever asked for it; bytes where the library refused to make it.
static MPI_Datatype read_type(void) {
  MPI_Datatype type = read_any_type();
  if (type == MPI_DATATYPE_NULL) MPI_Type_dup(MPI_BYTE, &type);
  return type;
}

// ---- buffers

typedef struct {
  char* region;  // with its fences
  size_t bytes;
  char* data;  // what offset 0 is
  long low, high, before, behind;
} buffer;

static unsigned char pattern(long offset, long seed) {
  return (unsigned char)(offset * 131 + (offset >> 8) * 17 + seed * 29);
}

// Room for offsets [low, high) and GUARD bytes on the sides that are not fenced: fence 0 behind, 1 before, 2 none.
static buffer make_buffer(long low, long high, int fence, long seed) {
  buffer made = {.low = low, .high = high, .before = fence == 1 ? 0 : GUARD, .behind = fence == 0 ? 0 : GUARD};
  size_t room = (size_t)(made.before + (high - low) + made.behind), pages = (room + 2 * PAGE - 1) / PAGE;
  made.bytes = (pages + 2) * PAGE;
  made.region = mmap(NULL, made.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made.region == MAP_FAILED) give_up("no memory");
  char *first = made.region + PAGE, *end = first + pages * PAGE;
  mprotect(first, pages * PAGE, PROT_READ | PROT_WRITE);
  char* begin = fence == 1 ? first : end - made.behind - (high - low);
  made.data = begin - low;
  for (long i = low - made.before; i < high + made.behind; ++i) begin[i - low] = (char)pattern(i, seed);
  return made;
}

static void put_buffer(const buffer* which) {
  put(which->data + which->low - which->before, (size_t)(which->before + which->high - which->low + which->behind));
}

static void free_buffer(buffer* which) {
  munmap(which->region, which->bytes);
}

// ---- a type, its count, and where its data lie

typedef struct {
  MPI_Datatype type;
  int count;
  void* address;
  buffer room;
} items;

// With `bottom`, the same data by absolute addresses.
static items read_items(int fence, int bottom, long seed) {
  items made;
  made.count = (int)next_word();
  long low = next_word(), high = next_word();
  made.room = make_buffer(low, high, fence, seed);
  made.address = made.room.data;
  if (at < word_count && words[at] == -1) {
    ++at;
    made.type = MPI_PACKED;
    return made;
  }
  made.type = read_type();
  if (bottom) {
    MPI_Datatype many;
    MPI_Aint where;
    MPI_Get_address(made.room.data, &where);
    MPI_Type_contiguous(made.count, made.type, &many);
    MPI_Type_free(&made.type);
    MPI_Type_create_hindexed_block(1, 1, &where, many, &made.type);
    MPI_Type_free(&many);
    made.count = 1;
    made.address = MPI_BOTTOM;
  }
  MPI_Type_commit(&made.type);
  return made;
}

static void forget_type(items* which) {
  if (which->type != MPI_PACKED && which->type != MPI_DATATYPE_NULL) MPI_Type_free(&which->type);
}

static void free_items(items* which) {
  forget_type(which);
  free_buffer(&which->room);
}

// ---- commands

// Where each packed byte comes from, found by the MPI's own MPI_Pack: three passes over bytes that say where they
// are.
static void describe(void) {
  int count = (int)next_word(), bytes = 0, position;
  MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  MPI_Datatype type = read_type();
  MPI_Type_commit(&type);
  MPI_Type_size_x(type, &size);
  MPI_Type_get_extent_x(type, &lower, &extent);
  MPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
  long first = true_lower, last = true_lower + true_extent, shift = (count > 0 ? count - 1 : 0) * extent;
  int fits = refused == 0 && size >= 0 && size * count <= MOST && labs(first) < FAR && labs(last) < FAR &&
             labs(shift) < FAR;
  put_number(fits);
  put_number(size);
  put_number(lower);
  put_number(extent);
  put_number(true_lower);
  put_number(true_extent);
  if (fits) {
    char *region = malloc(2 * SLACK), packed[MOST + 64];
    MPI_Pack_size(count, type, MPI_COMM_SELF, &bytes);
    for (int pass = 0; pass < 3; ++pass) {
      for (long i = 0; i < 2 * SLACK; ++i) region[i] = (char)(i >> (8 * pass));
      position = 0;
      MPI_Pack(region + SLACK, count, type, packed, sizeof packed, &position, MPI_COMM_SELF);
      put_number(position);
      put(packed, (size_t)position);
    }
    free(region);
  }
  MPI_Type_free(&type);
}

static int pack(const items* which, void* to, int bytes, int* position) {
#if MPI_VERSION >= 4
  if (large) {
    MPI_Count place = *position;
    int code = MPI_Pack_c(which->address, which->count, which->type, to, bytes, &place, MPI_COMM_SELF);
    *position = (int)place;
    return code;
  }
#endif
  return MPI_Pack(which->address, which->count, which->type, to, bytes, position, MPI_COMM_SELF);
}

static int unpack(const void* from, int bytes, int* position, const items* which) {
#if MPI_VERSION >= 4
  if (large) {
    MPI_Count place = *position;
    int code = MPI_Unpack_c(from, bytes, &place, which->address, which->count, which->type, MPI_COMM_SELF);
    *position = (int)place;
    return code;
  }
#endif
  return MPI_Unpack(from, bytes, position, which->address, which->count, which->type, MPI_COMM_SELF);
}

// Packs and unpacks, at a position, `spare` bytes more than needed behind.
static void pack_and_unpack(void) {
  int fence = (int)next_word(), bottom = (int)next_word(), unpacks = (int)next_word();
  int prefix = (int)next_word(), spare = (int)next_word(), bytes = (int)next_word(), position = prefix;
  items from = read_items(fence, bottom, 1);
  buffer to = make_buffer(0, prefix + bytes + spare, (fence + 1) % 3, 2);
  put_class(pack(&from, to.data, prefix + bytes + spare, &position));
  put_number(position);
  put_buffer(&to);
  put_buffer(&from.room);
  if (unpacks) {
    for (long i = 0; i < to.high; ++i) to.data[i] = (char)pattern(i, 3);
    position = prefix;
    put_class(unpack(to.data, prefix + bytes + spare, &position, &from));
    put_number(position);
    put_buffer(&from.room);
    put_buffer(&to);
  }
  free_items(&from);
  free_buffer(&to);
}

static int send_by(int way, items* what) {
  MPI_Request request = MPI_REQUEST_NULL;
  const void* data = what->address;
  int code = MPI_SUCCESS, flag = 0, tag = 5;
  MPI_Comm world = MPI_COMM_WORLD;
  switch (way) {
    case 0:
      return MPI_Send(data, what->count, what->type, 1, tag, world);
    case 1:
      return MPI_Ssend(data, what->count, what->type, 1, tag, world);
    case 2:
      code = MPI_Isend(data, what->count, what->type, 1, tag, world, &request);
      break;
    case 3:
      return MPI_Bsend(data, what->count, what->type, 1, tag, world);
    case 4:
      code = MPI_Send_init(data, what->count, what->type, 1, tag, world, &request);
      forget_type(what);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return code;
    case 5:
      code = MPI_Issend(data, what->count, what->type, 1, tag, world, &request);
      while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      return code;
    case 6:
      return MPI_Sendrecv(data, what->count, what->type, 1, tag, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, world,
                          MPI_STATUS_IGNORE);
    default:
#if MPI_VERSION >= 4
      return MPI_Send_c(data, what->count, what->type, 1, tag, world);
#else
      code = MPI_Ibsend(data, what->count, what->type, 1, tag, world, &request);
#endif
  }
  forget_type(what);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code;
}

static int receive_by(int way, items* what, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  int code = MPI_SUCCESS, flag = 0, index = 0, tag = 5;
  MPI_Comm world = MPI_COMM_WORLD;
  switch (way) {
    case 0:
      return MPI_Recv(what->address, what->count, what->type, 0, tag, world, status);
    case 1:
      MPI_Irecv(what->address, what->count, what->type, 0, tag, world, &request);
      forget_type(what);
      return MPI_Wait(&request, status);
    case 2:
      MPI_Irecv(what->address, what->count, what->type, MPI_ANY_SOURCE, tag, world, &request);
      while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, status);
      return code;
    case 3:
      MPI_Mprobe(0, MPI_ANY_TAG, world, &message, status);
      return MPI_Mrecv(what->address, what->count, what->type, &message, status);
    case 4:
      MPI_Recv_init(what->address, what->count, what->type, 0, MPI_ANY_TAG, world, &request);
      forget_type(what);
      MPI_Start(&request);
      code = MPI_Wait(&request, status);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
      return code;
    case 5:
      MPI_Irecv(what->address, what->count, what->type, 0, tag, world, &request);
      code = MPI_Waitall(1, &request, status);
      return code == MPI_ERR_IN_STATUS ? status->MPI_ERROR : code;
    case 6:
      while (!flag) MPI_Improbe(0, tag, world, &flag, &message, MPI_STATUS_IGNORE);
      MPI_Imrecv(what->address, what->count, what->type, &message, &request);
      forget_type(what);
      code = MPI_Waitsome(1, &request, &flag, &index, status);
      return code == MPI_ERR_IN_STATUS ? status->MPI_ERROR : code;
    case 7:
      return MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, what->address, what->count, what->type, 0, tag, world,
                          status);
    default:
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, status);
#if MPI_VERSION >= 4
      return MPI_Recv_c(what->address, what->count, what->type, 0, tag, world, status);
#else
      return MPI_Recv(what->address, what->count, what->type, status->MPI_SOURCE, status->MPI_TAG, world, status);
#endif
  }
}

// MPICH 5.0.2 divides by zero in MPI_Get_elements of a type that is made of pairs.
static void put_status(const MPI_Status* status, MPI_Datatype type) {
  int count = -7, elements = -7, bytes = -7;
  put_number(status->MPI_SOURCE);
  put_number(status->MPI_TAG);
  if (type != MPI_DATATYPE_NULL) {
    MPI_Get_count(status, type, &count);
    if (pairs == 0) MPI_Get_elements(status, type, &elements);
  }
  MPI_Get_count(status, MPI_BYTE, &bytes);
  put_number(count);
  put_number(elements);
  put_number(bytes);
}

// Rank 0 sends its items, rank 1 receives into its own. The receiver's type is read again for the status, because
// some ways free it before the data arrive.
static void message(void) {
  int fence = (int)next_word(), bottom = (int)next_word(), sending = (int)next_word(), receiving = (int)next_word();
  items mine = read_items(fence, bottom, rank == 0 ? 4 : 5);
  if (rank == 0) {
    put_class(send_by(sending, &mine));
    put_buffer(&mine.room);
  } else {
    MPI_Status status;
    MPI_Datatype kept = MPI_PACKED;
    if (mine.type != MPI_PACKED) MPI_Type_dup(mine.type, &kept);
    int code = receive_by(receiving, &mine, &status);
    put_class(code);
    if (code == MPI_SUCCESS) put_status(&status, kept);
    put_buffer(&mine.room);
    if (kept != MPI_PACKED) MPI_Type_free(&kept);
  }
  free_items(&mine);
}

// Both ranks exchange what they have.
static void replace(void) {
  int fence = (int)next_word(), bottom = (int)next_word();
  items mine = read_items(fence, bottom, 6 + rank);
  MPI_Status status;
  put_class(
      MPI_Sendrecv_replace(mine.address, mine.count, mine.type, 1 - rank, 5, 1 - rank, 5, MPI_COMM_WORLD, &status));
  put_status(&status, mine.type);
  put_buffer(&mine.room);
  free_items(&mine);
}

static int read_command(void) {
  static char line[1 << 20];
  if (fgets(line, sizeof line, from_test) == NULL) return 0;
  word_count = at = 0;
  for (char *text = line, *end; word_count < MAX_WORDS; text = end) {
    words[word_count] = strtol(text, &end, 10);
    if (end == text) break;
    ++word_count;
  }
  return word_count > 0;
}

static void connect_to(const char* path) {
  struct sockaddr_un where = {.sun_family = AF_UNIX};
  strncpy(where.sun_path, path, sizeof where.sun_path - 1);
  to_test = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(to_test, (struct sockaddr*)&where, sizeof where) != 0) give_up("no socket to connect to");
  from_test = fdopen(dup(to_test), "r");
  put_number(rank);
  send_answer();
}

int main(int argc, char** argv) {
  static char attached[1 << 20];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(attached, sizeof attached);
  connect_to(argv[1]);
  while (read_command()) {
    int what = (int)next_word();
    large = (int)next_word();
    refused = pairs = 0;
    if (what == 0) describe();
    if (what == 1) pack_and_unpack();
    if (what == 2) message();
    if (what == 3) replace();
    send_answer();
  }
  MPI_Finalize();
  return 0;
}
