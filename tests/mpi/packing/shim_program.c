// Two ranks that send, receive and pack strided data, section by section, and check every int of every buffer, gaps
// too. Run over shim.c, which counts what reaches the MPI. Words: the sections that are to be run.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { BLOCKS = 64, BLOCK = 4, STRIDE = 10, ROOM = BLOCKS * STRIDE, INTS = BLOCKS * BLOCK, TIMES = 8, GAP = -7 };
enum { MANY = 20000, FEW = 1000, PLACES = 512 };

static int rank, value;
static int here[ROOM], there[ROOM], line[INTS];

// Every message has other values; what a rank is to send, and what it must find from the other one.
static int is_data(int i) {
  return i % STRIDE < BLOCK;
}
static void fill(void) {
  ++value;
  for (int i = 0; i < ROOM; ++i) here[i] = is_data(i) ? 100000 * rank + 1000 * value + i : GAP;
  for (int i = 0; i < ROOM; ++i) there[i] = GAP;
  memset(line, 0, sizeof line);
}
static void check_from(int from) {
  for (int i = 0; i < ROOM; ++i) CHECK(there[i] == (is_data(i) ? 100000 * from + 1000 * value + i : GAP));
}
static void check_line(int from) {
  for (int k = 0; k < INTS; ++k) CHECK(line[k] == 100000 * from + 1000 * value + k / BLOCK * STRIDE + k % BLOCK);
}

static MPI_Datatype strided(void) {
  MPI_Datatype type;
  MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// ---- sections

static void blocking(MPI_Datatype type) {
  for (int i = 0; i < TIMES; ++i) {
    MPI_Status status;
    int count = 0;
    fill();
    if (rank == 0) MPI_Send(here, 1, type, 1, i, MPI_COMM_WORLD);
    if (rank == 0) continue;
    MPI_Recv(there, 1, type, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == 1 && status.MPI_TAG == i && status.MPI_SOURCE == 0);
    check_from(0);
  }
}

static void posted(MPI_Datatype type) {
  MPI_Request requests[2];
  for (int i = 0; i < TIMES; ++i) {
    fill();
    MPI_Irecv(there, 1, type, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(here, 1, type, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_from(1 - rank);
  }
}

static void persistent(MPI_Datatype type) {
  MPI_Request requests[2];
  MPI_Recv_init(there, 1, type, 1 - rank, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(here, 1, type, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < TIMES; ++i) {
    fill();
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_from(1 - rank);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void exchanges(MPI_Datatype type) {
  for (int i = 0; i < TIMES; ++i) {
    fill();
    MPI_Sendrecv(here, 1, type, 1 - rank, 3, there, 1, type, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_from(1 - rank);
    memcpy(there, here, sizeof there);
    MPI_Sendrecv_replace(there, 1, type, 1 - rank, 4, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_from(1 - rank);
  }
}

static void packs(MPI_Datatype type) {
  for (int i = 0; i < TIMES; ++i) {
    int position = 0;
    fill();
    MPI_Pack(here, 1, type, line, sizeof line, &position, MPI_COMM_WORLD);
    CHECK(position == sizeof line);
    check_line(rank);
    position = 0;
    MPI_Unpack(line, sizeof line, &position, there, 1, type, MPI_COMM_WORLD);
    CHECK(position == sizeof line);
    check_from(rank);
  }
}

static void contiguous(MPI_Datatype type) {
  MPI_Datatype flat;
  MPI_Type_contiguous(INTS, MPI_INT, &flat);
  MPI_Type_commit(&flat);
  for (int i = 0; i < TIMES; ++i) {
    fill();
    for (int k = 0; k < INTS; ++k) line[k] = here[k / BLOCK * STRIDE + k % BLOCK];
    if (rank == 0) MPI_Send(line, 1, flat, 1, 5, MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(line, INTS, MPI_INT, 1, 5, MPI_COMM_WORLD);
    for (int k = 0; rank == 1 && k < 2; ++k) {
      MPI_Recv(line, 1, flat, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check_line(0);
    }
  }
  MPI_Type_free(&flat);
  (void)type;
}

// A struct of hindexed types, all by absolute addresses: the even blocks and the odd ones.
static MPI_Datatype absolute(int* room) {
  MPI_Datatype halves[2], type;
  MPI_Aint zero[2] = {0, 0};
  const int one[2] = {1, 1};
  int lengths[BLOCKS / 2];
  for (int half = 0; half < 2; ++half) {
    MPI_Aint places[BLOCKS / 2];
    for (int i = 0; i < BLOCKS / 2; ++i) {
      lengths[i] = BLOCK;
      MPI_Get_address(room + (2 * i + half) * STRIDE, &places[i]);
    }
    MPI_Type_create_hindexed(BLOCKS / 2, lengths, places, MPI_INT, &halves[half]);
  }
  MPI_Type_create_struct(2, one, zero, halves, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&halves[0]);
  MPI_Type_free(&halves[1]);
  return type;
}

static void bottom(MPI_Datatype type) {
  MPI_Datatype from = absolute(here), to = absolute(there);
  for (int i = 0; i < TIMES; ++i) {
    int position = 0;
    fill();
    if (rank == 0) MPI_Send(MPI_BOTTOM, 1, from, 1, 6, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(MPI_BOTTOM, 1, to, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) check_from(0);
    fill();
    MPI_Pack(MPI_BOTTOM, 1, from, line, sizeof line, &position, MPI_COMM_WORLD);
    position = 0;
    MPI_Unpack(line, sizeof line, &position, MPI_BOTTOM, 1, to, MPI_COMM_WORLD);
    check_from(rank);
  }
  MPI_Type_free(&from);
  MPI_Type_free(&to);
  (void)type;
}

// Types one after the other, each used more than once. The even and the odd ones choose other ints, so that what
// was known of a handle is wrong for its next type.
static void types_in_turn(MPI_Datatype type) {
  enum { SOME = BLOCKS - 8 };
  for (int i = 0; i < TIMES; ++i) {
    const int wide = BLOCK - i % 2, stride = STRIDE + i % 2;
    MPI_Datatype each;
    MPI_Type_vector(SOME, wide, stride, MPI_INT, &each);
    MPI_Type_commit(&each);
    for (int use = 0; use < TIMES; ++use) {
      int position = 0;
      for (int k = 0; k < ROOM; ++k) here[k] = ++value;
      MPI_Pack(here, 1, each, line, sizeof line, &position, MPI_COMM_WORLD);
      CHECK(position == SOME * wide * (int)sizeof(int));
      for (int k = 0; k < SOME * wide; ++k) CHECK(line[k] == here[k / wide * stride + k % wide]);
    }
    MPI_Type_free(&each);
  }
  (void)type;
}

static long resident_kilobytes(void) {
  long all = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file != NULL) {
    CHECK(fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
  }
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Types with long lists of places, packed once and freed; prints by how much memory has grown after the first ones.
static void many_types(MPI_Datatype type) {
  static int places[PLACES], room[4 * PLACES], packed[PLACES];
  long before = 0;
  for (int i = 0; i < MANY; ++i) {
    MPI_Datatype each;
    int position = 0;
    for (int k = 0; k < PLACES; ++k) places[k] = 3 * k + (k * k + i) % 3;
    for (int k = 0; k < PLACES; ++k) room[places[k]] = i + k;
    MPI_Type_create_indexed_block(PLACES, 1, places, MPI_INT, &each);
    MPI_Type_commit(&each);
    MPI_Pack(room, 1, each, packed, sizeof packed, &position, MPI_COMM_WORLD);
    for (int k = 0; k < PLACES; k += 100) CHECK(packed[k] == i + k);
    MPI_Type_free(&each);
    if (i == FEW) before = resident_kilobytes();
  }
  if (rank == 0) printf("grown %ld kB\n", resident_kilobytes() - before);
  (void)type;
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*run)(MPI_Datatype);
  } sections[] = {{"blocking", blocking},   {"posted", posted},       {"persistent", persistent},
                  {"exchanges", exchanges}, {"packs", packs},         {"contiguous", contiguous},
                  {"bottom", bottom},       {"types", types_in_turn}, {"many", many_types}};
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < count; ++i)
    for (int k = 0; k < (int)(sizeof sections / sizeof *sections); ++k) {
      if (strcmp(words[i], sections[k].name) != 0) continue;
      MPI_Pcontrol(k + 1);
      MPI_Datatype type = strided();
      sections[k].run(type);
      MPI_Type_free(&type);
      MPI_Pcontrol(0);
    }
  if (rank == 0) puts("ok");
  MPI_Finalize();
  return 0;
}
