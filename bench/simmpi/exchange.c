// The workload of `corewise bench simmpi`, for any MPI: every rank exchanges messages with its neighbours in a ring
// or a grid, round after round. Usage: exchange ring|halo ROUNDS BYTES. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NEIGHBOURS = 4 };

static int neighbours_of(const char* shape, int* neighbours) {
  MPI_Comm grid;
  int size, periods[2] = {1, 1}, dims[2] = {0, 0};
  const int dimensions = strcmp(shape, "halo") == 0 ? 2 : 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, dimensions, dims);
  if (dimensions == 2) periods[0] = periods[1] = 0;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &grid);
  for (int d = 0; d < dimensions; ++d) MPI_Cart_shift(grid, d, 1, &neighbours[2 * d], &neighbours[2 * d + 1]);
  MPI_Comm_free(&grid);
  return 2 * dimensions;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = atoi(argv[2]), bytes = atoi(argv[3]);
  int neighbours[MOST_NEIGHBOURS];
  const int count = neighbours_of(argv[1], neighbours);
  char* out = calloc(MOST_NEIGHBOURS, (size_t)bytes);
  char* in = calloc(MOST_NEIGHBOURS, (size_t)bytes);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[2 * MOST_NEIGHBOURS];
    for (int n = 0; n < count; ++n)
      MPI_Irecv(in + (size_t)n * bytes, bytes, MPI_BYTE, neighbours[n], 0, MPI_COMM_WORLD, &requests[n]);
    for (int n = 0; n < count; ++n)
      MPI_Isend(out + (size_t)n * bytes, bytes, MPI_BYTE, neighbours[n], 0, MPI_COMM_WORLD, &requests[count + n]);
    MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
