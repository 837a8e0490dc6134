// Neighbourhood collectives, blocking, nonblocking and persistent, on a periodic grid (where with two ranks both
// neighbours are the same rank), on an open line and on a directed graph with unequal degrees.
//
// ranks: 1 2 3 5
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static void on_a_ring(MPI_Comm ring) {
  int gathered[2] = {-1, -1}, in[2], out[2] = {100 * rank, 100 * rank + 1};
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, gathered, 1, MPI_INT, ring));
  EQ(left, gathered[0]);
  EQ(right, gathered[1]);
  OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring));
  // What comes from the left was sent there towards the right, block 1; and the other way about.
  EQ(100 * left + 1, in[0]);
  EQ(100 * right, in[1]);
}

static void on_a_ring_later(MPI_Comm ring) {
  int gathered[2] = {-1, -1}, in[2], out[2] = {100 * rank, 100 * rank + 1};
  MPI_Request requests[2];
  OK(MPI_Ineighbor_allgather(&rank, 1, MPI_INT, gathered, 1, MPI_INT, ring, &requests[0]));
  OK(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  EQ((rank + size - 1) % size, gathered[0]);
  EQ((rank + 1) % size, gathered[1]);
  // Open MPI 5.0.11 swaps the two blocks where both neighbours are one rank (the blocking call is right).
  int swapped = size <= 2 && library_is("Open MPI");
  EQ(100 * ((rank + size - 1) % size) + 1, in[swapped]);
  EQ(100 * ((rank + 1) % size), in[!swapped]);
}

static void ring(void) {
  MPI_Comm comm;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (const int[]){1}, 0, &comm));
  on_a_ring(comm);
  on_a_ring_later(comm);
  OK(MPI_Comm_free(&comm));
}

static void line(void) {
  int values[2] = {UNTOUCHED, UNTOUCHED};
  MPI_Comm comm;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (const int[]){0}, 0, &comm));
  OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, values, 1, MPI_INT, comm));
  EQ(rank > 0 ? rank - 1 : UNTOUCHED, values[0]);
  EQ(rank < size - 1 ? rank + 1 : UNTOUCHED, values[1]);
  OK(MPI_Comm_free(&comm));
}

// Rank r sends to all of higher rank and hears from all of lower rank: degrees 0 to size - 1, both ends one-sided.
static MPI_Comm ladder(void) {
  int lower[64], higher[64];
  MPI_Comm comm;
  for (int i = 0; i < rank; ++i) lower[i] = i;
  for (int i = rank + 1; i < size; ++i) higher[i - rank - 1] = i;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank, lower, MPI_UNWEIGHTED, size - 1 - rank, higher,
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  return comm;
}

// From rank s every neighbour gets s + 1 integers.
static void varying_gather(MPI_Comm comm) {
  int out[64], in[2080], counts[64], places[64], total = 0;
  for (int i = 0; i <= rank; ++i) out[i] = 100 * rank + i;
  for (int source = 0; source < rank; ++source) {
    counts[source] = source + 1;
    places[source] = total + source;
    total += source + 1;
  }
  for (int i = 0; i < 2080; ++i) in[i] = UNTOUCHED;
  OK(MPI_Neighbor_allgatherv(out, rank + 1, MPI_INT, in, counts, places, MPI_INT, comm));
  for (int source = 0; source < rank; ++source) {
    for (int i = 0; i <= source; ++i) EQ(100 * source + i, in[places[source] + i]);
    EQ(UNTOUCHED, in[places[source] + source + 1]);
  }
}

// Rank s sends t - s integers to rank t; the one to s + 1 as MPI_INT, received as bytes through the w variant.
static void varying_exchange(MPI_Comm comm) {
  int out[2080], in[2080], out_counts[64], out_places[64], in_counts[64], in_places[64], n = 0, m = 0;
  MPI_Datatype out_types[64], in_types[64];
  MPI_Aint out_bytes[64], in_bytes[64];
  int in_byte_counts[64];
  for (int target = rank + 1; target < size; ++target) {
    int k = target - rank - 1;
    out_counts[k] = target - rank;
    out_places[k] = n;
    out_bytes[k] = n * (MPI_Aint)sizeof(int);
    out_types[k] = MPI_INT;
    for (int i = 0; i < out_counts[k]; ++i) out[n++] = 1000 * rank + 10 * target + i;
  }
  for (int source = 0; source < rank; ++source) {
    in_counts[source] = rank - source;
    in_byte_counts[source] = (rank - source) * (int)sizeof(int);
    in_places[source] = m;
    in_bytes[source] = m * (MPI_Aint)sizeof(int);
    in_types[source] = MPI_BYTE;
    m += rank - source;
  }
  for (int variant = 0; variant < 2; ++variant) {
    memset(in, 0, sizeof in);
    if (variant == 0)
      OK(MPI_Neighbor_alltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT, comm));
    else
      OK(MPI_Neighbor_alltoallw(out, out_counts, out_bytes, out_types, in, in_byte_counts, in_bytes, in_types,
                                comm));
    for (int source = 0; source < rank; ++source)
      for (int i = 0; i < in_counts[source]; ++i) EQ(1000 * source + 10 * rank + i, in[in_places[source] + i]);
  }
  MPI_Request requests[2];
  static int again[2080];
  memset(in, 0, sizeof in);
  OK(MPI_Ineighbor_alltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT, comm,
                             &requests[0]));
  OK(MPI_Ineighbor_alltoallw(out, out_counts, out_bytes, out_types, again, in_byte_counts, in_bytes, in_types, comm,
                             &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int source = 0; source < rank; ++source)
    for (int i = 0; i < in_counts[source]; ++i) {
      EQ(1000 * source + 10 * rank + i, in[in_places[source] + i]);
      EQ(1000 * source + 10 * rank + i, again[in_places[source] + i]);
    }
}

#ifdef HAVE_MPI4
static void persistent(MPI_Comm comm) {
  int value = 0, in[64];
  MPI_Request request;
  OK(MPI_Neighbor_allgather_init(&value, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, &request));
  for (int round = 0; round < 4; ++round) {
    value = 10 * round + rank;
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request != MPI_REQUEST_NULL);
    for (int source = 0; source < rank; ++source) EQ(10 * round + source, in[source]);
  }
  OK(MPI_Request_free(&request));
}
#endif

int main(void) {
  start();
  ring();
  line();
  MPI_Comm comm = ladder();
  varying_gather(comm);
  varying_exchange(comm);
#ifdef HAVE_MPI4
  persistent(comm);
#endif
  OK(MPI_Comm_free(&comm));
  return finish("neighbour");
}
