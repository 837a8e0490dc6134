// Errors: their classes, the handler that hears of them (once, of the right object), per-request codes in statuses,
// the user's own classes. A call that failed must leave the communicator usable.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

static int next, previous;
static MPI_Comm comm;
static int heard, heard_code;
static MPI_Comm heard_of;

static void listen(MPI_Comm* where, int* code, ...) {
  ++heard;
  heard_of = *where;
  heard_code = *code;
}

static void wrong_arguments(void) {
  int value = 0, other = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 1, comm));
  FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, -77, 1, comm));
  FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm));
  FAILS(MPI_ERR_RANK, MPI_Recv(&value, 1, MPI_INT, size + 3, 1, comm, MPI_STATUS_IGNORE));
  FAILS(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, next, -77, comm));
  FAILS(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, next, MPI_ANY_TAG, comm));
  FAILS(MPI_ERR_COUNT, MPI_Send(&value, -1, MPI_INT, next, 1, comm));
  FAILS(MPI_ERR_COUNT, MPI_Irecv(&value, -5, MPI_INT, previous, 1, comm, &request));
  FAILS(MPI_ERR_TYPE, MPI_Send(&value, 1, MPI_DATATYPE_NULL, next, 1, comm));
  FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, size, comm));
  FAILS(MPI_ERR_OP, MPI_Allreduce(&value, &other, 1, MPI_INT, MPI_OP_NULL, comm));
  FAILS(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_coords(comm, 0, 1, &value));
}

static void still_usable(void) {
  int value = -1, sum = 0;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 2, &value, 1, MPI_INT, previous, 2, comm, MPI_STATUS_IGNORE));
  EQ(previous, value);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  EQ(size * (size - 1) / 2, sum);
}

static void truncation(void) {
  int out[4] = {1, 2, 3, 4}, in[4] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED}, flag = 0;
  MPI_Request request, sent;
  OK(MPI_Isend(out, 4, MPI_INT, next, 3, comm, &sent));
  FAILS(MPI_ERR_TRUNCATE, MPI_Recv(in, 2, MPI_INT, previous, 3, comm, MPI_STATUS_IGNORE));
  EQ(UNTOUCHED, in[2]);
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  OK(MPI_Irecv(in, 1, MPI_INT, previous, 4, comm, &request));
  OK(MPI_Send(out, 4, MPI_INT, next, 4, comm));
  FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Irecv(in, 1, MPI_INT, previous, 5, comm, &request));
  OK(MPI_Send(out, 4, MPI_INT, next, 5, comm));
  int code = MPI_SUCCESS;
  while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  FAILS(MPI_ERR_TRUNCATE, code);
}

// One of three receives is too short: the call says MPI_ERR_IN_STATUS and each status tells its own code.
static void errors_in_statuses(void) {
  int in[3][4], out[4] = {5, 6, 7, 8}, class = UNTOUCHED;
  MPI_Request receives[3], sends[3];
  MPI_Status statuses[3];
  for (int i = 0; i < 3; ++i) OK(MPI_Irecv(in[i], i == 1 ? 1 : 4, MPI_INT, previous, 10 + i, comm, &receives[i]));
  OK(MPI_Barrier(comm));
  for (int i = 0; i < 3; ++i) OK(MPI_Isend(out, 4, MPI_INT, next, 10 + i, comm, &sends[i]));
  OK(MPI_Waitall(3, sends, MPI_STATUSES_IGNORE));
  // All have arrived after this, so that none can be pending when the first error is found.
  OK(MPI_Barrier(comm));
  for (int i = 0; i < 3; i += 2) {
    int flag = 0;
    while (!flag) OK(MPI_Request_get_status(receives[i], &flag, MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < 3; ++i) poison(&statuses[i]);
  EQ(MPI_ERR_IN_STATUS, MPI_Waitall(3, receives, statuses));
  OK(MPI_Error_class(statuses[1].MPI_ERROR, &class));
  EQ(MPI_ERR_TRUNCATE, class);
  for (int i = 0; i < 3; i += 2) {
    SEEN("request %d beside one that failed: %s", i,
         statuses[i].MPI_ERROR == MPI_ERR_PENDING ? "pending" : "complete");
    // The standard lets a call leave the others pending; then they must still be there to be waited for.
    if (statuses[i].MPI_ERROR == MPI_ERR_PENDING) {
      CHECK(receives[i] != MPI_REQUEST_NULL);
      OK(MPI_Wait(&receives[i], &statuses[i]));
    } else {
      EQ(MPI_SUCCESS, statuses[i].MPI_ERROR);
    }
    EQ(previous, statuses[i].MPI_SOURCE);
    EQ(10 + i, statuses[i].MPI_TAG);
    EQ(8, in[i][3]);
  }
  for (int i = 0; i < 3; ++i) CHECK(receives[i] == MPI_REQUEST_NULL);
}

// MPICH 5.0.2 returns MPI_SUCCESS from the call when a handler of the user has returned.
static int after_handler(int class) {
  return library_is("MPICH") ? MPI_SUCCESS : class;
}

static void own_handler(void) {
  MPI_Errhandler handler, found;
  MPI_Comm copy;
  int value = 0;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_create_errhandler(listen, &handler));
  OK(MPI_Comm_set_errhandler(copy, handler));
  OK(MPI_Comm_get_errhandler(copy, &found));
  CHECK(found == handler);
  OK(MPI_Errhandler_free(&found));
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL);
  heard = 0;
  int code = MPI_Send(&value, 1, MPI_INT, size + 1, 1, copy);
  FAILS(after_handler(MPI_ERR_RANK), code);
  EQ(1, heard);
  CHECK(heard_of == copy);
  FAILS(MPI_ERR_RANK, heard_code);
  FAILS(after_handler(MPI_ERR_COUNT), MPI_Bcast(&value, -1, MPI_INT, 0, copy));
  EQ(2, heard);
  OK(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER));
  EQ(3, heard);
  EQ(MPI_ERR_OTHER, heard_code);
  MPI_Comm inherited;
  OK(MPI_Comm_split(copy, 0, rank, &inherited));
  FAILS(after_handler(MPI_ERR_RANK), MPI_Send(&value, 1, MPI_INT, size, 1, inherited));
  EQ(4, heard);
  CHECK(heard_of == inherited);
  OK(MPI_Comm_free(&inherited));
  OK(MPI_Comm_free(&copy));
  FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 1, comm));
  EQ(4, heard);
}

// A truncated receive is an error of its communicator, whichever call completes it.
static void handler_hears_of_requests(void) {
  MPI_Errhandler handler;
  MPI_Comm copy;
  MPI_Request request;
  int in = 0;
  static const int out[4] = {1, 2, 3, 4};
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_create_errhandler(listen, &handler));
  OK(MPI_Comm_set_errhandler(copy, handler));
  OK(MPI_Errhandler_free(&handler));
  heard = 0;
  OK(MPI_Irecv(&in, 1, MPI_INT, previous, 1, copy, &request));
  OK(MPI_Send(out, 4, MPI_INT, next, 1, copy));
  FAILS(after_handler(MPI_ERR_TRUNCATE), MPI_Wait(&request, MPI_STATUS_IGNORE));
  EQ(1, heard);
  CHECK(heard_of == copy);
  OK(MPI_Comm_free(&copy));
}

static void own_classes(void) {
  int class = -1, code = -1, found = -1, length = 0, *last = NULL, flag = 0;
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Add_error_class(&class));
  OK(MPI_Add_error_code(class, &code));
  OK(MPI_Add_error_string(code, "a code of our own"));
  OK(MPI_Error_class(code, &found));
  EQ(class, found);
  OK(MPI_Error_string(code, text, &length));
  SAME_TEXT("a code of our own", text);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag);
  // MPICH 5.0.2 counts here in a numbering of its own.
  if (!library_is("MPICH")) CHECK(*last >= code);
  OK(MPI_Error_class(MPI_SUCCESS, &found));
  EQ(MPI_SUCCESS, found);
}

static int win_heard;
static void listen_to_window(MPI_Win* where, int* code, ...) {
  (void)where;
  (void)code;
  ++win_heard;
}

static void windows_and_files(void) {
  MPI_Win win;
  MPI_File file;
  MPI_Errhandler handler;
  int value = 0;
  OK(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, comm, &win));
  OK(MPI_Win_create_errhandler(listen_to_window, &handler));
  OK(MPI_Win_set_errhandler(win, handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
  EQ(1, win_heard);
  OK(MPI_Win_free(&win));
  FAILS(MPI_ERR_NO_SUCH_FILE,
        MPI_File_open(MPI_COMM_SELF, "/nonexistent/of/conformance", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
}

int main(void) {
  start();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  wrong_arguments();
  still_usable();
  truncation();
  errors_in_statuses();
  own_handler();
  handler_hears_of_requests();
  own_classes();
  windows_and_files();
  still_usable();
  OK(MPI_Comm_free(&comm));
  return finish("error");
}
