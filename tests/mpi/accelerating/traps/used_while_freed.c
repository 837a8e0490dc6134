// A program's own delete callback uses the communicator that is being freed; the handle may come back.
// SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

static int used(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  collective(3, comm, 0, 2);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int key, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, used, &key, NULL);
  for (int i = 0; i < 20; ++i) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, i % 2 == 0 ? 0 : rank % 2, i % 3 == 0 ? -rank : rank, &comm);
    if (i % 4 < 2) MPI_Comm_set_attr(comm, key, NULL);
    for (int kind = 0; kind < KINDS; ++kind) collective(kind, comm, 0, 5);
    if (i % 4 >= 2) MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm_free(&comm);
  }
  return finish();
}
