// Generalized requests: the three callbacks run when and as often as MPI-4.0, 13.2 says, and mix with other
// requests.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

typedef struct {
  int queries, frees, cancels, complete_at_cancel;
} calls;

static int query(void* state, MPI_Status* status) {
  ++((calls*)state)->queries;
  OK(MPI_Status_set_elements(status, MPI_DOUBLE, 5));
  OK(MPI_Status_set_cancelled(status, ((calls*)state)->cancels > 0));
  status->MPI_SOURCE = 71;
  status->MPI_TAG = 72;
  return MPI_SUCCESS;
}

static int release(void* state) {
  ++((calls*)state)->frees;
  return MPI_SUCCESS;
}

static int cancel(void* state, int complete) {
  ++((calls*)state)->cancels;
  ((calls*)state)->complete_at_cancel = complete;
  return MPI_SUCCESS;
}

static void completed_by_wait(void) {
  calls state = {0};
  MPI_Request request;
  MPI_Status status;
  int flag = 1;
  OK(MPI_Grequest_start(query, release, cancel, &state, &request));
  OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  EQ(0, flag);
  OK(MPI_Grequest_complete(request));
  poison(&status);
  OK(MPI_Request_get_status(request, &flag, &status));
  EQ(1, flag);
  EQ(0, state.frees);
  poison(&status);
  OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(state.queries >= 1);
  EQ(1, state.frees);
  EQ(0, state.cancels);
  EQ(71, status.MPI_SOURCE);
  EQ(72, status.MPI_TAG);
  EQ(5, count_of(&status, MPI_DOUBLE));
}

// The query callback must run even where the caller ignores the status.
static void query_runs_with_ignored_statuses(void) {
  calls state[2] = {{0}, {0}};
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) OK(MPI_Grequest_start(query, release, cancel, &state[i], &requests[i]));
  for (int i = 0; i < 2; ++i) OK(MPI_Grequest_complete(requests[i]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) {
    CHECK(state[i].queries >= 1);
    EQ(1, state[i].frees);
  }
}

static void cancelled(void) {
  calls state = {0};
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  OK(MPI_Grequest_start(query, release, cancel, &state, &request));
  OK(MPI_Cancel(&request));
  EQ(1, state.cancels);
  EQ(0, state.complete_at_cancel);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  EQ(1, flag);
  EQ(1, state.frees);
}

static void freed_before_completion(void) {
  calls state = {0};
  MPI_Request request, copy;
  OK(MPI_Grequest_start(query, release, cancel, &state, &request));
  copy = request;
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  EQ(0, state.frees);
  OK(MPI_Grequest_complete(copy));
  EQ(1, state.frees);
}

static void among_messages(void) {
  calls state = {0};
  int value = -1, index = -1, next = (rank + 1) % size;
  MPI_Request requests[3];
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Grequest_start(query, release, cancel, &state, &requests[1]));
  OK(MPI_Isend(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]));
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
    CHECK(index != 1);
  }
  EQ((rank + size - 1) % size, value);
  OK(MPI_Grequest_complete(requests[1]));
  OK(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
  EQ(1, index);
  EQ(1, state.frees);
}

int main(void) {
  start();
  completed_by_wait();
  query_runs_with_ignored_statuses();
  cancelled();
  freed_before_completion();
  among_messages();
  return finish("generalized");
}
