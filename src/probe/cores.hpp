// What cores cost each other: how long one line takes from core to core, and how fast several cores read what
// others have just written, all at the same time.
//
// Contract: processors are those that this process may use (`usable_processors`), each named once; others are an
// error, as is memory that is short. Threads end before a function returns. Times are wall clock: somebody else's
// work on a processor shows in them, so callers measure in several passes and take medians.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace corewise::probe {

struct ExchangePlan {
  int one = 0;
  int other = 0;
  int samples = 9;
  int round_trips = 200;  ///< of each sample
};

/// Nanoseconds from one processor to the other, a value per sample: half of what it takes to hand a line over and
/// back, each way by a compare-exchange that waits for the other's.
Result<std::vector<double>> time_exchanges(const ExchangePlan& plan);

/// One processor that writes `bytes` of its own in every round, and then reads what another one has written.
struct Reader {
  int processor = 0;
  int from = -1;  ///< index of the reader whose bytes are read, -1: none, it only writes
};

struct ReadPlan {
  std::size_t bytes = std::size_t{128} << 10;
  int rounds = 9;
};

/// Nanoseconds that each reader took to copy the other's bytes, a value per round; 0 for those that only write. All
/// begin together: what they share shows.
Result<std::vector<std::vector<double>>> time_reads(std::span<const Reader> readers, const ReadPlan& plan);

}  // namespace corewise::probe
