// Files without names that processes open through each other's entries in /proc. Each begins with a number that its
// maker told, so that nobody takes another one for it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "shm/mapping.hpp"

namespace corewise::preload::accelerating {

/// Never 0 but where there is none.
std::uint64_t random_key();

struct File {
  std::shared_ptr<shm::Mapping> mapping;
  int file = -1;
  std::uint64_t key = 0;
};
/// All of it backed; without a mapping where there is no memory.
File make_file(std::size_t bytes);

/// A peer's file; null where it cannot be had, or is another.
std::shared_ptr<shm::Mapping> open_file(int process, int file, std::uint64_t key, std::size_t bytes);

}  // namespace corewise::preload::accelerating
