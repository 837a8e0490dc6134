// Messages that were sent before a collective are found by one look after it, as after the MPI's own: a program may
// send, meet the others, and receive as long as a probe finds something. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

enum { ROUNDS = 20 };

static int probe(int tag) {
  int found;
  MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  return found;
}

static int probe_matched(int tag, MPI_Message* message) {
  int found;
  MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, message, MPI_STATUS_IGNORE);
  return found;
}

/// Of one posted receive.
static int test(int how, MPI_Request* request) {
  int found = 0, which;
  if (how == 2) MPI_Testany(1, request, &which, &found, MPI_STATUS_IGNORE);
  if (how == 3) MPI_Testall(1, request, &found, MPI_STATUSES_IGNORE);
  if (how == 4) MPI_Testsome(1, request, &found, &which, MPI_STATUSES_IGNORE);
  return found;
}

/// One round: how a message is looked for, and whether it was found.
static int round_of(int how, int tag, int kind, int rank, int size) {
  const int from = (rank + size - 1) % size;
  int sent = tag, received = -1, found;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  if (how >= 2) MPI_Irecv(&received, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request);
  MPI_Send(&sent, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
  collective(kind, MPI_COMM_WORLD, 0, 4);
  collective(kind, MPI_COMM_WORLD, size - 1, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  if (how == 0) found = probe(tag);
  if (how == 1) found = probe_matched(tag, &message);
  if (how >= 2) found = test(how, &request);
  if (how == 1 && found)
    MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  else if (how < 2)
    MPI_Recv(&received, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  REQUIRE(received == sent);
  return found;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, missed[5] = {0}, all[5];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int how = 0; how < 5; ++how)
    for (int round = 0; round < ROUNDS; ++round)
      for (int kind = 0; kind < KINDS; ++kind)
        missed[how] += !round_of(how, round * KINDS + kind, kind, rank, size);
  MPI_Reduce(missed, all, 5, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("missed: %d %d %d %d %d\nright\n", all[0], all[1], all[2], all[3], all[4]);
  MPI_Finalize();
  return 0;
}
