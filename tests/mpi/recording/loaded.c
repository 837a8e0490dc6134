// A program that is not linked to MPI and loads it for itself alone, the way plug-ins and languages do.
// Its argument is the library. Such calls go past every preload; they must go undisturbed.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*const init)(int*, char***) = (int (*)(int*, char***))dlsym(library, "MPI_Init");
  int (*const finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
  if (init(&argc, &argv) != 0 || finalize() != 0) return 1;
  puts("ok loaded");
  return 0;
}
