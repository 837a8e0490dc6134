// Main memory of one chip: the bytes, and the memory interface controller (MIC) in front of its DRAM: two XIO
// channels, sixteen banks interleaved by lines (even ones on the first channel, odd ones on the second), per
// channel one queue of reads and one of writes, both finite.
//
// Mechanism. A line occupies its channel for as long as its bursts take at half the memory's bandwidth, and its
// bank for a row cycle, which is longer; a channel takes the oldest request of its queue whose bank is free. It
// stays with reads or with writes and pays a turnaround when it changes: to writes when no read waits or many
// writes do, back when the writes are drained. A write of less than `memory_masked_write_bytes` reads its line
// first. Banks are refreshed in turn.
//
// Contract: the bytes are the coherent ones: they change when a write's data arrive at the controller (which
// forwards them to later reads) and never through the timing below. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cell/address.hpp"
#include "cell/parameters.hpp"
#include "sim/engine.hpp"
#include "sim/state.hpp"

namespace corewise::cell {

/// The bytes of a memory, contiguous and zero, taken from the host page by page as they are touched.
class MemoryBytes {
 public:
  /// Room for `capacity` bytes; throws std::bad_alloc where no such range can be had.
  explicit MemoryBytes(std::uint64_t capacity);
  ~MemoryBytes();
  MemoryBytes(const MemoryBytes&) = delete;
  MemoryBytes& operator=(const MemoryBytes&) = delete;

  /// The offset of `bytes` new bytes, aligned to `alignment` (a power of two). Throws std::bad_alloc when full.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment);
  /// Whether `bytes` at `offset` were given out (or lie between what was).
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= top_ && bytes <= top_ - offset;
  }
  /// Requires holds(offset, bytes).
  [[nodiscard]] std::span<std::byte> at(std::uint64_t offset, std::uint64_t bytes) {
    return {data_ + offset, static_cast<std::size_t>(bytes)};
  }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t top_ = 0;
};

/// What a memory controller counted.
struct MemoryStatistics {
  std::uint64_t reads = 0, writes = 0, read_modify_writes = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
  std::uint64_t refused_reads = 0, refused_writes = 0;  ///< answered with RETRY: queue full
  std::uint64_t turnarounds = 0;
  std::uint64_t bank_waits = 0;  ///< times a channel stood idle because every waiting request's bank was busy
  std::int64_t channel_busy_ticks = 0;  ///< of both channels together
};

class MemoryController {
 public:
  MemoryController(sim::Engine& engine, const Parameters& parameters);
  MemoryController(const MemoryController&) = delete;
  MemoryController& operator=(const MemoryController&) = delete;

  /// Keeps a place in the queue of reads (of writes) of the line's channel. False: it is full.
  bool reserve_read(std::uint64_t offset);
  bool reserve_write(std::uint64_t offset);
  /// The read of up to a line for which a place was kept; `done` is called when its data can leave over the bus,
  /// and the place is free again.
  void read(std::uint64_t offset, std::uint32_t bytes, const sim::Handler& done);
  /// The data of a write for which a place was kept have arrived; the place is free again when they are in the
  /// DRAM.
  void write(std::uint64_t offset, std::uint32_t bytes);

  [[nodiscard]] const MemoryStatistics& statistics() const { return statistics_; }
  /// Where a line lies.
  [[nodiscard]] int channel_of(std::uint64_t offset) const;
  [[nodiscard]] int bank_of(std::uint64_t offset) const;
  /// See sim/state.hpp.
  void append_state(sim::State& state, const sim::HandlerNames& names) const;

 private:
  static constexpr int kMaxChannels = 2;
  static constexpr int kMaxBanks = 16;

  struct Request {
    std::uint64_t offset;
    std::uint32_t bytes;
    sim::Handler done;
  };
  struct Channel {
    std::vector<Request> reads, writes;  ///< oldest first
    std::uint32_t reads_held = 0;        ///< places taken: waiting, or in the DRAM, or before the bus
    std::uint32_t writes_held = 0;       ///< places taken: kept, waiting, or in the DRAM
    bool writing = false;
    sim::Time free_at = 0;
    sim::Time attempt_at = -1;  ///< of the event that is pending, -1: none
  };

  static void attempt(void* self, std::uint64_t channel);
  static void read_left(void* self, std::uint64_t channel);
  static void write_left(void* self, std::uint64_t channel);
  void schedule(int channel, sim::Time when);
  void serve(int channel);
  /// Reads or writes next; pays the turnaround where that changes.
  void choose_direction(Channel& channel);
  /// The oldest request within the controller's sight whose bank is free now, -1 when none is; then `ready_at` is
  /// when the first will be.
  int pick(const std::vector<Request>& queue, sim::Time& ready_at);
  void start(int channel, const Request& request, bool write);
  [[nodiscard]] sim::Time burst_ticks(std::uint32_t bytes) const;
  /// When a bank can take its next access: after its last one, and after the refreshes that were due by now.
  [[nodiscard]] sim::Time bank_free(int bank);

  sim::Engine& engine_;
  const Parameters& p_;
  std::array<Channel, kMaxChannels> channels_;
  std::array<sim::Time, kMaxBanks> bank_free_{};
  std::array<std::int64_t, kMaxBanks> refreshed_{};  ///< refreshes done, per bank
  MemoryStatistics statistics_;
};

}  // namespace corewise::cell
