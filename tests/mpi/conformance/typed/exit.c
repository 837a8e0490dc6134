// MPI ends in a handler of atexit that was set before MPI_Init; messages are sent there, with a type that is older
// than the handler and with one that is made in it.
//
// ranks: 1 2
// SPDX-License-Identifier: BSD-3-Clause
#include "typed/typed.h"

enum { INTS = 300, MESSAGES = 20, USED_AGAIN = 9000 };

static layout before;

static void messages(const layout* of) {
  for (int i = 0; i < MESSAGES; ++i) {
    int *out = new_room(of, i), *in = new_room(of, -1);
    MPI_Request request;
    OK(MPI_Irecv(in, of->items, of->type, 0, 0, MPI_COMM_SELF, &request));
    OK(MPI_Send(out, of->items, of->type, 0, 0, MPI_COMM_SELF));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_LAYOUT(in, of, i);
  }
}

static void end(void) {
  // What a library has given back by now has other contents.
  for (size_t bytes = 16; bytes < USED_AGAIN; bytes += 16) memset(malloc(bytes), 0x41, bytes);
  messages(&before);
  layout made = make_layout(0, INTS);
  messages(&made);
  free_layout(&made);
  say_ok("typed_exit");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
}

int main(void) {
  atexit(end);
  start();
  before = make_layout(0, INTS);
  messages(&before);
  return 0;
}
