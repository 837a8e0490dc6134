// Decrementer: the SPE's clock as its program sees it: a 32-bit counter that counts down with the time base and
// wraps. Integer arithmetic only, so that a reading is the same everywhere.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "sim/event_queue.hpp"

namespace corewise::cell {

class Decrementer {
 public:
  /// Frequencies in Hz; the time base has counted since the start of the run.
  Decrementer(std::int64_t decrementer_hz, std::int64_t core_hz)
      : decrementer_hz_(decrementer_hz), core_hz_(core_hz) {}

  /// From `now` (core cycles) on it counts down from `count`, one at each tick of the time base.
  void write(sim::Time now, std::uint32_t count) {
    written_ = count;
    written_at_ = ticks(now);
  }
  [[nodiscard]] std::uint32_t read(sim::Time now) const {
    return written_ - static_cast<std::uint32_t>(ticks(now) - written_at_);
  }
  /// Ticks of the time base by `now`.
  [[nodiscard]] std::int64_t ticks(sim::Time now) const {
    // In two parts: the product of a long run's cycles and a frequency does not fit 64 bits.
    const std::int64_t seconds = now / core_hz_;
    return seconds * decrementer_hz_ + now % core_hz_ * decrementer_hz_ / core_hz_;
  }

 private:
  std::int64_t decrementer_hz_, core_hz_;
  std::uint32_t written_ = 0;
  std::int64_t written_at_ = 0;
};

}  // namespace corewise::cell
