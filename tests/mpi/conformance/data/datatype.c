// Datatypes: what each constructor selects, sent and received, packed and unpacked; negative strides, absolute
// addresses with MPI_BOTTOM, types of no size, types freed while a message that uses them is under way, and what
// MPI tells of them.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include <stddef.h>

#include "check.h"

enum { N = 60 };
static int next, previous;
static int source[N], target[N];

static MPI_Datatype commit(MPI_Datatype type) {
  OK(MPI_Type_commit(&type));
  return type;
}

static void release(MPI_Datatype* type) {
  OK(MPI_Type_free(type));
  CHECK(*type == MPI_DATATYPE_NULL);
}

// Sends `count` of `type` starting at source[at] and expects target to change at `chosen` alone, in that very
// order; then the same through pack and unpack.
static void selects(MPI_Datatype type, int count, int at, const int* chosen, int n) {
  int packed[N], position = 0, bytes = UNTOUCHED, type_bytes = -1;
  MPI_Request request;
  for (int i = 0; i < N; ++i) {
    source[i] = 1000 * rank + i;
    target[i] = UNTOUCHED;
  }
  OK(MPI_Type_size(type, &type_bytes));
  EQ(n * (int)sizeof(int), count * type_bytes);
  OK(MPI_Isend(source + at, count, type, next, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Recv(packed, N, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) EQ(1000 * previous + chosen[i], packed[i]);
  OK(MPI_Isend(packed, n, MPI_INT, rank, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Recv(target + at, count, type, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < N; ++i) {
    int hit = 0;
    for (int k = 0; k < n; ++k) hit |= chosen[k] == i;
    EQ(hit ? 1000 * previous + i : UNTOUCHED, target[i]);
  }
  OK(MPI_Pack_size(count, type, MPI_COMM_WORLD, &bytes));
  CHECK(bytes >= n * (int)sizeof(int));
  char* room = malloc((size_t)bytes + 16);
  OK(MPI_Pack(source + at, count, type, room, bytes, &position, MPI_COMM_WORLD));
  CHECK(position >= n * (int)sizeof(int) && position <= bytes);
  int end = position;
  position = 0;
  memset(target, 0, sizeof target);
  OK(MPI_Unpack(room, end, &position, target + at, count, type, MPI_COMM_WORLD));
  EQ(end, position);
  for (int k = 0; k < n; ++k) EQ(1000 * rank + chosen[k], target[chosen[k]]);
  free(room);
}

static void check_extent(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Aint found_lower = UNTOUCHED, found = UNTOUCHED;
  OK(MPI_Type_get_extent(type, &found_lower, &found));
  EQ(lower, found_lower);
  EQ(extent, found);
}

static void vectors(void) {
  MPI_Datatype type;
  enum { I = sizeof(int) };
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
  selects(commit(type), 1, 4, (const int[]){4, 5, 9, 10, 14, 15}, 6);
  check_extent(type, 0, 12 * I);
  selects(type, 2, 0, (const int[]){0, 1, 5, 6, 10, 11, 12, 13, 17, 18, 22, 23}, 12);
  release(&type);
  OK(MPI_Type_vector(3, 1, -4, MPI_INT, &type));
  selects(commit(type), 1, 20, (const int[]){20, 16, 12}, 3);
  check_extent(type, -8 * I, 9 * I);
  release(&type);
  OK(MPI_Type_create_hvector(2, 3, 7 * I, MPI_INT, &type));
  selects(commit(type), 1, 1, (const int[]){1, 2, 3, 8, 9, 10}, 6);
  release(&type);
  OK(MPI_Type_contiguous(4, MPI_INT, &type));
  selects(commit(type), 2, 3, (const int[]){3, 4, 5, 6, 7, 8, 9, 10}, 8);
  release(&type);
}

static void indexed(void) {
  MPI_Datatype type;
  enum { I = sizeof(int) };
  static const int lengths[] = {1, 0, 2}, places[] = {7, 3, 1};
  static const MPI_Aint byte_places[] = {7 * I, 3 * I, 1 * I};
  OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &type));
  selects(commit(type), 1, 10, (const int[]){17, 11, 12}, 3);
  release(&type);
  OK(MPI_Type_create_hindexed(3, lengths, byte_places, MPI_INT, &type));
  selects(commit(type), 1, 10, (const int[]){17, 11, 12}, 3);
  release(&type);
  OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type));
  selects(commit(type), 1, 0, (const int[]){7, 8, 3, 4, 1, 2}, 6);
  release(&type);
  OK(MPI_Type_create_hindexed_block(2, 1, byte_places, MPI_INT, &type));
  selects(commit(type), 1, 0, (const int[]){7, 3}, 2);
  release(&type);
}

static void subarrays(void) {
  MPI_Datatype type, row, resized;
  OK(MPI_Type_create_subarray(2, (const int[]){5, 8}, (const int[]){2, 3}, (const int[]){1, 4}, MPI_ORDER_C,
                              MPI_INT, &type));
  selects(commit(type), 1, 0, (const int[]){12, 13, 14, 20, 21, 22}, 6);
  check_extent(type, 0, 40 * (MPI_Aint)sizeof(int));
  release(&type);
  OK(MPI_Type_create_subarray(2, (const int[]){8, 5}, (const int[]){3, 2}, (const int[]){4, 1}, MPI_ORDER_FORTRAN,
                              MPI_INT, &type));
  selects(commit(type), 1, 0, (const int[]){12, 13, 14, 20, 21, 22}, 6);
  release(&type);
  // Columns of a 6 x 4 array, one after the other, thanks to the extent of one element.
  OK(MPI_Type_vector(6, 1, 4, MPI_INT, &row));
  OK(MPI_Type_create_resized(row, 0, sizeof(int), &resized));
  OK(MPI_Type_free(&row));
  selects(commit(resized), 2, 0, (const int[]){0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21}, 12);
  release(&resized);
  MPI_Datatype block;
  OK(MPI_Type_create_darray(2, 0, 1, (const int[]){12}, (const int[]){MPI_DISTRIBUTE_CYCLIC}, (const int[]){2},
                            (const int[]){2}, MPI_ORDER_C, MPI_INT, &block));
  selects(commit(block), 1, 0, (const int[]){0, 1, 4, 5, 8, 9}, 6);
  release(&block);
}

typedef struct {
  char tag;
  double weight;
  int parts[3];
} record;

static void structures(void) {
  const MPI_Aint places[] = {offsetof(record, tag), offsetof(record, weight), offsetof(record, parts)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Datatype bare, type;
  MPI_Request request;
  MPI_Status status;
  record out[3], in[3];
  int elements = -1, bytes = -1;
  OK(MPI_Type_create_struct(3, (const int[]){1, 1, 3}, places, types, &bare));
  OK(MPI_Type_create_resized(bare, 0, sizeof(record), &type));
  OK(MPI_Type_free(&bare));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_size(type, &bytes));
  EQ(1 + 8 + 12, bytes);
  memset(in, 0x7f, sizeof in);
  for (int i = 0; i < 3; ++i) out[i] = (record){(char)('a' + i), 0.5 * i + rank, {i, i + 1, i + 2}};
  OK(MPI_Isend(out, 2, type, next, 1, MPI_COMM_WORLD, &request));
  poison(&status);
  OK(MPI_Recv(in, 3, type, previous, 1, MPI_COMM_WORLD, &status));
  CHECK_STATUS(status, previous, 1, 2, type);
  OK(MPI_Get_elements(&status, type, &elements));
  EQ(10, elements);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; ++i) {
    EQ('a' + i, in[i].tag);
    CHECK(in[i].weight == 0.5 * i + previous);
    EQ(i + 2, in[i].parts[2]);
  }
  EQ(0x7f, in[2].tag);
  EQ(0x7f, *((char*)&in[0].tag + 1));
  release(&type);
}

static void absolute_addresses(void) {
  static int first = 1, second;
  static double third = 2.5;
  int in = -1, also = -1;
  double weight = -1;
  MPI_Aint here[3], there[3];
  const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_DOUBLE};
  MPI_Datatype from, to;
  second = rank;
  OK(MPI_Get_address(&first, &here[0]));
  OK(MPI_Get_address(&second, &here[1]));
  OK(MPI_Get_address(&third, &here[2]));
  OK(MPI_Get_address(&in, &there[0]));
  OK(MPI_Get_address(&also, &there[1]));
  OK(MPI_Get_address(&weight, &there[2]));
  EQ((char*)&second - (char*)&first, MPI_Aint_diff(here[1], here[0]));
  EQ(here[1], MPI_Aint_add(here[0], MPI_Aint_diff(here[1], here[0])));
  OK(MPI_Type_create_struct(3, (const int[]){1, 1, 1}, here, types, &from));
  OK(MPI_Type_create_struct(3, (const int[]){1, 1, 1}, there, types, &to));
  OK(MPI_Type_commit(&from));
  OK(MPI_Type_commit(&to));
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, from, next, 1, MPI_BOTTOM, 1, to, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(1, in);
  EQ(previous, also);
  CHECK(weight == 2.5);
  in = also = -1;
  if (rank == 0)
    OK(MPI_Bcast(MPI_BOTTOM, 1, from, 0, MPI_COMM_WORLD));
  else {
    OK(MPI_Bcast(MPI_BOTTOM, 1, to, 0, MPI_COMM_WORLD));
    EQ(0, also);
  }
  release(&from);
  release(&to);
}

static void freed_while_in_use(void) {
  enum { M = 30000 };
  static int out[2 * M], in[2 * M];
  MPI_Datatype sending, receiving;
  MPI_Request requests[2];
  for (int i = 0; i < 2 * M; ++i) {
    out[i] = i + rank;
    in[i] = UNTOUCHED;
  }
  OK(MPI_Type_vector(M, 1, 2, MPI_INT, &sending));
  OK(MPI_Type_commit(&sending));
  OK(MPI_Type_dup(sending, &receiving));
  OK(MPI_Irecv(in, 1, receiving, previous, 1, MPI_COMM_WORLD, &requests[0]));
  release(&receiving);
  OK(MPI_Isend(out, 1, sending, next, 1, MPI_COMM_WORLD, &requests[1]));
  release(&sending);
  // Another type that may take over the freed handle.
  OK(MPI_Type_contiguous(3, MPI_DOUBLE, &sending));
  OK(MPI_Type_commit(&sending));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * M; ++i) EQ(i % 2 ? UNTOUCHED : i + previous, in[i]);
  release(&sending);
}

static void freed_under_persistent(void) {
  MPI_Datatype type;
  MPI_Request requests[2];
  int in[4], out[4] = {rank, -1, rank + 1, -1};
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Recv_init(in, 1, type, previous, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send_init(out, 1, type, next, 1, MPI_COMM_WORLD, &requests[1]));
  release(&type);
  for (int i = 0; i < 3; ++i) {
    memset(in, 0, sizeof in);
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    EQ(previous, in[0]);
    EQ(previous + 1, in[2]);
    EQ(0, in[1]);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&requests[i]));
}

static void of_no_size(void) {
  MPI_Datatype empty, none;
  MPI_Status status;
  int bytes = -1, count = -1;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &none));
  OK(MPI_Type_commit(&none));
  OK(MPI_Type_size(empty, &bytes));
  EQ(0, bytes);
  poison(&status);
  OK(MPI_Sendrecv(NULL, 5, empty, next, 1, NULL, 2, none, previous, 1, MPI_COMM_WORLD, &status));
  EQ(previous, status.MPI_SOURCE);
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  EQ(0, count);
  release(&empty);
  release(&none);
}

static void envelope_and_contents(void) {
  MPI_Datatype type, inner[1];
  int integers = 0, addresses = 0, types = 0, combiner = 0, values[3];
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
  OK(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  EQ(MPI_COMBINER_VECTOR, combiner);
  EQ(3, integers);
  EQ(0, addresses);
  EQ(1, types);
  MPI_Aint none[1];
  OK(MPI_Type_get_contents(type, 3, 0, 1, values, none, inner));
  EQ(3, values[0]);
  EQ(2, values[1]);
  EQ(5, values[2]);
  CHECK(inner[0] == MPI_INT);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_get_envelope(MPI_DOUBLE, &integers, &addresses, &types, &combiner));
  EQ(MPI_COMBINER_NAMED, combiner);
}

static int copied, deleted;
static int copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra;
  ++copied;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_it(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

static void names_and_attributes(void) {
  MPI_Datatype type, twin;
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0, key, found = 0;
  void* value = NULL;
  OK(MPI_Type_get_name(MPI_INT, name, &length));
  SAME_TEXT("MPI_INT", name);
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_set_name(type, "pair"));
  OK(MPI_Type_create_keyval(copy, delete_it, &key, NULL));
  OK(MPI_Type_set_attr(type, key, &key));
  OK(MPI_Type_dup(type, &twin));
  EQ(1, copied);
  OK(MPI_Type_get_attr(twin, key, &value, &found));
  CHECK(found && value == &key);
  OK(MPI_Type_get_name(type, name, &length));
  SAME_TEXT("pair", name);
  OK(MPI_Type_free(&twin));
  OK(MPI_Type_free(&type));
  EQ(2, deleted);
  OK(MPI_Type_free_keyval(&key));
}

static void external_and_packed_messages(void) {
  char room[64], other[64];
  MPI_Aint size_external = 0, place = 0;
  int value = 0x01020304, position = 0, got = 0;
  double weight = 0.25, back = 0;
  OK(MPI_Pack_external_size("external32", 1, MPI_INT, &size_external));
  EQ(4, size_external);
  OK(MPI_Pack_external("external32", &value, 1, MPI_INT, room, sizeof room, &place));
  EQ(4, place);
  for (int i = 0; i < 4; ++i) EQ(i + 1, room[i]);
  place = 0;
  OK(MPI_Unpack_external("external32", room, 4, &place, &got, 1, MPI_INT));
  EQ(value, got);
  OK(MPI_Pack(&rank, 1, MPI_INT, room, sizeof room, &position, MPI_COMM_WORLD));
  OK(MPI_Pack(&weight, 1, MPI_DOUBLE, room, sizeof room, &position, MPI_COMM_WORLD));
  OK(MPI_Sendrecv(room, position, MPI_PACKED, next, 1, other, sizeof other, MPI_PACKED, previous, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  int end = position;
  position = 0;
  OK(MPI_Unpack(other, end, &position, &got, 1, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Unpack(other, end, &position, &back, 1, MPI_DOUBLE, MPI_COMM_WORLD));
  EQ(previous, got);
  CHECK(back == 0.25);
}

int main(void) {
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  vectors();
  indexed();
  subarrays();
  structures();
  absolute_addresses();
  freed_while_in_use();
  freed_under_persistent();
  of_no_size();
  envelope_and_contents();
  names_and_attributes();
  external_and_packed_messages();
  return finish("datatype");
}
