// More requests under way than the request table holds; afterwards the table must be as good as new. 2 ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

enum { kRequests = 70000 };

static MPI_Request requests[kRequests];

SCENARIO(flood) {
  if (rank == 0) {
    for (int i = 0; i < kRequests; ++i) MPI_Irecv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kRequests; ++i) MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
}

SCENARIO(after) {
  if (rank == 0) {
    for (int i = 0; i < 1000; ++i) MPI_Irecv(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(1000, requests, MPI_STATUSES_IGNORE);
  } else {
    for (int i = 0; i < 1000; ++i) MPI_Send(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  flood();
  MPI_Barrier(MPI_COMM_WORLD);
  after();
  MPI_Finalize();
  if (rank == 0) puts("ok many");
  return 0;
}
