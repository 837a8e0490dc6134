// What a software cache's look-ups take, for whoever simulates programs on SPEs without the packets of their DMA: a
// simulated Cell is asked. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/status.hpp"
#include "cell/parameters.hpp"
#include "cell/spe/cache_lines.hpp"

namespace corewise::cell {

struct SoftwareCacheCosts {
  double hit_ns = 0;
  double miss_ns = 0;        ///< the line that gives way was only read
  double dirty_miss_ns = 0;  ///< it was written to
};

/// Runs a Cell on which all usable SPEs of the first chip miss at the same time, one line after the other, each in
/// data of its own in the chip's main memory; the mean of all misses. Errors: a wrong shape, what ends such a run.
Result<SoftwareCacheCosts> software_cache_costs(const Parameters& machine, const SoftwareCacheShape& shape);

}  // namespace corewise::cell
