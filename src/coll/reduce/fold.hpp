// Fold: recursive halving and doubling on any number of ranks, as pure functions. Of the first 2 x (p - 2^s) ranks
// each even one hands its operand to the next odd one, which takes part for both; the others take part for
// themselves. Those that take part have numbers 0 .. 2^s - 1 in the order of their ranks, so consecutive numbers
// stand for consecutive ranks. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>

namespace corewise::coll::reduce {

/// Parts first .. last - 1.
struct Range {
  int first = 0;
  int last = 0;
};

class Fold {
 public:
  explicit constexpr Fold(int ranks)
      : numbers_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), pairs_(ranks - numbers_) {}

  /// How many take part; log2 of that.
  [[nodiscard]] constexpr int numbers() const { return numbers_; }
  [[nodiscard]] constexpr int steps() const { return std::countr_zero(static_cast<unsigned>(numbers_)); }

  /// -1 for a rank that only hands over.
  [[nodiscard]] constexpr int number(int rank) const {
    if (rank >= 2 * pairs_) return rank - pairs_;
    return rank % 2 == 1 ? rank / 2 : -1;
  }
  [[nodiscard]] constexpr int rank(int number) const { return number < pairs_ ? 2 * number + 1 : number + pairs_; }
  /// The other one of a pair; -1 for a rank that is in none.
  [[nodiscard]] constexpr int partner(int rank) const { return rank < 2 * pairs_ ? rank ^ 1 : -1; }

  /// Halving: what `number` still has after `steps` steps of numbers() parts; step s splits by bit s.
  [[nodiscard]] constexpr Range range(int number, int steps) const {
    Range kept{0, numbers_};
    for (int step = 0; step < steps; ++step) {
      const int middle = (kept.first + kept.last) / 2;
      if ((number >> step & 1) == 0) {
        kept.last = middle;
      } else {
        kept.first = middle;
      }
    }
    return kept;
  }

 private:
  int numbers_;
  int pairs_;
};

}  // namespace corewise::coll::reduce
