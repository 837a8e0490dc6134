// MPI ends in a handler of atexit that was set before MPI_Init; messages are sent there, with a type that is older
// than the handler and with one that is made in it.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { BLOCKS = 100, MESSAGES = 20, USED_AGAIN = 9000 };

static MPI_Datatype before;

static MPI_Datatype strided(void) {
  MPI_Datatype type;
  OK(MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

static void message(MPI_Datatype type) {
  int sent[2 * BLOCKS], got[2 * BLOCKS];
  MPI_Request request;
  for (int i = 0; i < 2 * BLOCKS; ++i) {
    sent[i] = i;
    got[i] = -1;
  }
  OK(MPI_Irecv(got, 1, type, 0, 0, MPI_COMM_SELF, &request));
  OK(MPI_Send(sent, 1, type, 0, 0, MPI_COMM_SELF));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < 2 * BLOCKS - 1; ++i) EQ(i % 2 == 0 ? i : -1, got[i]);
}

static void messages(MPI_Datatype type) {
  for (int i = 0; i < MESSAGES; ++i) message(type);
}

static void end(void) {
  // What a library has given back by now has other contents.
  for (size_t bytes = 16; bytes < USED_AGAIN; bytes += 16) memset(malloc(bytes), 0x41, bytes);
  messages(before);
  MPI_Datatype made = strided();
  messages(made);
  OK(MPI_Type_free(&made));
  say_ok("typed_exit");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
}

int main(void) {
  atexit(end);
  start();
  before = strided();
  messages(before);
  return 0;
}
