// Callbacks that get a communicator: attribute copy and delete functions, error handlers. The program's function is
// entered through one of a fixed number of small functions that show it MPI_COMM_WORLD for the reordered world.
// Functions of MPI itself (MPI_COMM_DUP_FN) and those beyond the fixed number are passed on as they are.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/mpi_api.hpp"

namespace corewise::preload::reorder {

/// While one lives, the calling thread is in a Fortran entry: functions that it hands to C names below are called
/// as Fortran calls them (MPICH), and were entered above.
class FromFortran {
 public:
  FromFortran() { ++depth; }
  ~FromFortran() { --depth; }
  FromFortran(const FromFortran&) = delete;
  FromFortran& operator=(const FromFortran&) = delete;
  static constinit thread_local int depth __attribute__((tls_model("initial-exec")));
};

// In C.
MPI_Comm_copy_attr_function* entered(MPI_Comm_copy_attr_function* function);
MPI_Comm_delete_attr_function* entered(MPI_Comm_delete_attr_function* function);
MPI_Comm_errhandler_function* entered(MPI_Comm_errhandler_function* function);

// In Fortran, by the address that the program passes.
void* entered_fortran_copy(void* function);
void* entered_fortran_delete(void* function);
void* entered_fortran_handler(void* function);

}  // namespace corewise::preload::reorder
