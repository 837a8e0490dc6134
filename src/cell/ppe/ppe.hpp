// Ppe: the PowerPC processor element of one chip as the bus and its own programs see it: two hardware threads, an
// L1 and an L2 data cache with real tags, misses over the bus, uncached accesses to local stores and registers.
//
// Mechanism. A load or store of main memory that misses both caches brings its line over the bus; dirty lines that
// give way are written back behind it; a line that anybody else writes leaves the caches. The core is in order: a
// program waits for its load. memcpy keeps `ppe_misses_in_flight` lines under way (the load it waits for and the
// store behind it). Local stores and registers are not cached: every access of up to 8 bytes is a bus request.
// Computation and system software hold one of the two hardware threads.
//
// Contract: called from programs (fibers) only, which it blocks. The bytes of main memory are MemoryBytes': caches
// know tags. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

#include "cell/address.hpp"
#include "cell/eib.hpp"
#include "cell/memory/memory.hpp"
#include "cell/memory/reservation.hpp"
#include "cell/parameters.hpp"
#include "cell/spe/channels.hpp"

namespace corewise::cell {

/// Tags of a set-associative cache of 128-byte lines, least recently used gives way.
class LineCache {
 public:
  LineCache(std::int64_t bytes, std::int64_t ways);

  /// Whether the line is there; if so it is now the latest of its set, and dirty when `write`.
  bool touch(EffectiveAddress line, bool write);
  /// Brings a line that is not there; returns the dirty line that gave way, 0 when none did.
  EffectiveAddress insert(EffectiveAddress line, bool write);
  /// What leaves when `line`, which is not there, is brought; 0: nothing.
  [[nodiscard]] EffectiveAddress next_to_go(EffectiveAddress line);
  void drop(EffectiveAddress line);

 private:
  struct Way {
    EffectiveAddress line = 0;  ///< 0: empty
    bool dirty = false;
  };
  [[nodiscard]] std::span<Way> set_of(EffectiveAddress line);

  std::size_t ways_;
  std::size_t sets_;
  std::vector<Way> lines_;  ///< per set, latest first
};

struct PpeStatistics {
  std::uint64_t l1_hits = 0, l2_hits = 0, misses = 0, write_backs = 0;
  std::uint64_t uncached_reads = 0, uncached_writes = 0;
};

class Ppe final : public BusRequester, public LineObserver {
 public:
  using Where = std::source_location;

  Ppe(Eib& eib, CoherentLines& lines, std::span<MemoryBytes* const> memories);

  [[nodiscard]] int chip() const { return eib_.chip(); }
  [[nodiscard]] sim::Engine& engine() { return eib_.engine(); }
  [[nodiscard]] const Parameters& parameters() const { return p_; }

  /// Computes for `cycles` on one of the two hardware threads; waits for one.
  void compute(std::int64_t cycles, const Where& where = Where::current());
  /// Loads (stores) `bytes`; each piece within a line (8 bytes where uncached) is one access.
  void load(EffectiveAddress ea, std::span<std::byte> bytes, const Where& where = Where::current());
  void store(EffectiveAddress ea, std::span<const std::byte> bytes, const Where& where = Where::current());
  /// memcpy between main memory ranges and local stores that do not overlap.
  void copy(EffectiveAddress to, EffectiveAddress from, std::uint64_t bytes, const Where& where = Where::current());
  /// Load a word and reserve its line; store a word if the reservation stands (lwarx, stwcx.).
  std::uint32_t load_reserve(EffectiveAddress ea, const Where& where = Where::current());
  bool store_conditional(EffectiveAddress ea, std::uint32_t value, const Where& where = Where::current());

  void delivered(BusRequest& request) override;
  void line_written(EffectiveAddress line) override;
  [[nodiscard]] const PpeStatistics& statistics() const { return statistics_; }

 private:
  /// One request on the bus. Freed by its waiter or, where nobody waits, at its end.
  struct Access : BusRequest {
    std::array<std::byte, kLineBytes> line{};
    sim::Process* waiter = nullptr;
    Waiters followers;  ///< programs that hit the line while it is on its way
    bool busy = false, done = false, forget = false;
  };

  /// Every program reserves for itself, as every hardware thread does: else a stale store of one would take the
  /// reservation of another for its own.
  struct Reservation {
    const sim::Process* owner;
    EffectiveAddress line;
  };

  Access& take_access();
  Access& start(BusKind kind, EffectiveAddress ea, std::uint32_t bytes, const void* data,
                std::uint8_t flavour = kPlain);
  void wait(Access& access, const char* what, const Where& where);
  /// Starts what a line needs to be in the caches; null when it hits.
  Access* fetch(EffectiveAddress line, bool write);
  void write_back(EffectiveAddress line);
  void touch(EffectiveAddress ea, bool write, const Where& where);
  void wait_for_line(EffectiveAddress line, const Where& where);
  void drop_reservation();
  [[nodiscard]] bool reserved(EffectiveAddress line);
  [[nodiscard]] std::byte* memory_at(EffectiveAddress ea, std::uint64_t bytes);
  void memory_written(EffectiveAddress ea);
  void copy_cached(EffectiveAddress to, EffectiveAddress from, std::uint64_t bytes, const Where& where);

  Eib& eib_;
  const Parameters& p_;
  CoherentLines& lines_;
  std::vector<MemoryBytes*> memories_;
  LineCache l1_, l2_;
  std::vector<std::unique_ptr<Access>> accesses_;
  std::vector<Reservation> reservations_;  ///< at most one per program
  int free_threads_ = 2;
  Waiters thread_waiters_;
  bool own_store_ = false;  ///< line_written comes from this PPE's own store
  PpeStatistics statistics_;
};

}  // namespace corewise::cell
