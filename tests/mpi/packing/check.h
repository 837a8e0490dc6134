// What programs over shim.c share: CHECK, which ends the job where something is not so. They have a `rank`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>
#include <stdio.h>

#define CHECK(good)                                                 \
  do {                                                              \
    if (!(good)) {                                                  \
      printf("rank %d fails line %d: %s\n", rank, __LINE__, #good); \
      fflush(stdout);                                               \
      MPI_Abort(MPI_COMM_WORLD, 1);                                 \
    }                                                               \
  } while (0)
