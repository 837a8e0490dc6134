// Watches what a program sends, to say how its bench measures: the ways in the order of their turns, and whether a
// message is new everywhere. At the end each rank writes $COREWISE_WITNESS_OUT.RANK, a line per MPI_Send:
// `WAY BYTES CHANGED WINDOWS`. WAY is `derived` or `packed` by the datatype, else the number of the buffer that is
// sent, in order of appearance; of WINDOWS pieces of 64 packed bytes, CHANGED differ from the last message of that
// way and length (none is compared with at first: WINDOWS is 0). SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 64, WINDOW = 64 };

typedef struct {
  const void* buffer;
  const char* kind;
  int bytes;
  char* last;
} way;

static way ways[WAYS];
static int known;
static FILE* out;

static FILE* output(void) {
  const char* stem = getenv("COREWISE_WITNESS_OUT");
  char path[4096];
  int rank = 0;
  if (out != NULL) return out;
  if (stem == NULL) abort();
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s.%d", stem, rank);
  out = fopen(path, "w");
  if (out == NULL) abort();
  return out;
}

static const char* kind_of(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  if (type == MPI_PACKED) return "packed";
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED ? "bytes" : "derived";
}

static way* way_of(const void* buffer, const char* kind, int bytes) {
  for (int i = 0; i < known; ++i)
    if (ways[i].buffer == buffer && ways[i].bytes == bytes && !strcmp(ways[i].kind, kind)) return &ways[i];
  if (known == WAYS) abort();
  ways[known] = (way){buffer, kind, bytes, NULL};
  return &ways[known++];
}

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  int bytes = 0, packed = 0, changed = 0, windows = 0;
  PMPI_Type_size(type, &bytes);
  bytes *= count;
  char* message = malloc((size_t)bytes + 1);
  if (type == MPI_PACKED)
    memcpy(message, buffer, (size_t)bytes);
  else
    PMPI_Pack(buffer, count, type, message, bytes, &packed, comm);
  way* mine = way_of(buffer, kind_of(type), bytes);
  for (int at = 0; mine->last != NULL && at + WINDOW <= bytes; at += WINDOW, ++windows)
    changed += memcmp(message + at, mine->last + at, WINDOW) != 0;
  free(mine->last);
  mine->last = message;
  if (!strcmp(mine->kind, "bytes"))
    fprintf(output(), "%d", (int)(mine - ways));
  else
    fprintf(output(), "%s", mine->kind);
  fprintf(output(), " %d %d %d\n", bytes, changed, windows);
  return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Finalize(void) {
  fclose(output());
  return PMPI_Finalize();
}
