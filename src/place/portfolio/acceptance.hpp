// Acceptance: whether a move that costs more is accepted, and when so few are that a cooling may end.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>

#include "base/rng.hpp"

namespace corewise::place {

/// Whether a draw from the exponential distribution of mean 1 is less than x, at least 0; mostly without a
/// logarithm, as exp(-x) lies between 1 - x and 1 / (1 + x + x^2 / 2).
inline bool exponential_is_less(double x, Rng& rng) {
  const double left = 1 - rng.uniform();
  if (left * (1 + x * (1 + x / 2)) > 1) return true;
  return left > 1 - x && -std::log(left) < x;
}

/// Moves that were looked at and those of them that were accepted.
struct Acceptance {
  std::uint64_t accepted = 0, looked_at = 0;

  /// Whether a cooling may end: less than one move in 512 was accepted. Counts anew; but of fewer than eight times
  /// as many nothing can be told, and they count on.
  bool is_frozen() {
    constexpr std::uint64_t for_one = 512;
    if (looked_at < 8 * for_one) return false;
    const bool frozen = accepted * for_one < looked_at;
    *this = {};
    return frozen;
  }
};

}  // namespace corewise::place
