// Which functions are recorded: the file that `corewise run --functions` writes (python/corewise/mpi/functions.py),
// turned into a test of addresses.
//
// The file, little-endian, mapped read-only:
//   u64 magic; u64 least_ns; u32 depth (0: any); u32 flags (1: filtered, 2: listed functions are the recorded ones,
//   else the ones left out); u64 objects;
//   per object u64 first, u64 count (of its entries in the list), u64 path, u64 path_bytes (offset in this file);
//   the list: u64 addresses as the object's symbol table gives them, ascending within an object; then the paths.
// A function that is not listed, also of an object that is not, is treated as the listed ones are not.
// Contract: a file that is not one of these means no limits. Testing allocates nothing and takes no lock.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "preload/recording/program/functions.hpp"

namespace corewise::preload {

struct FunctionLimits {
  bool filtered = false;
  std::uint64_t least_ns = 0;         ///< shorter functions leave no record
  std::uint32_t depth = kKeptFrames;  ///< kKeptFrames: any
};

FunctionLimits load_function_limits();

/// Whether the function at this address is recorded.
bool filter_allows(const void* function);

}  // namespace corewise::preload
