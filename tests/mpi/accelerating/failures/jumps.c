// Error handlers leave by longjmp: calls that the MPI refuses before a communicator is set up, which are none, and
// one that was to free a communicator. Then all goes on. SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>

#include "../traps/trap.h"

enum { CALLS = 20 };

static jmp_buf back;
static int jumped;

static void jump(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++jumped;
  longjmp(back, 1);
}

static void jump_on_errors(MPI_Comm comm) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
}

/// Other bytes where the frames were that the jump has left.
static __attribute__((noinline)) unsigned char overwrite(int byte) {
  volatile unsigned char room[16384];
  for (size_t i = 0; i < sizeof room; ++i) room[i] = (unsigned char)byte;
  return room[sizeof room / 2];
}

static __attribute__((noinline)) void refused(MPI_Comm comm) {
  int value = 0;
  if (setjmp(back) == 0) MPI_Bcast(&value, -1, MPI_INT, 0, comm);
}

static __attribute__((noinline)) void free_nothing(void) {
  MPI_Comm none = MPI_COMM_NULL;
  if (setjmp(back) == 0) MPI_Comm_free(&none);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  jump_on_errors(comm);
  for (int call = 0; call < CALLS; ++call) {
    const int before = jumped, jumps = (call + rank) % 3 == 0;
    if (jumps) refused(comm);
    REQUIRE(jumped == before + jumps);
    collective(3, comm, 0, 5);
  }
  jump_on_errors(MPI_COMM_WORLD);
  jump_on_errors(MPI_COMM_SELF);
  jumped = 0;
  free_nothing();
  REQUIRE(jumped == 1);
  REQUIRE(overwrite(0xA5) == 0xA5);
  MPI_Comm other;
  MPI_Comm_dup(comm, &other);
  for (int kind = 0; kind < KINDS; ++kind) collective(kind, other, 0, 5);
  MPI_Comm_free(&other);
  MPI_Comm_free(&comm);
  return finish();
}
