/* One of two interleaved fields exchanged by a vector type: gains from packing alone, as the tables in tuning/ say.
   SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdlib.h>

enum { kRows = 4096, kFields = 2 };

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 20000;
  static double fields[kRows][kFields];
  MPI_Datatype one;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_vector(kRows, 1, kFields, MPI_DOUBLE, &one);
  MPI_Type_commit(&one);
  for (int row = 0; row < kRows; ++row) fields[row][0] = rank;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (long round = 0; round < rounds; ++round)
    MPI_Sendrecv(&fields[0][0], 1, one, right, 0, &fields[0][1], 1, one, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  MPI_Type_free(&one);
  MPI_Finalize();
  for (int row = 0; row < kRows; ++row)
    if (fields[row][1] != left) return 1;
  return 0;
}
