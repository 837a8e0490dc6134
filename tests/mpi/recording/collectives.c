// Every collective, blocking, non-blocking and persistent, with nonsense wherever the standard lets an argument
// mean nothing; 4 ranks. test_collectives.py has the records that each must leave.
// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

enum { kRoot = 2, kNonsense = -77, kRanks = 4 };
#define NOWHERE ((void*)8)
#define NOTHING MPI_DATATYPE_NULL

static int in[256], out[256];
static MPI_Request request;

#define AT_ROOT(value, otherwise) (rank == kRoot ? (value) : (otherwise))

SCENARIO(rooted) {
  const int counts[kRanks] = {1, 2, 3, 4}, places[kRanks] = {0, 8, 16, 24};
  MPI_Bcast(in, 5, MPI_INT, kRoot, MPI_COMM_WORLD);
  MPI_Reduce(in, AT_ROOT(out, NOWHERE), 6, MPI_INT, MPI_SUM, kRoot, MPI_COMM_WORLD);
  MPI_Gather(in, 7, MPI_INT, AT_ROOT(out, NOWHERE), AT_ROOT(7, kNonsense), AT_ROOT(MPI_INT, NOTHING), kRoot,
             MPI_COMM_WORLD);
  MPI_Scatter(AT_ROOT(in, NOWHERE), AT_ROOT(8, kNonsense), AT_ROOT(MPI_INT, NOTHING), out, 8, MPI_INT, kRoot,
              MPI_COMM_WORLD);
  MPI_Gatherv(in, rank + 1, MPI_INT, AT_ROOT(out, NOWHERE), AT_ROOT(counts, NOWHERE), AT_ROOT(places, NOWHERE),
              AT_ROOT(MPI_INT, NOTHING), kRoot, MPI_COMM_WORLD);
  MPI_Scatterv(AT_ROOT(in, NOWHERE), AT_ROOT(counts, NOWHERE), AT_ROOT(places, NOWHERE), AT_ROOT(MPI_INT, NOTHING),
               out, rank + 1, MPI_INT, kRoot, MPI_COMM_WORLD);
}

SCENARIO(rooted_in_place) {
  const int counts[kRanks] = {1, 2, 3, 4}, places[kRanks] = {0, 8, 16, 24};
  if (rank == kRoot) {
    MPI_Reduce(MPI_IN_PLACE, out, 6, MPI_INT, MPI_SUM, kRoot, MPI_COMM_WORLD);
    MPI_Gather(MPI_IN_PLACE, kNonsense, NOTHING, out, 7, MPI_INT, kRoot, MPI_COMM_WORLD);
    MPI_Scatter(in, 8, MPI_INT, MPI_IN_PLACE, kNonsense, NOTHING, kRoot, MPI_COMM_WORLD);
    MPI_Gatherv(MPI_IN_PLACE, kNonsense, NOTHING, out, counts, places, MPI_INT, kRoot, MPI_COMM_WORLD);
    MPI_Scatterv(in, counts, places, MPI_INT, MPI_IN_PLACE, kNonsense, NOTHING, kRoot, MPI_COMM_WORLD);
  } else {
    MPI_Reduce(in, NULL, 6, MPI_INT, MPI_SUM, kRoot, MPI_COMM_WORLD);
    MPI_Gather(in, 7, MPI_INT, NULL, kNonsense, NOTHING, kRoot, MPI_COMM_WORLD);
    MPI_Scatter(NULL, kNonsense, NOTHING, out, 8, MPI_INT, kRoot, MPI_COMM_WORLD);
    MPI_Gatherv(in, rank + 1, MPI_INT, NULL, NULL, NULL, NOTHING, kRoot, MPI_COMM_WORLD);
    MPI_Scatterv(NULL, NULL, NULL, NOTHING, out, rank + 1, MPI_INT, kRoot, MPI_COMM_WORLD);
  }
}

SCENARIO(rootless) {
  const int counts[kRanks] = {1, 2, 3, 4}, places[kRanks] = {0, 8, 16, 24};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(in, out, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allgather(in, 6, MPI_INT, out, 6, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(in, 7, MPI_INT, out, 7, MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(in, out, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

SCENARIO(rootless_in_place) {
  const int counts[kRanks] = {1, 2, 3, 4}, places[kRanks] = {0, 8, 16, 24};
  MPI_Allreduce(MPI_IN_PLACE, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(MPI_IN_PLACE, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Exscan(MPI_IN_PLACE, out, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allgather(MPI_IN_PLACE, kNonsense, NOTHING, out, 6, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(MPI_IN_PLACE, kNonsense, NOTHING, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(MPI_IN_PLACE, kNonsense, NOTHING, out, 7, MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, out, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(MPI_IN_PLACE, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

// Rank r sends i + 1 numbers to rank i, but nothing to itself.
SCENARIO(all_to_all) {
  int give[kRanks], take[kRanks], places[kRanks], bytes[kRanks];
  MPI_Datatype types[kRanks];
  for (int i = 0; i < kRanks; ++i) {
    give[i] = i == rank ? 0 : i + 1;
    take[i] = i == rank ? 0 : rank + 1;
    places[i] = 16 * i;
    bytes[i] = 64 * i;
    types[i] = MPI_INT;
  }
  MPI_Alltoallv(in, give, places, MPI_INT, out, take, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallw(in, give, bytes, types, out, take, bytes, types, MPI_COMM_WORLD);
  for (int i = 0; i < kRanks; ++i) take[i] = 3;
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, NOTHING, out, take, places, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, take, bytes, types, MPI_COMM_WORLD);
}

SCENARIO(without_blocking) {
  const int counts[kRanks] = {1, 2, 3, 4}, places[kRanks] = {0, 8, 16, 24};
  MPI_Request all[8];
  MPI_Ibarrier(MPI_COMM_WORLD, &all[0]);
  MPI_Ibcast(in, 5, MPI_INT, kRoot, MPI_COMM_WORLD, &all[1]);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  MPI_Iallreduce(MPI_IN_PLACE, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Igatherv(in, rank + 1, MPI_INT, AT_ROOT(out, NOWHERE), AT_ROOT(counts, NOWHERE), AT_ROOT(places, NOWHERE),
               AT_ROOT(MPI_INT, NOTHING), kRoot, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Ialltoallv(in, counts, places, MPI_INT, out, (int[]){rank + 1, rank + 1, rank + 1, rank + 1}, places, MPI_INT,
                 MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A persistent collective moves data at each start; several are started together, with a message among them.
SCENARIO(persistent) {
#ifdef HAVE_MPI4
  const int counts[kRanks] = {1, 2, 3, 4}, places[kRanks] = {0, 8, 16, 24};
  int take[kRanks];
  MPI_Request all[4];
  for (int i = 0; i < kRanks; ++i) take[i] = rank + 1;
  MPI_Bcast_init(in, 5, MPI_INT, kRoot, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]);
  MPI_Send_init(in, 2, MPI_INT, rank ^ 1, 1, MPI_COMM_WORLD, &all[1]);
  MPI_Alltoallv_init(in, counts, places, MPI_INT, out, take, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &all[2]);
  MPI_Recv_init(out + 128, 2, MPI_INT, rank ^ 1, 1, MPI_COMM_WORLD, &all[3]);
  memset(take, 0, sizeof take);
  MPI_Startall(4, all);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  MPI_Start(&all[0]);
  MPI_Wait(&all[0], MPI_STATUS_IGNORE);
  for (int i = 0; i < 4; ++i) MPI_Request_free(&all[i]);
#endif
}

// A line of four that is open at its ends: MPI_PROC_NULL among the neighbours.
SCENARIO(neighbours_on_a_line) {
  const int extent = kRanks, open = 0;
  int counts[2] = {3, 4}, take[2], places[2] = {0, 16};
  MPI_Aint bytes[2] = {0, 64};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Comm line;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &open, 0, &line);
  MPI_Neighbor_allgather(in, 2, MPI_INT, out, 2, MPI_INT, line);
  MPI_Neighbor_alltoall(in, 5, MPI_INT, out, 5, MPI_INT, line);
  take[0] = 4;  // what the left neighbour gives to its right
  take[1] = 3;
  MPI_Neighbor_allgatherv(in, 3, MPI_INT, out, (int[]){3, 3}, places, MPI_INT, line);
  MPI_Neighbor_alltoallv(in, counts, places, MPI_INT, out, take, places, MPI_INT, line);
  MPI_Neighbor_alltoallw(in, counts, bytes, types, out, take, bytes, types, line);
  MPI_Ineighbor_alltoall(in, 6, MPI_INT, out, 6, MPI_INT, line, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&line);
}

// Rank r sends to r + 1 and r + 2, receives from r - 1 and r - 2.
SCENARIO(neighbours_in_a_graph) {
  const int targets[2] = {(rank + 1) % kRanks, (rank + 2) % kRanks};
  const int origins[2] = {(rank + 3) % kRanks, (rank + 2) % kRanks};
  int counts[2] = {1, 2}, places[2] = {0, 16};
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, origins, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Neighbor_alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, graph);
  MPI_Comm_free(&graph);
}

SCENARIO(on_an_intercommunicator) {
  MPI_Comm half, inter;
  const int upper = rank >= 2, leads = rank % 2 == 0;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : 2, 3, &inter);
  MPI_Allgather(in, 3, MPI_INT, out, 3, MPI_INT, inter);
  // Root: world rank 0. Its group passes MPI_ROOT and MPI_PROC_NULL, for which most arguments mean nothing.
  if (upper)
    MPI_Reduce(in, NOWHERE, 4, MPI_INT, MPI_SUM, 0, inter);
  else
    MPI_Reduce(NOWHERE, out, 4, MPI_INT, MPI_SUM, leads ? MPI_ROOT : MPI_PROC_NULL, inter);
  if (upper)
    MPI_Gather(in, 5, MPI_INT, NOWHERE, kNonsense, NOTHING, 0, inter);
  else
    MPI_Gather(NOWHERE, kNonsense, NOTHING, out, 5, MPI_INT, leads ? MPI_ROOT : MPI_PROC_NULL, inter);
  const int counts[2] = {1, 2}, places[2] = {0, 16}, take[2] = {rank % 2 + 1, rank % 2 + 1};
  MPI_Alltoallv(in, counts, places, MPI_INT, out, take, places, MPI_INT, inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rooted();
  rooted_in_place();
  rootless();
  rootless_in_place();
  all_to_all();
  without_blocking();
  persistent();
  neighbours_on_a_line();
  neighbours_in_a_graph();
  on_an_intercommunicator();
  MPI_Finalize();
  if (rank == 0) puts("ok collectives");
  return 0;
}
