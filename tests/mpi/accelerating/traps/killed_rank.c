// The last rank ends without a word while the others wait for it in collective KIND of NUMBERS. Each notes in
// FOLDER whether it was told of an error. With HIDDEN the launcher does not see the end either: the dead rank's
// connections stay open for two seconds. SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <unistd.h>

#include "trap.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int kind = atoi(argv[1]), numbers = atoi(argv[2]);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 8; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    usleep(300000);
    if (argc > 4 && fork() == 0) {
      sleep(2);
      _exit(0);
    }
    raise(SIGKILL);
  }
  long* const data = calloc((size_t)numbers, sizeof(long));
  long* const sum = calloc((size_t)numbers, sizeof(long));
  int code = MPI_SUCCESS;
  if (kind == 0) code = MPI_Barrier(MPI_COMM_WORLD);
  if (kind == 1) code = MPI_Bcast(data, numbers, MPI_LONG, size - 1, MPI_COMM_WORLD);
  if (kind == 2) code = MPI_Allreduce(data, sum, numbers, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  char path[4096];
  snprintf(path, sizeof path, "%s/told.%d", argv[3], rank);
  FILE* const note = fopen(path, "w");
  fputs(code == MPI_SUCCESS ? "nothing" : "an error", note);
  fclose(note);
  _exit(code == MPI_SUCCESS ? 0 : 3);
}
