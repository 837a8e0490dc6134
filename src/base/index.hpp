// Ranks, units and links are counted in int, as MPI does; containers are indexed by std::size_t.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace corewise {

/// The place in a container of what has this number; it is not negative.
constexpr std::size_t index(int number) {
  return static_cast<std::size_t>(number);
}

}  // namespace corewise
