// What the preload's test programs share: a scenario is a function that is never inlined, so that the call sites of
// its records name it. Built without tail calls: a call that ends a function must return into it.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef PRELOAD_SCENARIO_H
#define PRELOAD_SCENARIO_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAVE_MPI4 1
#endif

#define SCENARIO(name) __attribute__((noinline)) static void name(void)
#define REQUIRE(condition)                                                           \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 7);                                                  \
    }                                                                                \
  } while (0)

__attribute__((unused)) static int rank, size;

#endif
