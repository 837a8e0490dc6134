// Legal programs in corners of MPI: each scenario is run alone, named by the argument, by one or two ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>

#include "scenario.h"

enum { kRounds = 4, kLarge = 20000 };

// Open MPI goes on under a new request where the last start of a buffered send has not ended: rank 1 receives none
// before the barrier.
SCENARIO(restarted) {
  static int numbers[kLarge];
  const int room = (kRounds + 1) * (int)(sizeof numbers + MPI_BSEND_OVERHEAD);
  void* buffer = malloc(room);
  MPI_Request requests[2];
  int left;
  if (rank == 1) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2 * kRounds; ++i)
      MPI_Recv(numbers, kLarge, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(buffer);
    return;
  }
  MPI_Buffer_attach(buffer, room);
  MPI_Bsend_init(numbers, kLarge, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(numbers, 10, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < kRounds; ++i) {
    i % 2 == 0 ? MPI_Start(&requests[0]) : MPI_Startall(1, requests);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kRounds; ++i) {
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  MPI_Buffer_detach(&buffer, &left);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  free(buffer);
}

static void look(MPI_Request request) {
  for (int flag = 0; flag == 0;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
}

// What MPI_Request_get_status has seen to be complete may be freed, and a persistent one waited for.
SCENARIO(looked_at) {
  int numbers[4] = {1, 2, 3, 4};
  MPI_Request request;
  if (rank == 1) {
    for (int tag = 1; tag < 5; ++tag) MPI_Send(numbers, tag, MPI_INT, 0, tag, MPI_COMM_WORLD);
    return;
  }
  MPI_Irecv(numbers, 4, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
  look(request);
  MPI_Request_free(&request);
  MPI_Irecv(numbers, 4, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  look(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Recv_init(numbers, 4, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request);
    look(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(request);  // of an inactive one it says that it is complete
  }
  MPI_Request_free(&request);
}

static void* wait_for_it(void* request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  return NULL;
}

// Another thread waits for what this one cancels.
SCENARIO(cancelled) {
  int numbers[4];
  for (int tag = 1; tag < 4; ++tag) {
    pthread_t thread;
    MPI_Request request, copy;
    MPI_Irecv(numbers, 4, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
    copy = request;
    pthread_create(&thread, NULL, wait_for_it, &request);
    usleep(20000);  // time for the other to be inside; without it the test is only weaker
    MPI_Cancel(&copy);
    pthread_join(thread, NULL);
  }
}

#ifdef HAVE_MPI4
// A session that was opened before MPI_Finalize and is used after it.
SCENARIO(session) {
  MPI_Session opened;
  MPI_Group everyone;
  MPI_Comm comm, turned;
  int number = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &opened);
  MPI_Group_from_session_pset(opened, "mpi://WORLD", &everyone);
  MPI_Comm_create_from_group(everyone, "corners", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&everyone);
  MPI_Finalize();
  MPI_Comm_split(comm, 0, -rank, &turned);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 1, comm);
  if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 0, 2, turned);
  if (rank == 1) MPI_Recv(&number, 1, MPI_INT, 1, 2, turned, MPI_STATUS_IGNORE);
  MPI_Comm_free(&turned);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&opened);
}
#endif

static void region(const char* name) {
  void (*begin)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, "corewise_begin");
  void (*end)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "corewise_end");
  if (begin != NULL) begin(name), end();
}

// No file may grow for a while, as on a full disk: what is described meanwhile is used before and after that.
SCENARIO(full) {
  struct rlimit before, none;
  MPI_Comm comm;
  MPI_Datatype type;
  int numbers[8] = {0};
  getrlimit(RLIMIT_FSIZE, &before);
  none = before, none.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &none);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 2; ++i) {
    region("solve");
    // The world's rank 0 is rank 1 there.
    if (rank == 0) MPI_Send(numbers, 1, type, 0, 1, comm);
    if (rank == 1) MPI_Recv(numbers, 1, type, 1, 1, comm, MPI_STATUS_IGNORE);
    setrlimit(RLIMIT_FSIZE, &before);
  }
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

// Another tool, or a library, may free the program's types: a handle that comes back is another type.
SCENARIO(other_types) {
  int numbers[16] = {0};
  for (int count = 1; count < 5; ++count) {
    MPI_Datatype type;
    MPI_Type_contiguous(count, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (rank == 0) MPI_Send(numbers, 1, type, 1, count, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(numbers, 1, type, 0, count, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Type_free(&type);
  }
}

static jmp_buf back;

static void jump(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  longjmp(back, 1);
}

// An error handler that does not return.
SCENARIO(jumped) {
  MPI_Errhandler handler;
  int number = 0, got;
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (setjmp(back) == 0) MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i)
    MPI_Sendrecv(&number, 1, MPI_INT, 1 - rank, 1, &got, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  MPI_Errhandler_free(&handler);
  // Not even the last call of all may be missed.
  if (setjmp(back) == 0) MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

static void talk(int tag) {
  int out = tag, in = 0;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
  MPI_Send(&out, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  int bytes;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static int deleted(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  talk(9);
  return MPI_SUCCESS;
}

static int query(void* extra, MPI_Status* status) {
  (void)extra;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int let_go(void* extra) {
  (void)extra;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra, (void)complete;
  return MPI_SUCCESS;
}

// The program calls MPI inside calls of MPI: in an operator, in a delete function, also while MPI ends, and for a
// generalized request.
SCENARIO(callbacks) {
  int one[2] = {1, 2}, sum[2] = {3, 4}, key;
  MPI_Op op;
  MPI_Comm comm;
  MPI_Request request;
  MPI_Op_create(add, 1, &op);
  MPI_Reduce_local(one, sum, 2, MPI_INT, op);
  MPI_Op_free(&op);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
  MPI_Comm_set_attr(comm, key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_free(&comm);
  talk(1);
  MPI_Grequest_start(query, let_go, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  talk(2);
}

int main(int argc, char** argv) {
  const char* what = argv[1];
  int provided, finalized = 0;
  MPI_Init_thread(&argc, &argv, strcmp(what, "cancelled") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(what, "restarted") == 0) restarted();
  if (strcmp(what, "looked_at") == 0) looked_at();
  if (strcmp(what, "cancelled") == 0) cancelled();
  if (strcmp(what, "full") == 0) full();
  if (strcmp(what, "other_types") == 0) other_types();
  if (strcmp(what, "jumped") == 0) jumped();
  if (strcmp(what, "callbacks") == 0) callbacks();
#ifdef HAVE_MPI4
  if (strcmp(what, "session") == 0) session(), finalized = 1;
#endif
  if (!finalized) MPI_Finalize();
  if (rank == 0) printf("ok %s\n", what);
  return 0;
}
