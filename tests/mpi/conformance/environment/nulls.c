// Null pointers and null handles where MPI must have something to read or to write. MPI refuses them with an error,
// under a handler that returns and under one of the program's own; nothing that stands between program and MPI may
// look behind them before or after. Meanwhile a request is under way, which completes all the same.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static int returning;  // under a handler of the program's own MPICH returns MPI_SUCCESS
static int values[8];
static MPI_Datatype type;  // non-contiguous

static void listen(MPI_Comm* where, int* code, ...) {
  (void)where;
  (void)code;
}

#define REFUSED(call) refused(__LINE__, #call, call)
static void refused(int line, const char* what, int code) {
  if (returning && code == MPI_SUCCESS) fail_at(__FILE__, line, "%s: no error", what);
}

static void started(MPI_Comm comm) {
  REFUSED(MPI_Isend(values, 1, MPI_INT, 0, 1, comm, NULL));
  REFUSED(MPI_Isend(values, 1, type, 0, 1, comm, NULL));
  REFUSED(MPI_Irecv(values, 1, MPI_INT, 0, 1, comm, NULL));
  REFUSED(MPI_Irecv(values, 1, type, 0, 1, comm, NULL));
  REFUSED(MPI_Send_init(values, 1, MPI_INT, 0, 1, comm, NULL));
  REFUSED(MPI_Recv_init(values, 1, type, 0, 1, comm, NULL));
#ifndef OPEN_MPI  // writes there
  REFUSED(MPI_Ibarrier(comm, NULL));
#endif
  REFUSED(MPI_Start(NULL));
  REFUSED(MPI_Startall(2, NULL));
}

static void completed(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  int flag = 0, index = 0, count = 0, indices[2];
  REFUSED(MPI_Wait(NULL, MPI_STATUS_IGNORE));
  REFUSED(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE));
  REFUSED(MPI_Waitany(2, NULL, &index, MPI_STATUS_IGNORE));
  REFUSED(MPI_Waitsome(2, NULL, &count, indices, MPI_STATUSES_IGNORE));
  REFUSED(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
  REFUSED(MPI_Testall(2, NULL, &flag, MPI_STATUSES_IGNORE));
  REFUSED(MPI_Testany(2, NULL, &index, &flag, MPI_STATUS_IGNORE));
  REFUSED(MPI_Testsome(2, NULL, &count, indices, MPI_STATUSES_IGNORE));
  REFUSED(MPI_Test(&none, NULL, MPI_STATUS_IGNORE));
  REFUSED(MPI_Testall(1, &none, NULL, MPI_STATUSES_IGNORE));
  REFUSED(MPI_Waitany(1, &none, NULL, MPI_STATUS_IGNORE));
  REFUSED(MPI_Waitsome(1, &none, NULL, indices, MPI_STATUSES_IGNORE));
  REFUSED(MPI_Request_free(NULL));
  REFUSED(MPI_Cancel(NULL));
  REFUSED(MPI_Request_get_status(MPI_REQUEST_NULL, NULL, MPI_STATUS_IGNORE));
}

static void packed(MPI_Comm comm) {
  char room[64];
  REFUSED(MPI_Pack(values, 1, type, room, sizeof room, NULL, comm));
}

static void null_handles(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  REFUSED(MPI_Start(&none));
  REFUSED(MPI_Startall(1, &none));
  REFUSED(MPI_Request_free(&none));
}

static void probed(MPI_Comm comm) {
#ifndef OPEN_MPI  // writes there, and raises the error of MPI_Mrecv on MPI_COMM_NULL
  REFUSED(MPI_Iprobe(0, 1, comm, NULL, MPI_STATUS_IGNORE));
  REFUSED(MPI_Mrecv(values, 1, MPI_INT, NULL, MPI_STATUS_IGNORE));
  REFUSED(MPI_Mrecv(values, 1, type, NULL, MPI_STATUS_IGNORE));
#else
  (void)comm;
#endif
}

static void topologies(MPI_Comm comm) {
  const int open = 0, edges[1] = {0};
  int ranks = 0, nodes[8] = {0};
  OK(MPI_Comm_size(comm, &ranks));
  REFUSED(MPI_Cart_create(comm, 1, &ranks, &open, 1, NULL));
  REFUSED(MPI_Cart_map(comm, 1, &ranks, &open, NULL));
#ifndef OPEN_MPI  // writes there
  REFUSED(MPI_Graph_create(comm, ranks, nodes, edges, 1, NULL));
#endif
  REFUSED(MPI_Graph_map(comm, ranks, nodes, edges, NULL));
}

static void all(MPI_Comm comm) {
  MPI_Request request;
  int got = UNTOUCHED, mine = 0;
  OK(MPI_Comm_rank(comm, &mine));
  OK(MPI_Irecv(&got, 1, MPI_INT, mine, 9, comm, &request));
  started(comm);
  completed();
  null_handles();
  packed(comm);
  probed(comm);
  topologies(comm);
  OK(MPI_Send(&mine, 1, MPI_INT, mine, 9, comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(mine, got);
}

// Its error belongs to the communicator; the world's handler, which ends the job, never hears of it.
static void null_type(MPI_Errhandler handler) {
  MPI_Comm comm;
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_set_errhandler(comm, handler));
  REFUSED(MPI_Send(values, 1, MPI_DATATYPE_NULL, 0, 1, comm));
  REFUSED(MPI_Irecv(values, 1, MPI_DATATYPE_NULL, 0, 1, comm, &request));
  REFUSED(MPI_Bcast(values, 1, MPI_DATATYPE_NULL, 0, comm));
  OK(MPI_Comm_free(&comm));
}

int main(void) {
  MPI_Errhandler own;
  start();
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Comm_create_errhandler(listen, &own));
  const MPI_Errhandler handlers[2] = {MPI_ERRORS_RETURN, own};
  for (int i = 0; i < 2; ++i) {
    returning = i == 0;
    null_type(handlers[i]);
  }
  for (int i = 0; i < 2; ++i) {
    returning = i == 0;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handlers[i]));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handlers[i]));
#ifndef MPI_ABI_VERSION  // MPICH's layer for the standard ABI converts handles before anybody looks at pointers
    all(MPI_COMM_WORLD);
    all(MPI_COMM_SELF);
#endif
  }
  OK(MPI_Errhandler_free(&own));
  OK(MPI_Type_free(&type));
  return finish("nulls");
}
