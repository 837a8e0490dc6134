// Messages that were sent before a collective are found by one look after it, as after the MPI's own: a program may
// send, meet the others, and receive as long as a probe finds something. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

enum { ROUNDS = 20 };

static int probe(int from, int tag) {
  int found;
  MPI_Iprobe(from, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  return found;
}

static int probe_matched(int from, int tag, MPI_Message* message) {
  int found;
  MPI_Improbe(from, tag, MPI_COMM_WORLD, &found, message, MPI_STATUS_IGNORE);
  return found;
}

/// Of posted receives: whether all of them, or by Testany one, by Testsome some have come.
static int test(int how, int count, MPI_Request* requests) {
  int found = 0, which[MOST_RANKS];
  if (how == 2) MPI_Testany(count, requests, which, &found, MPI_STATUS_IGNORE);
  if (how == 3) MPI_Testall(count, requests, &found, MPI_STATUSES_IGNORE);
  if (how == 4) MPI_Testsome(count, requests, &found, which, MPI_STATUSES_IGNORE);
  return found != 0;
}

/// Receives what one rank has sent; whether one look found it.
static int received_from(int from, int how, int tag, int* number) {
  int found;
  MPI_Message message;
  if (how == 0) {
    found = probe(from, tag);
    MPI_Recv(number, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return found;
  }
  found = probe_matched(from, tag, &message);
  if (found)
    MPI_Mrecv(number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  else
    MPI_Recv(number, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return found;
}

/// One round: every rank sends to every other one, meets them in a collective, and looks. Returns how many looks
/// found nothing.
static int missed_in(int how, int tag, int kind, int rank, int size) {
  int numbers[MOST_RANKS], missed = 0, posted = 0;
  MPI_Request requests[MOST_RANKS];
  for (int from = 0; from < size && how >= 2; ++from)
    if (from != rank) MPI_Irecv(&numbers[from], 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[posted++]);
  for (int to = 0; to < size; ++to)
    if (to != rank) MPI_Send(&tag, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
  collective(kind, MPI_COMM_WORLD, 0, 4);
  collective(kind, MPI_COMM_WORLD, size - 1, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  if (how >= 2) {
    missed = !test(how, posted, requests);
    MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
  }
  for (int from = 0; from < size; ++from) {
    if (from == rank) continue;
    if (how < 2) missed += !received_from(from, how, tag, &numbers[from]);
    REQUIRE(numbers[from] == tag);
  }
  return missed;
}

/// One round of one-sided calls: every rank writes to the next one's window, meets all in a collective, and looks
/// whether its own exposure is over. Returns how many looks found nothing.
static int missed_in_window(int kind, int rank, int size, MPI_Win window) {
  MPI_Group all, from, to;
  const int before = (rank + size - 1) % size, after = (rank + 1) % size, number = rank;
  int found;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &before, &from);
  MPI_Group_incl(all, 1, &after, &to);
  MPI_Win_post(from, 0, window);
  MPI_Win_start(to, 0, window);
  MPI_Put(&number, 1, MPI_INT, after, 0, 1, MPI_INT, window);
  MPI_Win_complete(window);
  collective(kind, MPI_COMM_WORLD, 0, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_test(window, &found);
  if (!found) MPI_Win_wait(window);
  MPI_Group_free(&all);
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  return !found;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, written = -1, missed[6] = {0}, all[6];
  MPI_Win window;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_create(&written, sizeof written, sizeof written, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int round = 0; round < ROUNDS; ++round)
    for (int kind = 0; kind < KINDS; ++kind) {
      for (int how = 0; how < 5; ++how) missed[how] += missed_in(how, round * KINDS + kind, kind, rank, size);
      missed[5] += missed_in_window(kind, rank, size, window);
    }
  MPI_Win_free(&window);
  REQUIRE(written == (rank + size - 1) % size);
  MPI_Reduce(missed, all, 6, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("missed: %d %d %d %d %d %d\nright\n", all[0], all[1], all[2], all[3], all[4], all[5]);
  MPI_Finalize();
  return 0;
}
