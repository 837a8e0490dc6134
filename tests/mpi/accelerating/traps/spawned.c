// Communicators of two launches: the program starts two more of itself, and merges with them (spawn), the first or
// both of which lack the preloaded library (half, bare); or both sides part and meet again by a port (connect).
// Each collective on the merged communicator, in both orders of the sides, on a copy, on one with a rank of each
// side, and on the worlds between them.
// SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

enum { CHILDREN = 2, TAG = 3 };

static void use(MPI_Comm comm) {
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, comm, 1, 3);
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, comm, 0, 3000);
}

static void use_merged(MPI_Comm inter, int is_child) {
  for (int children_first = 0; children_first < 2; ++children_first) {
    MPI_Comm both = MPI_COMM_NULL, copy = MPI_COMM_NULL, pair = MPI_COMM_NULL;
    int rank = 0, size = 0, own = 0;
    MPI_Intercomm_merge(inter, children_first ? !is_child : is_child, &both);
    MPI_Comm_rank(both, &rank);
    MPI_Comm_size(both, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    REQUIRE(size >= CHILDREN + 1);
    use(both);
    use(MPI_COMM_WORLD);
    MPI_Comm_split(both, own == 0 ? 0 : MPI_UNDEFINED, -rank, &pair);
    if (pair != MPI_COMM_NULL) {
      use(pair);
      MPI_Comm_free(&pair);
    }
    MPI_Comm_dup(both, &copy);
    use(copy);
    MPI_Comm_free(&copy);
    use(both);
    MPI_Comm_free(&both);
  }
}

/// Both sides part, and meet by the children's port.
static MPI_Comm met_again(MPI_Comm inter, int is_child) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm again = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_rank(inter, &rank);
  if (is_child && rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, inter);
  }
  if (!is_child && rank == 0) MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, inter, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&inter);
  if (is_child) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &again);
    if (rank == 0) MPI_Close_port(port);
  } else {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &again);
  }
  return again;
}

static MPI_Comm spawn(char** argv) {
  char* lacking[] = {"-c",
                     "test \"$2\" = half && test \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 || unset LD_PRELOAD; "
                     "exec \"$1\" \"$2\"",
                     "sh",
                     argv[0],
                     argv[1],
                     NULL};
  const int all_have_it = strcmp(argv[1], "half") != 0 && strcmp(argv[1], "bare") != 0;
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_spawn(all_have_it ? argv[0] : "/bin/sh", all_have_it ? argv + 1 : lacking, CHILDREN, MPI_INFO_NULL, 1,
                 MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  return inter;
}

int main(int argc, char** argv) {
  MPI_Comm inter = MPI_COMM_NULL;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&inter);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int is_child = inter != MPI_COMM_NULL;
  if (!is_child) inter = spawn(argv);
  if (strcmp(argv[1], "connect") == 0) inter = met_again(inter, is_child);
  use_merged(inter, is_child);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  if (!is_child && rank == 0) puts("right");
  return 0;
}
