// The back-off of refused commands. SPDX-License-Identifier: BSD-3-Clause
#include "cell/memory/retry.hpp"

#include <algorithm>

namespace corewise::cell {

sim::Time BackoffRetry::delay(const BusRequest& request) {
  ++total_;
  ++units_[static_cast<std::size_t>(request.eib->chip())][request.stop];
  sim::Time delay = p_.retry_cycles;
  if (p_.retry_growth_percent == 100) return delay;
  for (std::int32_t retry = 1; retry < request.retries && delay < p_.retry_max_cycles; ++retry) {
    delay = delay * p_.retry_growth_percent / 100;
  }
  return std::max(p_.retry_cycles, std::min(delay, p_.retry_max_cycles));
}

std::uint64_t BackoffRetry::retries_of(int chip, int stop) const {
  return units_[static_cast<std::size_t>(chip)][static_cast<std::size_t>(stop)];
}

}  // namespace corewise::cell
