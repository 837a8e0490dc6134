// MainMemory: what of a simulated rank's data lies in main memory behind a software cache in its SPE's local store
// (paper 001, section 3). The program says which data lie there and when it touches them; messages touch their
// buffers. Hits, misses and write-backs are counted line by line, and their time is the rank's.
//
// Contract. Places in main memory are handed out in the order in which the program declares its data, at the start
// of a line, so that nothing depends on where the host has them. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>

#include "base/status.hpp"
#include "cell/cache_costs.hpp"
#include "cell/spe/cache_lines.hpp"
#include "sim/event_queue.hpp"
#include "simmpi/settings.hpp"

namespace corewise::simmpi {

/// The cache that the settings describe; its line_bytes are 0 where there is none. Errors name what is wrong.
Result<cell::SoftwareCacheShape> cache_shape(const Settings& settings);

class MainMemory {
 public:
  /// Of a shape that cache_shape has given.
  MainMemory(const cell::SoftwareCacheShape& shape, const cell::SoftwareCacheCosts& costs);

  /// From now on `bytes` at `start` lie there. Refuses what overlaps data that lie there.
  Status place(const void* start, std::uint64_t bytes);
  /// What begins at `start` is there no more. Refuses what does not begin there.
  Status remove(const void* start);
  /// The time of touching `bytes` at `start`: a look-up for each line; 0 for what does not lie there. Refuses what
  /// lies there in part.
  Result<sim::Time> touch(const void* start, std::uint64_t bytes, bool write);

  [[nodiscard]] const cell::SoftwareCacheStatistics& statistics() const { return lines_.statistics(); }
  /// Of all touches.
  [[nodiscard]] sim::Time spent() const { return spent_; }

 private:
  struct Data {
    std::uint64_t bytes = 0;
    cell::EffectiveAddress at = 0;
  };
  using Placed = std::map<std::uintptr_t, Data>;  ///< by where the host has them

  /// The last that begins before `end`; end() where none does.
  [[nodiscard]] Placed::const_iterator last_before(std::uintptr_t end) const;

  cell::SoftwareCacheShape shape_;
  sim::Time hit_, miss_, dirty_miss_;
  cell::CacheLines lines_;
  Placed placed_;
  cell::EffectiveAddress next_;
  sim::Time spent_ = 0;
};

}  // namespace corewise::simmpi
