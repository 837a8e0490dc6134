// Two ranks that send, receive and pack strided data, section by section, and look at every int that came. Run over
// shim.c, which counts what reaches the MPI. Words: the sections that are to be run.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 64, BLOCK = 4, STRIDE = 10, ROOM = BLOCKS * STRIDE, INTS = BLOCKS * BLOCK, TIMES = 8 };
enum { MANY = 20000, FEW = 1000, PLACES = 512 };

static int rank, other, value;
static int here[ROOM], there[ROOM], line[INTS];
static const MPI_Comm world = MPI_COMM_WORLD;

static void check(int good, int at) {
  if (good) return;
  printf("rank %d finds another value at %d\n", rank, at);
  fflush(stdout);
  MPI_Abort(world, 1);
}

// Every message has other values.
static void fill(void) {
  ++value;
  for (int i = 0; i < ROOM; ++i) here[i] = 100000 * rank + 1000 * value + i;
  memset(there, 0, sizeof there);
}
static void check_from(int from) {
  for (int i = 0; i < ROOM; ++i) check(there[i] == (i % STRIDE < BLOCK ? 100000 * from + 1000 * value + i : 0), i);
}

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static MPI_Datatype strided(int blocks, int block, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(blocks, block, stride, MPI_INT, &type);
  return committed(type);
}

// ---- what a section does TIMES times with a type

static void blocking(MPI_Datatype type) {
  if (rank == 0) MPI_Send(here, 1, type, 1, 1, world);
  if (rank == 1) MPI_Recv(there, 1, type, 0, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
  if (rank == 1) check_from(0);
}

static void posted(MPI_Datatype type) {
  MPI_Request requests[2];
  MPI_Irecv(there, 1, type, other, 1, world, &requests[0]);
  MPI_Isend(here, 1, type, other, 1, world, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check_from(other);
}

static void persistent(MPI_Datatype type) {
  static MPI_Request requests[2];
  if (value == 1) MPI_Recv_init(there, 1, type, other, 2, world, &requests[0]);
  if (value == 1) MPI_Send_init(here, 1, type, other, 2, world, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check_from(other);
  for (int i = 0; value == TIMES && i < 2; ++i) MPI_Request_free(&requests[i]);
}

static void exchanges(MPI_Datatype type) {
  MPI_Sendrecv(here, 1, type, other, 3, there, 1, type, other, 3, world, MPI_STATUS_IGNORE);
  check_from(other);
  MPI_Sendrecv_replace(there, 1, type, other, 4, other, 4, world, MPI_STATUS_IGNORE);
  check_from(rank);
}

static void packs(MPI_Datatype type) {
  int position = 0;
  MPI_Pack(here, 1, type, line, sizeof line, &position, world);
  check(position == sizeof line, -1);
  position = 0;
  MPI_Unpack(line, sizeof line, &position, there, 1, type, world);
  check_from(rank);
}

// A derived type in one run and a predefined one.
static void contiguous(MPI_Datatype type) {
  MPI_Datatype flat;
  MPI_Type_contiguous(ROOM, MPI_INT, &flat);
  flat = committed(flat);
  if (rank == 0) MPI_Send(here, 1, flat, 1, 5, world);
  if (rank == 0) MPI_Send(here, ROOM, MPI_INT, 1, 5, world);
  for (int k = 0; rank == 1 && k < 2; ++k) {
    MPI_Recv(there, 1, flat, 0, 5, world, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROOM; ++i) check(there[i] == 1000 * value + i, i);
  }
  MPI_Type_free(&flat);
}

// A struct of hindexed types, all by absolute addresses: the even blocks and the odd ones.
static MPI_Datatype absolute(int* room) {
  MPI_Datatype halves[2], type;
  for (int half = 0; half < 2; ++half) {
    MPI_Aint places[BLOCKS / 2];
    for (int i = 0; i < BLOCKS / 2; ++i) MPI_Get_address(room + (2 * i + half) * STRIDE, &places[i]);
    MPI_Type_create_hindexed_block(BLOCKS / 2, BLOCK, places, MPI_INT, &halves[half]);
  }
  MPI_Type_create_struct(2, (const int[]){1, 1}, (const MPI_Aint[]){0, 0}, halves, &type);
  MPI_Type_free(&halves[0]);
  MPI_Type_free(&halves[1]);
  return committed(type);
}

static void bottom(MPI_Datatype type) {
  static MPI_Datatype from, to;
  int position = 0;
  if (value == 1) from = absolute(here), to = absolute(there);
  if (rank == 0) MPI_Send(MPI_BOTTOM, 1, from, 1, 6, world);
  if (rank == 1) MPI_Recv(MPI_BOTTOM, 1, to, 0, 6, world, MPI_STATUS_IGNORE);
  if (rank == 1) check_from(0);
  MPI_Pack(MPI_BOTTOM, 1, from, line, sizeof line, &position, world);
  position = 0;
  MPI_Unpack(line, sizeof line, &position, MPI_BOTTOM, 1, to, world);
  check_from(rank);
  if (value == TIMES) MPI_Type_free(&from), MPI_Type_free(&to);
}

// Types one after the other, each used more than once. The even and the odd ones choose other ints, so that what
// was known of a handle is wrong for its next type.
static void types(MPI_Datatype type) {
  const int wide = BLOCK - value % 2, stride = STRIDE - value % 2;
  MPI_Datatype each = strided(BLOCKS, wide, stride);
  for (int use = 0; use < TIMES; ++use) {
    int position = 0;
    MPI_Pack(here, 1, each, line, sizeof line, &position, world);
    check(position == BLOCKS * wide * (int)sizeof(int), -1);
    for (int k = 0; k < BLOCKS * wide; ++k) check(line[k] == here[k / wide * stride + k % wide], k);
  }
  MPI_Type_free(&each);
}

// Where the library's table keeps a handle (src/preload/handles.hpp).
static unsigned slot_of(MPI_Datatype type) {
  return (unsigned)((uint64_t)(intptr_t)type * 0x9E3779B97F4A7C15ULL >> 56);
}

// Two types whose handles have one slot, used in turns; where handles are addresses there may be none.
static void turns(MPI_Datatype type) {
  static MPI_Datatype made[PLACES * TIMES];
  static int count;
  for (; value == 1 && count < PLACES * TIMES && (count == 0 || slot_of(made[count - 1]) != slot_of(type)); ++count)
    MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_INT, &made[count]);
  if (value == 1) MPI_Type_commit(&made[count - 1]);
  for (int turn = 0; turn < TIMES; ++turn) {
    packs(made[count - 1]);
    packs(type);
  }
  while (value == TIMES && count > 0) MPI_Type_free(&made[--count]);
}

static long resident_kilobytes(void) {
  long all = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  check(file != NULL && fscanf(file, "%ld %ld", &all, &resident) == 2, -1);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Types with long lists of places, packed once and freed; prints by how much memory has grown after the first ones.
static void many(MPI_Datatype type) {
  static int places[PLACES], room[4 * PLACES], packed[PLACES];
  long before = 0;
  for (int i = 0; value == 1 && i < MANY; ++i) {
    MPI_Datatype each;
    int position = 0;
    for (int k = 0; k < PLACES; ++k) places[k] = 3 * k + (k * k + i) % 3;
    for (int k = 0; k < PLACES; ++k) room[places[k]] = i + k;
    MPI_Type_create_indexed_block(PLACES, 1, places, MPI_INT, &each);
    MPI_Type_commit(&each);
    MPI_Pack(room, 1, each, packed, sizeof packed, &position, world);
    for (int k = 0; k < PLACES; k += 100) check(packed[k] == i + k, k);
    MPI_Type_free(&each);
    if (i == FEW) before = resident_kilobytes();
  }
  if (rank == 0 && value == 1) printf("grown %ld kB\n", resident_kilobytes() - before);
}

int main(int count, char** words) {
  static const char* const names[] = {"blocking", "posted",     "persistent", "exchanges", "packs",
                                      "bottom",   "contiguous", "types",      "turns",     "many"};
  static void (*const sections[])(MPI_Datatype) = {blocking, posted,     persistent, exchanges, packs,
                                                   bottom,   contiguous, types,      turns,     many};
  MPI_Init(&count, &words);
  MPI_Comm_rank(world, &rank);
  other = 1 - rank;
  for (int i = 1; i < count; ++i)
    for (int k = 0; k < (int)(sizeof sections / sizeof *sections); ++k) {
      if (strcmp(words[i], names[k]) != 0) continue;
      MPI_Pcontrol(k + 1);
      MPI_Datatype type = strided(BLOCKS, BLOCK, STRIDE);
      for (value = 0; value < TIMES;) {
        fill();
        sections[k](type);
      }
      MPI_Type_free(&type);
      MPI_Pcontrol(0);
    }
  if (rank == 0) puts("ok");
  MPI_Finalize();
  return 0;
}
