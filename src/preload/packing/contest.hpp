// Which of two engines moves one datatype the faster, found on the program's own messages: some parts of them are
// moved by both, one after the other, in both orders, because the second one finds everything in the cache.
//
// Contract: any number of threads; the winner is decided once and stays. Ties go to the MPI's engine.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace corewise::preload::packing {

class Contest {
 public:
  enum class Winner : std::uint8_t { open, ours, theirs };
  static constexpr int kRounds = 6;  ///< half of them in either order

  Winner winner() const { return winner_.load(std::memory_order_acquire); }
  void settle(Winner winner) { winner_.store(winner, std::memory_order_release); }

  /// Takes part in the next round; false where another thread does, or the contest is over.
  bool enter() {
    if (winner() != Winner::open || busy_.test_and_set(std::memory_order_acquire)) return false;
    if (winner() == Winner::open) return true;
    leave();  // another thread has ended it between the two looks
    return false;
  }
  void leave() { busy_.clear(std::memory_order_release); }

  /// Within a round: whether ours goes first.
  bool ours_first() const { return round_ % 2 == 0; }
  /// Ends a round with what the same bytes took, in any unit of time.
  void add(double ours, double theirs) {
    ratios_[static_cast<std::size_t>(round_)] = ours / std::max(theirs, 1.0);
    if (++round_ == kRounds) settle(median(0) * median(1) < 1 ? Winner::ours : Winner::theirs);
  }

 private:
  /// Of the rounds in one order: a round that was interrupted decides nothing.
  double median(std::size_t order) const {
    std::array<double, kRounds / 2> found{};
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = ratios_[2 * i + order];
    std::sort(found.begin(), found.end());
    return found[found.size() / 2];
  }

  std::atomic<Winner> winner_{Winner::open};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  int round_ = 0;
  std::array<double, kRounds> ratios_{};
};

}  // namespace corewise::preload::packing
