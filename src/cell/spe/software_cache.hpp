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
// end; a copy may. Local store: bytes() at a multiple of a line. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>

#include "cell/address.hpp"
#include "cell/spe/cache_lines.hpp"
#include "cell/spe/spu.hpp"

namespace corewise::cell {

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
  /// Copies between main memory behind the cache and the own local store: one look-up for each line that they
  /// touch.
  void read(EffectiveAddress from, std::span<std::byte> to, const Where& where = Where::current());
  void write(std::span<const std::byte> from, EffectiveAddress to, const Where& where = Where::current());
  /// For checks from outside: nothing is counted, no time passes. peek overlays a copy of main memory with what
  /// lies in the cache; poke changes what lies there, not main memory, and leaves what was stored to be written
  /// back.
  void peek(EffectiveAddress from, std::span<std::byte> to) const;
  void poke(std::span<const std::byte> from, EffectiveAddress to);

  /// Writes back what was stored; the lines stay.
  void flush(const Where& where = Where::current());
  /// Forgets all lines, also those that were stored to.
  void invalidate();

  [[nodiscard]] const SoftwareCacheStatistics& statistics() const { return lines_.statistics(); }

 private:
  LsAddress find(EffectiveAddress ea, std::uint32_t bytes, bool write, const Where& where);
  /// The bytes of [at, at + bytes) up to the end of at's line.
  [[nodiscard]] std::uint32_t part(EffectiveAddress at, std::size_t bytes) const;
  /// Calls visit(bytes of the local store, their place in the range) for what lies in the cache of a range.
  template <class Visit>
  void for_cached(EffectiveAddress at, std::size_t bytes, Visit visit) const;
  void put(std::uint32_t index, EffectiveAddress line, const Where& where);
  void wait(const Where& where);
  [[nodiscard]] LsAddress place(std::uint32_t index) const { return at_ + index * shape_.line_bytes; }

  Spu& spu_;
  LsAddress at_;
  SoftwareCacheShape shape_;
  CacheLines lines_;
};

}  // namespace corewise::cell
