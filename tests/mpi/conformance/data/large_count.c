// Counts beyond int: the _c functions where the library has them (with counts that also fit int, so that the memory
// fits), and sizes, extents and statuses beyond two to the 31 in both.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static void large_types(void) {
  MPI_Datatype mega, giant;
  MPI_Count bytes = -1, lower = -1, extent = -1;
  int small = -1;
  OK(MPI_Type_contiguous(1 << 20, MPI_INT, &mega));
  OK(MPI_Type_contiguous(1 << 12, mega, &giant));
  OK(MPI_Type_commit(&giant));
  OK(MPI_Type_size_x(giant, &bytes));
  EQ(1LL << 34, bytes);
  OK(MPI_Type_get_extent_x(giant, &lower, &extent));
  EQ(0, lower);
  EQ(1LL << 34, extent);
  OK(MPI_Type_size(giant, &small));
  EQ(MPI_UNDEFINED, small);
  // No elements of a type of sixteen gigabytes are still an ordinary empty message.
  MPI_Status status;
  poison(&status);
  OK(MPI_Sendrecv(NULL, 0, giant, (rank + 1) % size, 1, NULL, 0, giant, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                  &status));
  CHECK_STATUS(status, (rank + size - 1) % size, 1, 0, giant);
  OK(MPI_Type_free(&giant));
  OK(MPI_Type_free(&mega));
}

static void large_status(void) {
  MPI_Status status;
  MPI_Count elements = -1;
  int count = -1;
  memset(&status, 0, sizeof status);
  OK(MPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)5000000000));
  OK(MPI_Get_elements_x(&status, MPI_BYTE, &elements));
  EQ(5000000000, elements);
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  EQ(MPI_UNDEFINED, count);
}

#ifdef HAVE_LARGE_COUNT
enum { N = 3000 };

static void messages(void) {
  static int out[N], in[N];
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Status status, statuses[2];
  MPI_Count count = -1;
  fill(out, N, rank);
  OK(MPI_Irecv_c(in, N, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend_c(out, N, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, statuses));
  OK(MPI_Get_count_c(&statuses[0], MPI_INT, &count));
  EQ(N, count);
  CHECK_FILL(in, N, previous);
  poison(&status);
  OK(MPI_Sendrecv_c(out, 5, MPI_INT, next, 2, in, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                    &status));
  CHECK_STATUS(status, previous, 2, 5, MPI_INT);
  if (rank == 0) OK(MPI_Send_c(out, N, MPI_INT, 1, 3, MPI_COMM_WORLD));
  if (rank == 1) OK(MPI_Recv_c(in, N, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Recv_init_c(in, N, MPI_INT, previous, 4, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send_init_c(out, N, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[1]));
  for (int i = 0; i < 3; ++i) {
    fill(out, N, rank + i);
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_FILL(in, N, previous + i);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&requests[i]));
}

static void collectives(void) {
  static int in[64], out[64];
  MPI_Count counts[64];
  MPI_Aint places[64];
  int value = rank == 0 ? 99 : -1, sum = 0;
  MPI_Request request;
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    places[i] = size - 1 - i;
    out[size - 1 - i] = 10 * rank + i;
  }
  OK(MPI_Bcast_c(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  EQ(99, value);
  OK(MPI_Allreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EQ(size * (size - 1) / 2, sum);
  OK(MPI_Allgatherv_c(&rank, 1, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) EQ(i, in[size - 1 - i]);
  OK(MPI_Alltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) EQ(10 * i + rank, in[size - 1 - i]);
  memset(in, 0, sizeof in);
  OK(MPI_Ialltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < size; ++i) EQ(10 * i + rank, in[size - 1 - i]);
}

static void types(void) {
  MPI_Datatype type;
  MPI_Count bytes = -1, lower = -1, extent = -1;
  OK(MPI_Type_contiguous_c((MPI_Count)5000000000, MPI_BYTE, &type));
  OK(MPI_Type_size_c(type, &bytes));
  EQ(5000000000, bytes);
  OK(MPI_Type_get_extent_c(type, &lower, &extent));
  EQ(5000000000, extent);
  OK(MPI_Type_free(&type));
}
#endif

int main(void) {
  start();
  large_types();
  large_status();
#ifdef HAVE_LARGE_COUNT
  messages();
  collectives();
  types();
#endif
  return finish("large_count");
}
