// C++: an exception leaves functions, destructors run, a template and a static member are functions too.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

namespace {

volatile int sink;

struct Guard {
  __attribute__((noinline)) Guard() { sink = 1; }
  __attribute__((noinline)) ~Guard() { sink = 2; }
  __attribute__((noinline)) static void throws(int value) {
    if (value > 0) throw value;
  }
};

template <class Value>
__attribute__((noinline)) void passes(Value value) {
  const Guard guard;
  Guard::throws(value);
  sink = 3;
}

__attribute__((noinline)) int catches() {
  try {
    passes(1);
  } catch (int value) {
    return value;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int caught = catches();
  MPI_Finalize();
  return caught == 1 ? 0 : 1;
}
