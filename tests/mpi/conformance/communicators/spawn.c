// Dynamic processes: the program starts two more of itself, talks to them across the intercommunicator, merges with
// them, and starts more in one call of the multiple kind. The children check the same from their side.
// MPICH 5.0.2 hangs now and then between its UCX layer and spawned processes; its OFI layer is asked for instead.
//
// ranks: 1 2
// environment: MPIR_CVAR_CH4_NETMOD=ofi
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { CHILDREN = 2 };

// With room for as many as the parents are, and leave to choose who: of two worlds, which must not disagree.
static void make_grid(MPI_Comm both, int places) {
  const int open = 0;
  int is_in = 0, sum = -1;
  MPI_Comm grid;
  OK(MPI_Cart_create(both, 1, &places, &open, 1, &grid));
  is_in = grid != MPI_COMM_NULL;
  if (is_in) OK(MPI_Comm_free(&grid));
  OK(MPI_Allreduce(&is_in, &sum, 1, MPI_INT, MPI_SUM, both));
  EQ(places, sum);
}

static void talk(MPI_Comm inter, int is_child) {
  int flag = 0, remote = -1, me = -1, value = -1, sum = -1, merged_rank = -1, merged_size = -1;
  MPI_Comm both;
  OK(MPI_Comm_test_inter(inter, &flag));
  EQ(1, flag);
  OK(MPI_Comm_rank(inter, &me));
  OK(MPI_Comm_remote_size(inter, &remote));
  if (me == 0) {
    int out = is_child ? 11 : 22;
    MPI_Status status;
    poison(&status);
    OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 3, &value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
    EQ(is_child ? 22 : 11, value);
    CHECK_STATUS(status, 0, 3, 1, MPI_INT);
  }
  OK(MPI_Intercomm_merge(inter, is_child, &both));
  OK(MPI_Comm_rank(both, &merged_rank));
  OK(MPI_Comm_size(both, &merged_size));
  EQ(size + remote, merged_size);
  EQ((is_child ? remote : 0) + me, merged_rank);
  OK(MPI_Allreduce(&merged_rank, &sum, 1, MPI_INT, MPI_SUM, both));
  EQ(merged_size * (merged_size - 1) / 2, sum);
  OK(MPI_Sendrecv(&merged_rank, 1, MPI_INT, (merged_rank + 1) % merged_size, 4, &value, 1, MPI_INT, MPI_ANY_SOURCE,
                  4, both, MPI_STATUS_IGNORE));
  EQ((merged_rank + merged_size - 1) % merged_size, value);
  make_grid(both, merged_size - CHILDREN);
  OK(MPI_Comm_free(&both));
}

static int be_a_child(MPI_Comm parent) {
  int sum = 0;
  talk(parent, 1);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EQ(size * (size - 1) / 2, sum);
  OK(MPI_Comm_disconnect(&parent));
  CHECK(parent == MPI_COMM_NULL);
  OK(MPI_Finalize());
  return 0;
}

int main(int argc, char** argv) {
  MPI_Comm parent = MPI_COMM_WORLD, children;
  int codes[CHILDREN] = {UNTOUCHED, UNTOUCHED};
  start();
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    CHECK(argc == 2 && strcmp(argv[1], "child") == 0);
    return be_a_child(parent);
  }
  EQ(1, argc);
  OK(MPI_Comm_spawn(argv[0], (char*[]){"child", NULL}, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                    codes));
  for (int i = 0; i < CHILDREN; ++i) EQ(MPI_SUCCESS, codes[i]);
  talk(children, 0);
  OK(MPI_Comm_disconnect(&children));
  CHECK(children == MPI_COMM_NULL);
  char** arguments[] = {(char*[]){"child", NULL}, (char*[]){"child", NULL}};
  OK(MPI_Comm_spawn_multiple(2, (char*[]){argv[0], argv[0]}, arguments, (int[]){1, 1},
                             (MPI_Info[]){MPI_INFO_NULL, MPI_INFO_NULL}, 0, MPI_COMM_WORLD, &children,
                             MPI_ERRCODES_IGNORE));
  talk(children, 0);
  OK(MPI_Comm_disconnect(&children));
  return finish("spawn");
}
