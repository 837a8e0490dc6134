// Errors of what a call of the program is made of: codes, of which the program's handler hears at the call's end.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/next.hpp"

namespace corewise::preload::accelerating {

/// While it lives, errors on a communicator are codes: what the library asks for beside the program ends no
/// program, and no handler of the program's frees the communicator or jumps out of the call in the middle of it.
class ErrorsReturn {
 public:
  explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    CW_NEXT(MPI_Comm_get_errhandler)(comm, &before_);
    CW_NEXT(MPI_Comm_set_errhandler)(comm, MPI_ERRORS_RETURN);
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  ~ErrorsReturn() {
    CW_NEXT(MPI_Comm_set_errhandler)(comm_, before_);
    CW_NEXT(MPI_Errhandler_free)(&before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace corewise::preload::accelerating
