// Two ranks, strided ints from the even to the odd one; every message is checked. By default one after the other,
// all of the bytes in the first argument; with a second argument so many at once. Compiled with -DSHIM it is the
// library that stands behind the packing library and counts from how many places packed messages went on: it prints
// "places COUNT" when rank 0 ends. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SHIM

#include <dlfcn.h>

static const void* places[4096];
static int used;

static void note(const void* place, MPI_Datatype type) {
  if (type != MPI_PACKED) return;
  for (int i = 0; i < used; ++i)
    if (places[i] == place) return;
  if (used < 4096) places[used++] = place;
}

#define NEXT(name) ((__typeof__(name)*)dlsym(RTLD_NEXT, #name))

int PMPI_Send(const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  note(buf, type);
  return NEXT(PMPI_Send)(buf, count, type, to, tag, comm);
}

int PMPI_Isend(const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  note(buf, type);
  return NEXT(PMPI_Isend)(buf, count, type, to, tag, comm, request);
}

int PMPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("places %d\n", used);
  fflush(stdout);
  return NEXT(PMPI_Finalize)();
}

#else

enum { kMessages = 64, kMost = 64 };

static int value(int message, int i) {
  return message * 1000003 + i;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ints = atoi(argv[1]) / (int)sizeof(int), at_once = argc > 2 ? atoi(argv[2]) : 0;
  int rank, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype type;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  int* items[kMost];
  const int buffers = at_once > 0 ? at_once : 1;
  for (int k = 0; k < buffers; ++k) items[k] = calloc(2 * (size_t)ints, sizeof(int));
  for (int message = 0; message < kMessages; message += buffers) {
    MPI_Request requests[kMost];
    for (int k = 0; k < buffers; ++k) {
      for (int i = 0; i < ints; ++i) items[k][2 * i] = rank == 0 ? value(message + k, i) : -1;
      if (rank == 0 && at_once > 0) MPI_Isend(items[k], 1, type, 1, k, MPI_COMM_WORLD, &requests[k]);
      if (rank == 0 && at_once == 0) MPI_Send(items[k], 1, type, 1, k, MPI_COMM_WORLD);
      if (rank == 1 && at_once > 0) MPI_Irecv(items[k], 1, type, 0, k, MPI_COMM_WORLD, &requests[k]);
      if (rank == 1 && at_once == 0) MPI_Recv(items[k], 1, type, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (at_once > 0) MPI_Waitall(buffers, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; rank == 1 && k < buffers; ++k)
      for (int i = 0; i < ints; ++i) wrong += items[k][2 * i] != value(message + k, i) || items[k][2 * i + 1] != 0;
  }
  for (int k = 0; k < buffers; ++k) free(items[k]);
  MPI_Type_free(&type);
  if (rank == 1) printf("wrong %d\n", wrong);
  fflush(stdout);
  MPI_Finalize();
  return wrong != 0;
}

#endif
