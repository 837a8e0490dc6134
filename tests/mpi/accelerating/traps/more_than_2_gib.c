// Broadcasts of more than 2^31 bytes: many items, and one. SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

int main(int argc, char** argv) {
  enum { ITEM = 1 << 20, ITEMS = 2100 };
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Datatype type, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_contiguous(ITEM, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  unsigned char* const data = malloc((size_t)ITEM * ITEMS);
  REQUIRE(data != NULL);
  for (size_t i = 0; rank == 0 && i < ITEMS; ++i) memset(data + i * ITEM, (int)(i % 251), ITEM);
  MPI_Bcast(data, ITEMS, type, 0, MPI_COMM_WORLD);
  for (size_t i = 0; i < ITEMS; ++i) REQUIRE(data[i * ITEM] == i % 251 && data[(i + 1) * ITEM - 1] == i % 251);
  MPI_Type_contiguous(ITEMS, type, &all);
  MPI_Type_commit(&all);
  for (size_t i = 0; rank == 0 && i < ITEMS; ++i) memset(data + i * ITEM, (int)(i % 249), ITEM);
  REQUIRE(MPI_Bcast(data, 1, all, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (size_t i = 0; i < ITEMS; ++i) REQUIRE(data[i * ITEM] == i % 249 && data[(i + 1) * ITEM - 1] == i % 249);
  free(data);
  MPI_Type_free(&all);
  MPI_Type_free(&type);
  return finish();
}
