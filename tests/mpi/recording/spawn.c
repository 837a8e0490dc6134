// A parent and the two children that it spawns talk over their intercommunicator, then merged.
// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

SCENARIO(across) {
  MPI_Comm parent, inter, merged;
  int number = 5;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length] = '\0';
    MPI_Comm_spawn(self, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
    MPI_Send(&number, 1, MPI_INT, 1, 1, inter);
    MPI_Recv(&number, 1, MPI_INT, 1, 2, inter, MPI_STATUS_IGNORE);
    MPI_Intercomm_merge(inter, 0, &merged);
  } else {
    inter = parent;
    if (rank == 1) {
      MPI_Recv(&number, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
      MPI_Send(&number, 1, MPI_INT, 0, 2, inter);
    }
    MPI_Intercomm_merge(inter, 1, &merged);
  }
  // Merged: the parent is 0, the children 1 and 2.
  if (parent == MPI_COMM_NULL) MPI_Recv(&number, 1, MPI_INT, 2, 3, merged, MPI_STATUS_IGNORE);
  if (parent != MPI_COMM_NULL && rank == 1) MPI_Send(&number, 1, MPI_INT, 0, 3, merged);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&inter);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  across();
  MPI_Finalize();
  if (parent == MPI_COMM_NULL) puts("ok spawn");
  return 0;
}
