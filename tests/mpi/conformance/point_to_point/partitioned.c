// Partitioned transfers: partitions made ready one by one, in ranges and in lists, out of order, over several
// rounds. Only what both libraries do reliably: receives are started before sends, and completion is awaited, not
// polled.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

#ifdef HAVE_MPI4
enum { PARTITIONS = 8, EACH = 25, ROUNDS = 5 };
static int data[PARTITIONS * EACH];

static void make_ready(MPI_Request request, int round) {
  if (round % 3 == 0)
    for (int i = PARTITIONS - 1; i >= 0; --i) OK(MPI_Pready(i, request));
  else if (round % 3 == 1) {
    OK(MPI_Pready_range(4, PARTITIONS - 1, request));
    OK(MPI_Pready_range(0, 3, request));
  } else {
    OK(MPI_Pready_list(4, (int[]){7, 1, 3, 5}, request));
    OK(MPI_Pready_list(4, (int[]){0, 2, 4, 6}, request));
  }
}

static void send_rounds(MPI_Request request) {
  for (int round = 0; round < ROUNDS; ++round) {
    fill(data, PARTITIONS * EACH, round);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Start(&request));
    make_ready(request, round);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
}

static void receive_rounds(MPI_Request request) {
  for (int round = 0; round < ROUNDS; ++round) {
    memset(data, 0, sizeof data);
    OK(MPI_Start(&request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_FILL(data, PARTITIONS * EACH, round);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Request_free(&request));
}

// The two sides may cut the same data into different numbers of partitions.
static void transfer(int receive_partitions) {
  MPI_Request request;
  if (rank == 0) {
    OK(MPI_Psend_init(data, PARTITIONS, EACH, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    send_rounds(request);
  } else {
    int each = PARTITIONS * EACH / receive_partitions;
    OK(MPI_Precv_init(data, receive_partitions, each, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    receive_rounds(request);
  }
}

// A partition said to have arrived must be there.
static void arrivals(void) {
  MPI_Request request;
  if (rank == 0) {
    fill(data, PARTITIONS * EACH, 9);
    OK(MPI_Psend_init(data, PARTITIONS, EACH, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    OK(MPI_Pready_range(0, PARTITIONS - 1, request));
  } else {
    memset(data, 0, sizeof data);
    OK(MPI_Precv_init(data, PARTITIONS, EACH, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (int i = 0; i < PARTITIONS; ++i) {
      int flag = 0;
      while (!flag) OK(MPI_Parrived(request, i, &flag));
      for (int k = 0; k < EACH; ++k) EQ(9 * 1000003 + i * EACH + k, data[i * EACH + k]);
    }
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
}
#endif

int main(void) {
  start();
#ifdef HAVE_MPI4
  transfer(PARTITIONS);
  transfer(1);
  arrivals();
#endif
  return finish("partitioned");
}
