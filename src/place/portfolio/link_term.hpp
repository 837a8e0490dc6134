// Link term: the load of one link in one phase, its time, and that time to a power that is known when compiled.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

namespace corewise::place {

struct LinkTerm {
  std::uint64_t parts = 0;
  std::uint64_t difference = 0;  ///< of the proposal; unsigned wrap-around makes it exact
  double ns_per_part = 0;
  double term = 0;  ///< time to the power

  [[nodiscard]] double time_ns() const { return time_of(parts); }
  /// After the proposal.
  [[nodiscard]] double next_time_ns() const { return time_of(parts + difference); }
  /// Loads have 63 bits (check_fits), which makes the conversion one instruction.
  [[nodiscard]] double time_of(std::uint64_t some_parts) const {
    return static_cast<double>(static_cast<std::int64_t>(some_parts)) * ns_per_part;
  }
};

/// To the power 2^doublings.
template <int doublings>
double raised(double value) {
  for (int k = 0; k < doublings; ++k) value *= value;
  return value;
}

/// Calls visit(the number as a constant), 0 to 5: what loops over links knows its power.
template <class Visit>
void with_constant(int doublings, Visit visit) {
  switch (doublings) {
    case 0:
      return visit(std::integral_constant<int, 0>());
    case 1:
      return visit(std::integral_constant<int, 1>());
    case 2:
      return visit(std::integral_constant<int, 2>());
    case 3:
      return visit(std::integral_constant<int, 3>());
    case 4:
      return visit(std::integral_constant<int, 4>());
    default:
      return visit(std::integral_constant<int, 5>());
  }
}

}  // namespace corewise::place
