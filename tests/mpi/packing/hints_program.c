// Two or more ranks whose messages have gaps on one side, on both or on neither, section by section; every byte is
// checked. Run over shim.c, which counts what reaches the MPI. Words: the sections that are to be run.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BLOCKS = 64, BLOCK = 16, STRIDE = 40, ROOM = BLOCKS * STRIDE, BYTES = BLOCKS * BLOCK, TIMES = 16 };
enum { THREADS = 4, MANY = 300 };

static int rank, size;
static MPI_Datatype strided;

// A message's memory: byte k of its data, in one run or with gaps.
static int place(int gaps, int k) {
  return gaps ? k / BLOCK * STRIDE + k % BLOCK : k;
}
static int wanted(int value, int k) {
  return (7 * k + value) % 251;
}
static void fill(unsigned char* room, int gaps, int value) {
  for (int k = 0; k < BYTES; ++k) room[place(gaps, k)] = (unsigned char)wanted(value, k);
}
static void check(unsigned char* room, int gaps, int value) {
  for (int k = 0; k < BYTES; ++k) CHECK(room[place(gaps, k)] == wanted(value, k));
  memset(room, 0, ROOM);
}

static void send_to(MPI_Comm comm, int to, int tag, int gaps, int value) {
  unsigned char room[ROOM];
  fill(room, gaps, value);
  MPI_Send(room, gaps ? 1 : BYTES, gaps ? strided : MPI_BYTE, to, tag, comm);
}
static void receive_from(MPI_Comm comm, int from, int tag, int gaps, int value) {
  unsigned char room[ROOM];
  MPI_Recv(room, gaps ? 1 : BYTES, gaps ? strided : MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
  check(room, gaps, value);
}

// Messages from one rank of a communicator to another, each answered, so that what either side has said is there
// before the next one is sent.
static void pairs(MPI_Comm comm, int from, int to, int tag, int gaps_out, int gaps_in) {
  int own;
  MPI_Comm_rank(comm, &own);
  for (int i = 0; i < TIMES; ++i) {
    if (own == from) {
      send_to(comm, to, tag, gaps_out, i);
      MPI_Recv(NULL, 0, MPI_BYTE, to, 90, comm, MPI_STATUS_IGNORE);
    }
    if (own == to) {
      receive_from(comm, from, tag, gaps_in, i);
      MPI_Send(NULL, 0, MPI_BYTE, from, 90, comm);
    }
  }
}

// ---- sections

static void send_alone(void) {
  pairs(MPI_COMM_WORLD, 0, 1, 1, 1, 0);
}
static void receive_alone(void) {
  pairs(MPI_COMM_WORLD, 0, 1, 2, 0, 1);
}
static void both_sides(void) {
  pairs(MPI_COMM_WORLD, 0, 1, 3, 1, 1);
}
// A message that is sent before its receive is posted, and one that is received before it is sent: neither side
// that comes first can know the other one.
static void once(void) {
  unsigned char room[ROOM];
  MPI_Request request;
  if (rank == 0) send_to(MPI_COMM_WORLD, 1, 4, 1, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) receive_from(MPI_COMM_WORLD, 0, 4, 0, 0);
  if (rank == 1) MPI_Irecv(room, 1, strided, 0, 13, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) send_to(MPI_COMM_WORLD, 1, 13, 0, 0);
  if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) check(room, 1, 0);
}

// The partner's answer changes after half of the messages.
static void change(void) {
  pairs(MPI_COMM_WORLD, 0, 1, 5, 1, 1);
  pairs(MPI_COMM_WORLD, 0, 1, 5, 1, 0);
}

// It changes with every message: after some the other side is unknown for good.
static void fickle(void) {
  for (int i = 0; i < MANY; ++i) {
    if (rank == 0) {
      send_to(MPI_COMM_WORLD, 1, 6, 1, i);
      MPI_Recv(NULL, 0, MPI_BYTE, 1, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
      receive_from(MPI_COMM_WORLD, 0, 6, i % 2, i);
      MPI_Send(NULL, 0, MPI_BYTE, 0, 90, MPI_COMM_WORLD);
    }
  }
}

// The receiver does not say from whom, or with which tag: it knows no other side, and says nothing.
static void wildcards(void) {
  unsigned char room[ROOM];
  memset(room, 0, sizeof room);
  for (int i = 0; i < 2 * TIMES; ++i) {
    const int gaps_out = i < TIMES, from = i % 2 ? MPI_ANY_SOURCE : 0, tag = i % 2 ? 7 : MPI_ANY_TAG;
    if (rank == 0) {
      send_to(MPI_COMM_WORLD, 1, 7, gaps_out, i);
      MPI_Recv(NULL, 0, MPI_BYTE, 1, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
      receive_from(MPI_COMM_WORLD, from, tag, !gaps_out, i);
      MPI_Send(NULL, 0, MPI_BYTE, 0, 90, MPI_COMM_WORLD);
    }
  }
  MPI_Send(room, 1, strided, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
  MPI_Recv(room, 1, strided, MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// A rank that took the communicator's numbers for the world's would ask the wrong cells. A communicator is freed,
// and the next one, whose handle may be the same, has the other order.
static void reversed(void) {
  for (int i = 0; i < 4; ++i) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? rank : -rank, &comm);
    pairs(comm, 0, size - 1, 8, 1, 0);
    if (i % 2)
      MPI_Comm_free(&comm);
    else
      MPI_Comm_disconnect(&comm);
  }
}

static void between(void) {
  MPI_Comm mine, other;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 9, &other);
  for (int i = 0; i < TIMES; ++i) {
    if (rank == 0) {
      send_to(other, 0, 9, 1, i);
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 90, other, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
      receive_from(other, 0, 9, 0, i);
      MPI_Send(NULL, 0, MPI_BYTE, 0, 90, other);
    }
  }
  MPI_Comm_free(&other);
  MPI_Comm_free(&mine);
}

static void* talk(void* number) {
  const int thread = (int)(size_t)number;
  for (int i = 0; i < TIMES; ++i) {
    if (rank == 0) {
      send_to(MPI_COMM_WORLD, 1, 16 + thread, thread % 2, i);
      receive_from(MPI_COMM_WORLD, 1, 32 + thread, 1, i);
    }
    if (rank == 1) {
      receive_from(MPI_COMM_WORLD, 0, 16 + thread, 1, i);
      send_to(MPI_COMM_WORLD, 0, 32 + thread, thread % 2, i);
    }
  }
  return NULL;
}
static void threads(void) {
  pthread_t all[THREADS];
  for (int i = 0; i < THREADS; ++i) CHECK(pthread_create(&all[i], NULL, talk, (void*)(size_t)i) == 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(all[i], NULL);
}

// Posted, persistent, and exchanges: rank 0 has gaps in all it sends and receives, rank 1 has none.
static void calls(void) {
  unsigned char out[ROOM], in[ROOM];
  MPI_Request requests[2];
  const int peer = 1 - rank, gaps = rank == 0, count = gaps ? 1 : BYTES;
  const MPI_Datatype type = gaps ? strided : MPI_BYTE;
  memset(in, 0, sizeof in);
  for (int i = 0; i < TIMES; ++i) {
    fill(out, gaps, i);
    MPI_Irecv(in, count, type, peer, 10, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, count, type, peer, 10, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(in, gaps, i);
    MPI_Sendrecv(out, count, type, peer, 11, in, count, type, peer, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(in, gaps, i);
    MPI_Recv_init(in, count, type, peer, 12, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, count, type, peer, 12, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(in, gaps, i);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Sendrecv_replace(gaps ? out : in, count, type, peer, 14, peer, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memset(in, 0, sizeof in);
  }
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*run)(void);
  } sections[] = {
      {"send", send_alone}, {"receive", receive_alone}, {"both", both_sides},     {"once", once},
      {"change", change},   {"fickle", fickle},         {"wildcards", wildcards}, {"reversed", reversed},
      {"between", between}, {"threads", threads},       {"calls", calls}};
  int level;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_BYTE, &strided);
  MPI_Type_commit(&strided);
  // The type is read at its second use, so that every message below is decided about.
  unsigned char room[ROOM], line[BYTES];
  for (int i = 0; i < 32; ++i) {
    int position = 0;
    MPI_Pack(room, 1, strided, line, BYTES, &position, MPI_COMM_SELF);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i < count; ++i)
    for (int k = 0; k < (int)(sizeof sections / sizeof *sections); ++k) {
      if (strcmp(words[i], sections[k].name) != 0) continue;
      MPI_Pcontrol(k + 1);
      sections[k].run();
      MPI_Pcontrol(0);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  MPI_Type_free(&strided);
  if (rank == 0) puts("ok");
  MPI_Finalize();
  return 0;
}
