// Process topologies: what is asked of a Cartesian, general or distributed graph communicator equals what it was
// made from, on every rank; sub-grids; MPI_Dims_create; messages along shifts, with nobody at the open ends.
//
// ranks: 2 3 6
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static void dims(void) {
  int free_two[2] = {0, 0}, fixed[3] = {0, 2, 0}, all[2] = {3, 4};
  OK(MPI_Dims_create(12, 2, free_two));
  EQ(4, free_two[0]);
  EQ(3, free_two[1]);
  OK(MPI_Dims_create(12, 3, fixed));
  EQ(3, fixed[0]);
  EQ(2, fixed[1]);
  EQ(2, fixed[2]);
  OK(MPI_Dims_create(12, 2, all));
  EQ(3, all[0]);
}

static void neighbours_of_a_shift(MPI_Comm grid, const int* shape, const int* periods, int dimension, int step) {
  int source = UNTOUCHED, target = UNTOUCHED, me, coordinates[2], value = UNTOUCHED;
  MPI_Status status;
  OK(MPI_Comm_rank(grid, &me));
  OK(MPI_Cart_shift(grid, dimension, step, &source, &target));
  OK(MPI_Cart_coords(grid, me, 2, coordinates));
  int there = coordinates[dimension] + step, inside = there >= 0 && there < shape[dimension];
  if (!periods[dimension] && !inside)
    EQ(MPI_PROC_NULL, target);
  else {
    int expected = -1;
    coordinates[dimension] = ((there % shape[dimension]) + shape[dimension]) % shape[dimension];
    OK(MPI_Cart_rank(grid, coordinates, &expected));
    EQ(expected, target);
  }
  poison(&status);
  OK(MPI_Sendrecv(&me, 1, MPI_INT, target, 4, &value, 1, MPI_INT, source, 4, grid, &status));
  EQ(source == MPI_PROC_NULL ? UNTOUCHED : source, value);
  EQ(source, status.MPI_SOURCE);
}

static void cartesian(int reorder) {
  int shape[2] = {0, 0}, periods[2] = {1, 0}, found[2], found_periods[2], coordinates[2], kind = 0, count = 0;
  MPI_Comm grid;
  OK(MPI_Dims_create(size, 2, shape));
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, reorder, &grid));
  OK(MPI_Topo_test(grid, &kind));
  EQ(MPI_CART, kind);
  OK(MPI_Cartdim_get(grid, &count));
  EQ(2, count);
  OK(MPI_Cart_get(grid, 2, found, found_periods, coordinates));
  for (int i = 0; i < 2; ++i) {
    EQ(shape[i], found[i]);
    EQ(periods[i], found_periods[i]);
  }
  int me, back = -1;
  OK(MPI_Comm_rank(grid, &me));
  if (!reorder) EQ(rank, me);
  EQ(me, coordinates[0] * shape[1] + coordinates[1]);
  OK(MPI_Cart_rank(grid, coordinates, &back));
  EQ(me, back);
  for (int dimension = 0; dimension < 2; ++dimension)
    for (int step = -1; step <= 2; ++step)
      if (step != 0) neighbours_of_a_shift(grid, shape, periods, dimension, step);
  MPI_Comm row;
  OK(MPI_Cart_sub(grid, (const int[]){0, 1}, &row));
  int row_rank, row_size;
  OK(MPI_Comm_rank(row, &row_rank));
  OK(MPI_Comm_size(row, &row_size));
  EQ(shape[1], row_size);
  EQ(coordinates[1], row_rank);
  OK(MPI_Cartdim_get(row, &count));
  EQ(1, count);
  OK(MPI_Comm_free(&row));
  MPI_Comm copy;
  OK(MPI_Comm_dup(grid, &copy));
  OK(MPI_Topo_test(copy, &kind));
  EQ(MPI_CART, kind);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&grid));
}

static void smaller_grid_than_world(void) {
  MPI_Comm grid;
  int shape[1] = {size - 1}, periods[1] = {0};
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, shape, periods, 0, &grid));
  CHECK((grid == MPI_COMM_NULL) == (rank == size - 1));
  if (grid != MPI_COMM_NULL) OK(MPI_Comm_free(&grid));
}

// A ring, as the old graph interface tells it: on every rank the edges of all.
static void graph(void) {
  int index[8], edges[16], count = 0, edge_count = 0, found_index[8], found_edges[16], neighbours[2], kind = 0;
  MPI_Comm ring;
  for (int i = 0; i < size; ++i) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + size - 1) % size;
    edges[2 * i + 1] = (i + 1) % size;
  }
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &ring));
  OK(MPI_Topo_test(ring, &kind));
  EQ(MPI_GRAPH, kind);
  OK(MPI_Graphdims_get(ring, &count, &edge_count));
  EQ(size, count);
  EQ(2 * size, edge_count);
  OK(MPI_Graph_get(ring, 8, 16, found_index, found_edges));
  for (int i = 0; i < size; ++i) EQ(index[i], found_index[i]);
  for (int i = 0; i < 2 * size; ++i) EQ(edges[i], found_edges[i]);
  OK(MPI_Graph_neighbors_count(ring, rank, &count));
  EQ(2, count);
  OK(MPI_Graph_neighbors(ring, rank, 2, neighbours));
  EQ((rank + 1) % size, neighbours[1]);
  OK(MPI_Comm_free(&ring));
}

static void check_distributed(MPI_Comm ring, int weighted_expected) {
  int in = -1, out = -1, weighted = -1, kind = 0, source = -1, target = -1, in_weight = 0, out_weight = 0;
  OK(MPI_Topo_test(ring, &kind));
  EQ(MPI_DIST_GRAPH, kind);
  OK(MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted));
  EQ(1, in);
  EQ(1, out);
  EQ(weighted_expected, weighted != 0);
  OK(MPI_Dist_graph_neighbors(ring, 1, &source, weighted ? &in_weight : MPI_UNWEIGHTED, 1, &target,
                              weighted ? &out_weight : MPI_UNWEIGHTED));
  EQ((rank + size - 1) % size, source);
  EQ((rank + 1) % size, target);
  if (weighted) {
    EQ(10 + source, in_weight);
    EQ(10 + rank, out_weight);
  }
}

static void distributed_graphs(void) {
  int next = (rank + 1) % size, previous = (rank + size - 1) % size, weight = 10 + rank, in_weight = 10 + previous;
  MPI_Comm ring;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &ring));
  check_distributed(ring, 0);
  OK(MPI_Comm_free(&ring));
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &in_weight, 1, &next, &weight, MPI_INFO_NULL, 0,
                                    &ring));
  check_distributed(ring, 1);
  OK(MPI_Comm_free(&ring));
  // Rank 0 tells the whole graph, the others nothing.
  int sources[8], degrees[8], targets[8], weights[8];
  for (int i = 0; i < size; ++i) {
    sources[i] = i;
    degrees[i] = 1;
    targets[i] = (i + 1) % size;
    weights[i] = 10 + i;
  }
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank ? 0 : size, sources, degrees, targets, weights, MPI_INFO_NULL, 0,
                           &ring));
  check_distributed(ring, 1);
  OK(MPI_Comm_free(&ring));
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                    MPI_INFO_NULL, 0, &ring));
  int in, out, weighted;
  OK(MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted));
  EQ(0, in + out);
  OK(MPI_Comm_free(&ring));
}

// What the map functions answer is the rank that creating the topology with leave to reorder gives: the one may be
// made of the other (MPI-4.1, 8.5.8).
static void map_is_rank(int place, MPI_Comm made) {
  int me = MPI_UNDEFINED;
  if (made != MPI_COMM_NULL) {
    OK(MPI_Comm_rank(made, &me));
    OK(MPI_Comm_free(&made));
  }
  EQ(me, place);
}

static void map_of_grid(MPI_Comm comm, int ndims, const int* shape, int periodic) {
  const int periods[3] = {periodic & 1, periodic >> 1 & 1, periodic >> 2};
  int place = UNTOUCHED;
  MPI_Comm grid;
  OK(MPI_Cart_map(comm, ndims, shape, periods, &place));
  OK(MPI_Cart_create(comm, ndims, shape, periods, 1, &grid));
  map_is_rank(place, grid);
}

// A chain of so many nodes, or with its ends joined.
static void map_of_graph(MPI_Comm comm, int nodes, int joined) {
  int index[8], edges[16], used = 0, place = UNTOUCHED;
  MPI_Comm graph;
  for (int i = 0; i < nodes; ++i) {
    if (i > 0 || joined) edges[used++] = (i + nodes - 1) % nodes;
    if (i < nodes - 1 || joined) edges[used++] = (i + 1) % nodes;
    index[i] = used;
  }
  OK(MPI_Graph_map(comm, nodes, index, edges, &place));
  OK(MPI_Graph_create(comm, nodes, index, edges, 1, &graph));
  map_is_rank(place, graph);
}

static void maps_on(MPI_Comm comm, int ranks) {
#ifdef OPEN_MPI  // its maps give a place to ranks beyond the topology; reordering/grid.c has such shapes for ours
  const int most_left_out = 0;
#else
  const int most_left_out = ranks > 1;
#endif
  for (int fewer = 0; fewer <= most_left_out; ++fewer) {
    const int places = ranks - fewer;
    for (int ndims = 1; ndims <= 3; ++ndims) {
      int shape[3] = {0, 0, 0};
      OK(MPI_Dims_create(places, ndims, shape));
      for (int periodic = 0; periodic < 1 << ndims; ++periodic) map_of_grid(comm, ndims, shape, periodic);
    }
    for (int joined = 0; joined <= 1; ++joined) map_of_graph(comm, places, joined);
  }
}

static void maps_and_nothing(void) {
  int kind = 0;
  MPI_Comm backwards;
  OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
  EQ(MPI_UNDEFINED, kind);
  maps_on(MPI_COMM_WORLD, size);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards));
  maps_on(backwards, size);
  OK(MPI_Comm_free(&backwards));
  maps_on(MPI_COMM_SELF, 1);
}

int main(void) {
  start();
  dims();
  cartesian(0);
  cartesian(1);
  smaller_grid_than_world();
  graph();
  distributed_graphs();
  maps_and_nothing();
  return finish("topology");
}
