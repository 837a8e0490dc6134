// Watches what apps/packing sends. Each rank writes $COREWISE_WITNESS_OUT.RANK, a line per MPI_Send:
// `TAG BYTES CHANGED WINDOWS`. The tag says by which way; of WINDOWS pieces of 64 packed bytes, CHANGED differ from
// the last message of that tag. None is compared with one of another length: WINDOWS is 0.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS = 16, WINDOW = 64 };

static struct {
  int bytes;
  char* packed;
} last[TAGS];
static FILE* out;

int MPI_Init(int* argc, char*** argv) {
  const int status = PMPI_Init(argc, argv);
  char path[4096];
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s.%d", getenv("COREWISE_WITNESS_OUT"), rank);
  out = fopen(path, "w");
  if (out == NULL) abort();
  return status;
}

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  int bytes = 0, position = 0, changed = 0, windows = 0;
  if (tag < 0 || tag >= TAGS) abort();
  PMPI_Type_size(type, &bytes);
  bytes *= count;
  char* packed = malloc((size_t)bytes + 1);
  if (type == MPI_PACKED)
    memcpy(packed, buffer, (size_t)bytes);
  else
    PMPI_Pack(buffer, count, type, packed, bytes, &position, comm);
  const char* before = last[tag].bytes == bytes ? last[tag].packed : NULL;
  for (int at = 0; before != NULL && at + WINDOW <= bytes; at += WINDOW, ++windows)
    changed += memcmp(packed + at, before + at, WINDOW) != 0;
  free(last[tag].packed);
  last[tag].bytes = bytes;
  last[tag].packed = packed;
  fprintf(out, "%d %d %d %d\n", tag, bytes, changed, windows);
  return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Finalize(void) {
  fclose(out);
  return PMPI_Finalize();
}
