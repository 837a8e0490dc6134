// The one place that includes an MPI library's header. With MPI_ABI defined, <mpi.h> is the MPI-5 standard ABI
// (mpi_abi.h), which serves any library that offers it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The C++ bindings that MPI 3.0 removed, which some libraries still declare.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#if defined(MPI_ABI)
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace corewise::preload {

/// Handles are pointers in one library and integers in another: as a table key both are a word.
template <class Handle>
inline std::uint64_t handle_key(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uint64_t>(handle);
  else
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(handle));
}

}  // namespace corewise::preload
