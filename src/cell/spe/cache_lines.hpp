// CacheLines: which lines lie in a software cache, and what is counted: sets of lines, the one used longest ago
// gives way (one way per set: direct-mapped), an empty place first. A store marks its line; a marked line that
// gives way has to be written back.
//
// Contract. Knows no data and no time: whoever asks moves the bytes and spends the cycles.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "cell/address.hpp"

namespace corewise::cell {

struct SoftwareCacheShape {
  std::uint32_t line_bytes = 128;  ///< a power of two, 128 to 16384
  std::uint32_t sets = 64;         ///< a power of two
  std::uint32_t ways = 4;
  /// Core cycles of finding a line: address arithmetic and compares of all ways at once. Assumed.
  std::int64_t look_up_cycles = 20;
  /// And of choosing and entering another one, beside its DMA. Assumed.
  std::int64_t miss_cycles = 60;
  /// And of each quadword that a copy moves between a line and the rest of the local store: a load, a store, the
  /// loop. Assumed, as the copies of coll/building/cost.hpp.
  std::int64_t copy_quadword_cycles = 3;

  [[nodiscard]] std::uint32_t bytes() const { return line_bytes * sets * ways; }
  /// Errors name the field.
  [[nodiscard]] Status check() const;
};

struct SoftwareCacheStatistics {
  std::uint64_t hits = 0, misses = 0, write_backs = 0;

  SoftwareCacheStatistics& operator+=(const SoftwareCacheStatistics& other) {
    hits += other.hits;
    misses += other.misses;
    write_backs += other.write_backs;
    return *this;
  }
};

class CacheLines {
 public:
  /// Of a shape that has passed its check.
  explicit CacheLines(const SoftwareCacheShape& shape)
      : shape_(shape), ways_(std::size_t{shape.sets} * shape.ways) {}

  struct Found {
    std::uint32_t index = 0;  ///< the line's place, set by set
    bool hit = false;
    std::optional<EffectiveAddress> write_back;  ///< the line that was there before and has to be written back
  };
  /// The line at `line`, a multiple of its bytes, which is in the cache afterwards. Counts.
  Found use(EffectiveAddress line, bool write);
  /// Where the line is; counts nothing, changes nothing.
  [[nodiscard]] std::optional<std::uint32_t> look(EffectiveAddress line) const;
  /// Calls visit(index, line) for every line that has to be written back, counts it and takes its mark.
  template <class Visit>
  void clean(Visit visit) {
    for (std::uint32_t index = 0; index < ways_.size(); ++index) {
      if (!ways_[index].written) continue;
      visit(index, ways_[index].line);
      ways_[index].written = false;
      ++statistics_.write_backs;
    }
  }
  /// Nothing is in the cache, and nothing is written back.
  void clear() { ways_.assign(ways_.size(), Way{}); }

  [[nodiscard]] const SoftwareCacheStatistics& statistics() const { return statistics_; }

 private:
  struct Way {
    EffectiveAddress line = 0;
    std::uint64_t used = 0;  ///< when last; 0: empty
    bool written = false;
  };
  [[nodiscard]] std::uint32_t first_of_set(EffectiveAddress line) const {
    return static_cast<std::uint32_t>(line / shape_.line_bytes % shape_.sets) * shape_.ways;
  }

  SoftwareCacheShape shape_;
  std::vector<Way> ways_;  ///< set by set
  std::uint64_t now_ = 0;
  SoftwareCacheStatistics statistics_;
};

}  // namespace corewise::cell
