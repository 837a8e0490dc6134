// What MPI-4 added to point-to-point; 2 ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

static int numbers[256];

SCENARIO(isendrecv) {
#ifdef HAVE_MPI4
  MPI_Request request[2];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Isendrecv(numbers, 3, MPI_INT, right, 1, numbers + 64, 64, MPI_INT, left, 1, MPI_COMM_WORLD, &request[0]);
  MPI_Isendrecv_replace(numbers + 128, 2, MPI_INT, left, 2, right, 2, MPI_COMM_WORLD, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
#endif
}

// The receive is started first: a send that finds none may never end in Open MPI 5.0.
SCENARIO(partitioned) {
#ifdef HAVE_MPI4
  MPI_Request request;
  if (rank == 0)
    MPI_Psend_init(numbers, 4, 2, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(numbers, 4, 2, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int round = 0; round < 2; ++round) {
    if (rank == 1) MPI_Start(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Start(&request);
    for (int part = 0; rank == 0 && part < 4; ++part) MPI_Pready(part, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&request);
#endif
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define LOOKS_AT_SEVERAL
#endif

// What is seen to be complete by a call that looks at several requests may be freed, and waited for.
SCENARIO(looked_at_several) {
#ifdef LOOKS_AT_SEVERAL
  if (rank == 0) {
    for (int tag = 1; tag < 7; ++tag) MPI_Send(numbers, tag, MPI_INT, 1, tag, MPI_COMM_WORLD);
    return;
  }
  for (int how = 0; how < 3; ++how) {
    MPI_Request request[2];
    int seen = 0, index, indices[2];
    for (int i = 0; i < 2; ++i)
      MPI_Irecv(numbers + 8 * i, 8, MPI_INT, 0, 2 * how + i + 1, MPI_COMM_WORLD, &request[i]);
    while (how == 0 && seen == 0) MPI_Request_get_status_all(2, request, &seen, MPI_STATUSES_IGNORE);
    while (how == 1 && seen == 0) MPI_Request_get_status_any(1, request, &index, &seen, MPI_STATUS_IGNORE);
    while (how == 2 && seen == 0) MPI_Request_get_status_some(1, request, &seen, indices, MPI_STATUSES_IGNORE);
    MPI_Request_free(&request[0]);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
  }
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  isendrecv();
  partitioned();
  looked_at_several();
  MPI_Finalize();
  if (rank == 0) puts("ok newer");
  return 0;
}
