// MPI_Cart_create and MPI_Graph_create with and without leave to reorder: says which launch rank took which place
// of a chain, and checks that neighbours are who the topology says and that the map functions answer the same.
// SPDX-License-Identifier: BSD-3-Clause
#include "../conformance/check.h"

static int launch_rank(void) {
  const char* text = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  return text ? atoi(text) : -1;
}

static void check_neighbours(MPI_Comm comm, int me, int left, int right) {
  int from_left = -1, from_right = -1;
  OK(MPI_Sendrecv(&me, 1, MPI_INT, right, 1, &from_left, 1, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE));
  OK(MPI_Sendrecv(&me, 1, MPI_INT, left, 2, &from_right, 1, MPI_INT, right, 2, comm, MPI_STATUS_IGNORE));
  if (left != MPI_PROC_NULL) EQ(left, from_left);
  if (right != MPI_PROC_NULL) EQ(right, from_right);
}

static void chain(int reorder, int length) {
  const int open = 0;
  int me = -1, left = -1, right = -1, coordinate = -1, back = -1;
  int place = -1;
  MPI_Comm comm;
  OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &length, &open, &place));
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &length, &open, reorder, &comm));
  if (comm == MPI_COMM_NULL) {
    if (reorder) EQ(MPI_UNDEFINED, place);
    return;
  }
  OK(MPI_Comm_rank(comm, &me));
  if (reorder) EQ(me, place);
  OK(MPI_Cart_coords(comm, me, 1, &coordinate));
  OK(MPI_Cart_rank(comm, &coordinate, &back));
  EQ(me, back);
  OK(MPI_Cart_shift(comm, 0, 1, &left, &right));
  EQ(me == 0 ? MPI_PROC_NULL : me - 1, left);
  EQ(me == length - 1 ? MPI_PROC_NULL : me + 1, right);
  check_neighbours(comm, me, left, right);
  printf("chain %d %d place %d launch %d\n", reorder, length, coordinate, launch_rank());
  OK(MPI_Comm_free(&comm));
}

// The same chain as a graph: every edge told by both of its ends.
static void graph(int length) {
  int index[64], edges[128], used = 0, me = -1, place = -1, count = 0, neighbours[2];
  MPI_Comm comm;
  for (int i = 0; i < length; ++i) {
    if (i > 0) edges[used++] = i - 1;
    if (i < length - 1) edges[used++] = i + 1;
    index[i] = used;
  }
  OK(MPI_Graph_map(MPI_COMM_WORLD, length, index, edges, &place));
  OK(MPI_Graph_create(MPI_COMM_WORLD, length, index, edges, 1, &comm));
  if (comm == MPI_COMM_NULL) {
    EQ(MPI_UNDEFINED, place);
    return;
  }
  OK(MPI_Comm_rank(comm, &me));
  EQ(me, place);
  OK(MPI_Graph_neighbors_count(comm, me, &count));
  EQ(me > 0 && me < length - 1 ? 2 : 1, count);
  OK(MPI_Graph_neighbors(comm, me, count, neighbours));
  check_neighbours(comm, me, me > 0 ? neighbours[0] : MPI_PROC_NULL,
                   me < length - 1 ? neighbours[count - 1] : MPI_PROC_NULL);
  printf("graph %d place %d launch %d\n", length, me, launch_rank());
  OK(MPI_Comm_free(&comm));
}

int main(void) {
  start();
  chain(0, size);
  chain(1, size);
  chain(1, size - 1);
  graph(size);
  graph(size - 1);
  // What is no grid stays MPI's to refuse.
  MPI_Comm comm = MPI_COMM_NULL;
  int too_long = size + 1, open = 0, place = 0;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &too_long, &open, 1, &comm) != MPI_SUCCESS);
  CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, &size, &open, NULL) != MPI_SUCCESS);
  CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 1, NULL) != MPI_SUCCESS);
  return finish("grid");
}
