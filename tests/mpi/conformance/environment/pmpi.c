// Calls through PMPI_ names, function pointers and dlsym, mixed with ordinary ones: whoever watches the MPI_ names
// sees half of each request's and communicator's life and must not be confused by handles that come back.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include "check.h"

static int next, previous;

static void requests(void) {
  for (int i = 0; i < 500; ++i) {
    int value = -1;
    MPI_Request receive, send;
    MPI_Status status;
    poison(&status);
    OK((i % 2 ? MPI_Irecv : PMPI_Irecv)(&value, 1, MPI_INT, previous, i % 7, MPI_COMM_WORLD, &receive));
    OK((i % 3 ? MPI_Isend : PMPI_Isend)(&rank, 1, MPI_INT, next, i % 7, MPI_COMM_WORLD, &send));
    OK((i % 5 ? PMPI_Wait : MPI_Wait)(&receive, &status));
    OK((i % 4 ? MPI_Wait : PMPI_Wait)(&send, MPI_STATUS_IGNORE));
    CHECK_STATUS(status, previous, i % 7, 1, MPI_INT);
    EQ(previous, value);
  }
}

static void persistent(void) {
  int value = -1;
  MPI_Request pair[2];
  OK(PMPI_Recv_init(&value, 1, MPI_INT, previous, 9, MPI_COMM_WORLD, &pair[0]));
  OK(MPI_Send_init(&rank, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &pair[1]));
  for (int i = 0; i < 6; ++i) {
    value = -1;
    OK((i % 2 ? MPI_Startall : PMPI_Startall)(2, pair));
    OK((i % 3 ? MPI_Waitall : PMPI_Waitall)(2, pair, MPI_STATUSES_IGNORE));
    EQ(previous, value);
  }
  OK(MPI_Request_free(&pair[0]));
  OK(PMPI_Request_free(&pair[1]));
}

static void communicators(void) {
  for (int i = 0; i < 40; ++i) {
    MPI_Comm comm;
    int me = -1, value = -1;
    int (*split)(MPI_Comm, int, int, MPI_Comm*) = i % 2 ? MPI_Comm_split : PMPI_Comm_split;
    OK(split(MPI_COMM_WORLD, 0, i % 3 ? -rank : rank, &comm));
    OK(MPI_Comm_rank(comm, &me));
    EQ(i % 3 ? size - 1 - rank : rank, me);
    OK(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % size, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm,
                    MPI_STATUS_IGNORE));
    EQ((me + size - 1) % size, value);
    OK((i % 5 ? PMPI_Comm_free : MPI_Comm_free)(&comm));
  }
}

typedef int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

static void looked_up(void) {
  static const char* const names[] = {"MPI_Allreduce", "PMPI_Allreduce"};
  for (int i = 0; i < 2; ++i) {
    int sum = 0;
    void* address = dlsym(RTLD_DEFAULT, names[i]);
    CHECK(address != NULL);
    allreduce call;
    memcpy(&call, &address, sizeof call);
    OK(call(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EQ(size * (size - 1) / 2, sum);
  }
}

int main(void) {
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  requests();
  persistent();
  communicators();
  looked_up();
  return finish("pmpi");
}
