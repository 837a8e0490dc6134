/* Columns of a matrix exchanged by a vector type: gains from packing alone. SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdlib.h>

enum { kRows = 2048, kColumns = 64 };

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 20000;
  static double field[kRows][kColumns];
  MPI_Datatype column;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int row = 0; row < kRows; ++row) field[row][1] = rank;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (long round = 0; round < rounds; ++round)
    MPI_Sendrecv(&field[0][1], 1, column, right, 0, &field[0][2], 1, column, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
  MPI_Finalize();
  for (int row = 0; row < kRows; ++row)
    if (field[row][2] != left) return 1;
  return 0;
}
