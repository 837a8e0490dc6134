// Failed calls with non-contiguous types under an error handler of the program that returns; MPICH 5 then says
// MPI_SUCCESS. Nothing is received, requests that go on have their data when they end, no other memory is touched.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { BLOCKS = 400, NOWHERE = 99, BEFORE = -1 };

static MPI_Comm comm;
static MPI_Datatype type, longer;
static int heard;
static int sent[4 * BLOCKS], got[4 * BLOCKS], other[4 * BLOCKS];

static void listen(MPI_Comm* where, int* code, ...) {
  (void)where;
  (void)code;
  ++heard;
}

static void empty(void) {
  heard = 0;
  for (int i = 0; i < 4 * BLOCKS; ++i) got[i] = other[i] = BEFORE;
}

static void exchange(int tag) {
  MPI_Request request;
  OK(MPI_Irecv(other, BLOCKS, MPI_INT, 0, tag, comm, &request));
  OK(MPI_Send(sent, BLOCKS, MPI_INT, 0, tag, comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void untouched(void) {
  EQ(1, heard);
  for (int i = 0; i < 4 * BLOCKS; ++i) EQ(BEFORE, got[i]);
}

static void failed_receives(void) {
  MPI_Status status, full;
  OK(MPI_Sendrecv(sent, 1, type, 0, 1, got, 1, type, 0, 1, comm, &full));
  empty();
  status = full;
  MPI_Recv(got, 1, type, NOWHERE, 0, comm, &status);
  untouched();
  empty();
  status = full;
  MPI_Recv(got, 1, type, 0, -77, comm, &status);
  untouched();
  empty();
  status = full;
  MPI_Sendrecv(sent, 1, MPI_INT, NOWHERE, 0, got, 1, type, 0, 0, comm, &status);
  untouched();
}

static void failed_posts(void) {
  MPI_Request request, stale;
  empty();
  memset(&request, 0x5a, sizeof request);
  MPI_Isend(sent, 1, type, NOWHERE, 0, comm, &request);
  EQ(1, heard);
  // A handle that MPI gives again to the requests of later messages.
  OK(MPI_Irecv(other, BLOCKS, MPI_INT, 0, 2, comm, &request));
  stale = request;
  OK(MPI_Send(sent, BLOCKS, MPI_INT, 0, 2, comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  empty();
  MPI_Irecv(got, 1, type, NOWHERE, 0, comm, &stale);
  for (int i = 0; i < 8; ++i) exchange(3);
  untouched();
}

static int wait_for(const char* how, MPI_Request* requests, MPI_Status* statuses) {
  int index = 1, count = 0, flag = 0, indices[2] = {1, 1};
  if (!strcmp(how, "all")) return MPI_Waitall(2, requests, statuses);
  if (!strcmp(how, "some")) return MPI_Waitsome(2, requests, &count, indices, statuses);
  if (!strcmp(how, "any")) return MPI_Waitany(2, requests, &index, statuses);
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && flag == 0 && heard == 0)
    code = !strcmp(how, "test any") ? MPI_Testany(2, requests, &index, &flag, statuses)
                                    : MPI_Testall(2, requests, &flag, statuses);
  return code;
}

// The first of two receives is too short for its message; the second one's comes later, or is there.
static void one_failed(const char* how, int is_there) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  empty();
  memset(statuses, 0, sizeof statuses);
  OK(MPI_Irecv(other, 1, type, 0, 4, comm, &requests[0]));
  OK(MPI_Irecv(got, 1, type, 0, 5, comm, &requests[1]));
  MPI_Send(sent, 1, longer, 0, 4, comm);
  if (is_there) OK(MPI_Send(sent, 1, type, 0, 5, comm));
  wait_for(how, requests, statuses);
  if (!is_there) OK(MPI_Send(sent, 1, type, 0, 5, comm));
  if (requests[1] != MPI_REQUEST_NULL) OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  for (int i = 0; i < 2 * BLOCKS - 1; ++i) EQ(i % 2 == 0 ? i : BEFORE, got[i]);
}

int main(void) {
  MPI_Errhandler handler;
  start();
  for (int i = 0; i < 4 * BLOCKS; ++i) sent[i] = i;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_errhandler(listen, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_vector(2 * BLOCKS, 1, 2, MPI_INT, &longer));
  OK(MPI_Type_commit(&longer));
  failed_receives();
  failed_posts();
  one_failed("all", 1);
  // Open MPI takes away what has failed together, and waits for the rest.
  if (!library_is("Open MPI")) {
    one_failed("some", 0);
    one_failed("some", 1);
    one_failed("any", 0);
    one_failed("test any", 0);
    one_failed("test all", 1);
  }
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&longer));
  OK(MPI_Comm_free(&comm));
  return finish("typed_handlers");
}
