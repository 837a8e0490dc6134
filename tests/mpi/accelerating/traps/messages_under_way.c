// Messages and one-sided calls that are under way when a rank enters a collective. While it waits there, what it
// began before must go on: its peer comes only when it has the message. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

enum { BYTES = 4 << 20 };
static char out[BYTES], in[BYTES];

/// Everybody sends to the next rank before the collective, and receives after it.
static void around(int kind, int rank, int size) {
  MPI_Request request;
  memset(out, rank + kind, BYTES);
  MPI_Isend(out, BYTES, MPI_CHAR, (rank + 1) % size, kind, MPI_COMM_WORLD, &request);
  collective(kind, MPI_COMM_WORLD, kind % size, 100);
  const int from = (rank + size - 1) % size;
  MPI_Recv(in, BYTES, MPI_CHAR, from, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  REQUIRE(in[0] == (char)(from + kind) && in[BYTES - 1] == (char)(from + kind));
}

/// `sender` waits in the collective, `receiver` has the message before it comes.
static void before(int kind, int rank, int sender, int receiver, int root) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == sender) memset(out, kind + 7, BYTES);
  if (rank == sender) MPI_Isend(out, BYTES, MPI_CHAR, receiver, kind, MPI_COMM_WORLD, &request);
  if (rank == receiver) {
    MPI_Recv(in, BYTES, MPI_CHAR, sender, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE(in[0] == kind + 7 && in[BYTES - 1] == kind + 7);
  }
  collective(kind, MPI_COMM_WORLD, root, 100);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// `target` waits in the collective, `origin` has added to its window before it comes.
static void one_sided(int kind, int rank, int origin, int target, int root, MPI_Win window) {
  const long one = 1;
  if (rank == origin) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_unlock(target, window);
  }
  collective(kind, MPI_COMM_WORLD, root, 100);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  long number = 0;
  MPI_Win window;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_create(&number, sizeof number, sizeof number, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int kind = 0; kind < KINDS; ++kind) {
    around(kind, rank, size);
    for (int sender = 0; sender < 2; ++sender)
      for (int root = 0; root < 2; ++root) {
        before(kind, rank, sender, 1 - sender, root);
        one_sided(kind, rank, sender, 1 - sender, root, window);
      }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  REQUIRE(number == (rank < 2 ? 2 * KINDS : 0));
  MPI_Win_unlock(rank, window);
  MPI_Win_free(&window);
  return finish();
}
