/* Opens a library with a Fortran part for itself alone, as an interpreter does with an extension, and calls it
   between MPI's start and end in C. Prints "ok" on rank 0. SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void (*part)(void) = library != NULL ? (void (*)(void))dlsym(library, "part_") : NULL;
  if (part == NULL) {
    puts(dlerror());
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  part();
  if (rank == 0) puts("ok");
  MPI_Finalize();
  return 0;
}
