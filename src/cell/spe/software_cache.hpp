// SoftwareCache: an SPE program's data in main memory behind a cache that software keeps in its local store, as the
// SDK's library does (paper 001, section 3, names it as the way in which an MPI program's data stay in main
// memory).
//
// Mechanism. Sets of lines, the one used longest ago gives way (one way per set: direct-mapped). A hit costs the
// look-up's cycles. A miss costs the look-up, the write-back of the line that gives way if it was written, and the
// get of the new one, both by DMA; the program waits for them. A store writes to the line only (write-back,
// write-allocate).
//
// Contract. Used by one program. What lies in the cache is not coherent with main memory: `flush` before somebody
// else reads what was stored, `invalidate` before reading what somebody else wrote. A value must not cross a line's
// end. Local store: bytes() at a multiple of a line. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>
#include <vector>

#include "base/status.hpp"
#include "cell/address.hpp"
#include "cell/spe/spu.hpp"

namespace corewise::cell {

struct SoftwareCacheShape {
  std::uint32_t line_bytes = 128;  ///< a power of two, 128 to 16384
  std::uint32_t sets = 64;         ///< a power of two
  std::uint32_t ways = 4;
  /// Core cycles of finding a line: address arithmetic and compares of all ways at once. Assumed.
  std::int64_t look_up_cycles = 20;
  /// And of choosing and entering another one, beside its DMA. Assumed.
  std::int64_t miss_cycles = 60;

  [[nodiscard]] std::uint32_t bytes() const { return line_bytes * sets * ways; }
  /// Errors name the field.
  [[nodiscard]] Status check() const;
};

struct SoftwareCacheStatistics {
  std::uint64_t hits = 0, misses = 0, write_backs = 0;
};

class SoftwareCache {
 public:
  using Where = std::source_location;
  /// The tag group of its transfers.
  static constexpr std::uint32_t kTag = 30;

  /// A wrong shape, or one that goes beyond the local store, ends the run.
  SoftwareCache(Spu& spu, LsAddress at, const SoftwareCacheShape& shape);

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T load(EffectiveAddress ea, const Where& where = Where::current()) {
    return spu_.load<T>(find(ea, sizeof(T), false, where), where);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void store(EffectiveAddress ea, const T& value, const Where& where = Where::current()) {
    spu_.store(find(ea, sizeof(T), true, where), value, where);
  }
  /// Writes back what was stored; the lines stay.
  void flush(const Where& where = Where::current());
  /// Forgets all lines, also those that were stored to.
  void invalidate();

  [[nodiscard]] const SoftwareCacheStatistics& statistics() const { return statistics_; }

 private:
  struct Way {
    EffectiveAddress line = 0;  ///< 0: empty
    std::uint64_t used = 0;     ///< when last
    bool dirty = false;
  };

  LsAddress find(EffectiveAddress ea, std::uint32_t bytes, bool write, const Where& where);
  std::uint32_t bring(std::uint32_t set, EffectiveAddress line, const Where& where);
  void write_back(std::uint32_t index, const Where& where);
  void wait(const Where& where);
  [[nodiscard]] LsAddress place(std::uint32_t index) const { return at_ + index * shape_.line_bytes; }

  Spu& spu_;
  LsAddress at_;
  SoftwareCacheShape shape_;
  std::vector<Way> ways_;  ///< set by set
  std::uint64_t now_ = 0;
  SoftwareCacheStatistics statistics_;
};

}  // namespace corewise::cell
