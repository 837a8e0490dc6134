// A rank cannot pack what it is to give, since its type was not committed, in each collective on a communicator of
// its own. Every rank says which error its call returned and how often its handler heard of one, and checks what it
// received where there was none. SPDX-License-Identifier: BSD-3-Clause
#include "../traps/trap.h"

enum { CASES = 10, ITEMS = 3, BAD = 1 };

static const char* const cases[CASES] = {"bcast",    "gather",    "gatherv",    "root-gather", "scatter",
                                         "scatterv", "allgather", "allgatherv", "alltoall",    "alltoallv"};
static int told;

static void count(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++told;
}

/// Of ITEMS numbers with gaps, on the rank that fails; else of numbers side by side.
static MPI_Datatype type_of(int bad) {
  MPI_Datatype type;
  MPI_Type_vector(ITEMS, 1, bad ? 2 : 1, MPI_LONG, &type);
  if (!bad) MPI_Type_commit(&type);
  return type;
}

static int call(int which, MPI_Comm comm, long* send, long* receive, MPI_Datatype type, int bad) {
  int counts[MOST_RANKS], places[MOST_RANKS];
  for (int i = 0; i < MOST_RANKS; ++i) counts[i] = ITEMS, places[i] = i * ITEMS;
  int ones[MOST_RANKS], items[MOST_RANKS];
  for (int i = 0; i < MOST_RANKS; ++i) ones[i] = 1, items[i] = i;
  switch (which) {
    case 0:
      return MPI_Bcast(bad ? send : receive, 1, type, BAD, comm);
    case 1:
      return MPI_Gather(send, 1, type, receive, ITEMS, MPI_LONG, 0, comm);
    case 2:
      return MPI_Gatherv(send, 1, type, receive, counts, places, MPI_LONG, 0, comm);
    case 3:  // the root's own
      return MPI_Gather(send, 1, type, receive, ITEMS, MPI_LONG, BAD, comm);
    case 4:
      return MPI_Scatter(send, 1, type, receive, ITEMS, MPI_LONG, BAD, comm);
    case 5:
      return MPI_Scatterv(send, ones, items, type, receive, ITEMS, MPI_LONG, BAD, comm);
    case 6:
      return MPI_Allgather(send, 1, type, receive, ITEMS, MPI_LONG, comm);
    case 7:
      return MPI_Allgatherv(send, 1, type, receive, counts, places, MPI_LONG, comm);
    case 8:
      return MPI_Alltoall(send, 1, type, receive, ITEMS, MPI_LONG, comm);
    default:
      return MPI_Alltoallv(send, ones, items, type, receive, counts, places, MPI_LONG, comm);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static long send[MOST_RANKS * ITEMS * 2], receive[MOST_RANKS * ITEMS];
  const int bad = rank == BAD;
  for (int which = 0; which < CASES; ++which) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int kind = 0; kind < 2; ++kind) collective(kind, comm, 0, 5);
    MPI_Comm_create_errhandler(count, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    for (int i = 0; i < MOST_RANKS * ITEMS * 2; ++i) send[i] = 7;
    for (int i = 0; i < MOST_RANKS * ITEMS; ++i) receive[i] = 0;
    told = 0;
    MPI_Datatype type = type_of(bad);
    int class = MPI_SUCCESS;
    MPI_Error_class(call(which, comm, send, receive, type, bad), &class);
    const int receives = which == 1 || which == 2 ? rank == 0 : which == 3 ? bad : !(which == 0 && bad);
    if (class == MPI_SUCCESS && receives) REQUIRE(receive[0] == 7 && receive[ITEMS - 1] == 7);
    printf("%s: rank %d: %s %d\n", cases[which], rank,
           class == MPI_ERR_TYPE ? "type"
           : class               ? "other"
                                 : "nothing",
           told);
    fflush(stdout);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
  }
  return finish();
}
