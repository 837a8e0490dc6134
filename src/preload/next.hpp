// What stands behind a library of the preload: the MPI library's own procedures, or the next library's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

#include "preload/mpi_api.hpp"

namespace corewise::preload {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The procedure that stands behind us.
#define CW_NEXT(procedure)                                                                        \
  ([] {                                                                                           \
    static auto* const found = ::corewise::preload::next<decltype(P##procedure)>("P" #procedure); \
    return found;                                                                                 \
  }())

}  // namespace corewise::preload
