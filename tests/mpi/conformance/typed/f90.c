// Types out of predefined ones that have no name, MPI_Type_create_f90_real and its like: they are sent as any
// other, and nobody frees a predefined one.
//
// ranks: 2
// SPDX-License-Identifier: BSD-3-Clause
#include "typed/typed.h"

enum { N = 40, TIMES = 12 };

// Every other item of `old`, which is as large as `bytes`.
static void exchange(MPI_Datatype old, int bytes) {
  MPI_Datatype types[3];
  char *out = malloc((size_t)(2 * N * bytes)), *in = malloc((size_t)(2 * N * bytes));
  const int other = 1 - rank, lengths[2] = {1, N - 1};
  const MPI_Aint places[2] = {0, 2 * bytes};
  MPI_Datatype strided;
  OK(MPI_Type_vector(N, 1, 2, old, &types[0]));
  OK(MPI_Type_create_resized(old, 0, 2 * bytes, &strided));
  OK(MPI_Type_contiguous(N, strided, &types[1]));
  OK(MPI_Type_create_struct(2, lengths, places, (const MPI_Datatype[]){old, strided}, &types[2]));
  OK(MPI_Type_free(&strided));
  for (int k = 0; k < 3; ++k) OK(MPI_Type_commit(&types[k]));
  for (int time = 0; time < TIMES; ++time)
    for (int k = 0; k < 3; ++k) {
      for (int i = 0; i < 2 * N * bytes; ++i) {
        out[i] = (char)(i + time + 3 * rank);
        in[i] = 0x55;
      }
      MPI_Status status;
      OK(MPI_Sendrecv(out, 1, types[k], other, 1, in, 1, types[k], other, 1, MPI_COMM_WORLD, &status));
      EQ(1, count_of(&status, types[k]));
      for (int i = 0; i < 2 * N * bytes; ++i) EQ(i / bytes % 2 == 0 ? (char)(i + time + 3 * other) : 0x55, in[i]);
    }
  for (int k = 0; k < 3; ++k) OK(MPI_Type_free(&types[k]));
  free(out);
  free(in);
}

static void handle_errors_by(MPI_Errhandler handler) {
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
}

int main(void) {
  MPI_Datatype types[3];
  start();
  handle_errors_by(MPI_ERRORS_RETURN);
  const int codes[3] = {MPI_Type_create_f90_real(15, 307, &types[0]), MPI_Type_create_f90_complex(6, 37, &types[1]),
                        MPI_Type_create_f90_integer(8, &types[2])};
  SEEN("MPI_Type_create_f90_real %s", codes[0] == MPI_SUCCESS ? "gives a type" : "fails");
  handle_errors_by(MPI_ERRORS_ARE_FATAL);  // what goes wrong with a predefined type ends the job
  for (int i = 0; i < 3; ++i) {
    int bytes = 0;
    if (codes[i] != MPI_SUCCESS) continue;  // a library without Fortran has none
    OK(MPI_Type_size(types[i], &bytes));
    exchange(types[i], bytes);
  }
  return finish("typed_f90");
}
