// Calls that look at requests and are given one request several times: it is complete once its message is there, by
// each of its names, and its data are.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include "typed/typed.h"

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

enum { TAG = 9, LOOKS = 100000 };
static layout strided;
static int* room;

static MPI_Request receive(int seed) {
  MPI_Request request;
  clear_room(room, strided.span);
  OK(MPI_Irecv(address(room, &strided), strided.items, strided.type, 0, TAG, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&seed, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
  return request;
}

static void all(int seed) {
  int complete = 0, looks = 0;
  MPI_Request request = receive(seed), thrice[3] = {request, request, request};
  while (complete == 0 && looks++ < LOOKS)
    OK(MPI_Request_get_status_all(3, thrice, &complete, MPI_STATUSES_IGNORE));
  EQ(1, complete);
  CHECK_LAYOUT(room, &strided, seed);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void any(int seed) {
  int complete = 0, index = MPI_UNDEFINED, looks = 0;
  MPI_Request request = receive(seed), twice[2] = {request, request};
  while (complete == 0 && looks++ < LOOKS)
    OK(MPI_Request_get_status_any(2, twice, &index, &complete, MPI_STATUS_IGNORE));
  EQ(1, complete);
  CHECK_LAYOUT(room, &strided, seed);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void some(int seed) {
  int done = 0, indices[2], looks = 0;
  MPI_Request request = receive(seed), twice[2] = {request, request};
  while (done == 0 && looks++ < LOOKS)
    OK(MPI_Request_get_status_some(2, twice, &done, indices, MPI_STATUSES_IGNORE));
  EQ(2, done);
  CHECK_LAYOUT(room, &strided, seed);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void send(int seed) {
  int asked = 0;
  OK(MPI_Recv(&asked, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ(seed, asked);
  fill_layout(room, &strided, seed);
  OK(MPI_Send(address(room, &strided), strided.items, strided.type, 1, TAG, MPI_COMM_WORLD));
}

int main(void) {
  OK(MPI_Init(NULL, NULL));
  know_world();
  strided = make_layout(0, SMALL);
  room = new_room(&strided, -1);
  for (int seed = 1; seed <= 3; ++seed) {
    if (rank == 0) send(seed);
    if (rank == 1) (seed == 1 ? all : seed == 2 ? any : some)(seed);
  }
  free_layout(&strided);
  return finish("typed_repeated");
}

#else

int main(void) {
  OK(MPI_Init(NULL, NULL));
  know_world();
  return finish("typed_repeated");
}

#endif
