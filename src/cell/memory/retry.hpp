// BackoffRetry: when a refused command is sent again, and a count of refusals per unit. The delay is
// fixed (`retry_growth_percent` 100: a unit sends the command again when its retry timer has run down, whatever
// happened before) or grows with every refusal up to `retry_max_cycles`. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "cell/eib.hpp"
#include "cell/parameters.hpp"

namespace corewise::cell {

class BackoffRetry final : public RetryPolicy {
 public:
  explicit BackoffRetry(const Parameters& parameters) : p_(parameters) {}

  sim::Time delay(const BusRequest& request) override;

  /// RETRY answers to the unit at `stop` of chip `chip`.
  [[nodiscard]] std::uint64_t retries_of(int chip, int stop) const;
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  const Parameters& p_;
  std::array<std::array<std::uint64_t, kStops>, kMaxChips> units_{};
  std::uint64_t total_ = 0;
};

}  // namespace corewise::cell
