// A link that is slower than the one at hand: messages take a latency and a time per byte more, one after the
// other. For experiments: what overlap is worth between nodes can be seen on one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "overlap/timeline.hpp"

namespace corewise::overlap {

/// What a rank's link adds. Messages that a rank sends follow each other on its link; their latencies overlap.
class Wire {
 public:
  Wire() = default;
  Wire(double latency_us, double ns_per_byte)
      : latency_ns_(std::llround(latency_us * 1e3)), ns_per_byte_(ns_per_byte) {}

  bool is_slow() const { return latency_ns_ > 0 || ns_per_byte_ > 0; }

  /// Sends `bytes` now: the time (`now_ns`) before which the message is not there.
  std::int64_t send(double bytes) {
    free_ns_ = std::max(free_ns_, now_ns()) + std::llround(bytes * ns_per_byte_);
    return free_ns_ + latency_ns_;
  }

 private:
  std::int64_t latency_ns_ = 0;
  double ns_per_byte_ = 0;
  std::int64_t free_ns_ = 0;  ///< when the link has sent all that it was given
};

}  // namespace corewise::overlap
