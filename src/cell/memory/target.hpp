// MemoryTarget: a chip's main memory as its bus sees it: it answers commands at the MIC's stop, refuses them with
// RETRY, moves the bytes, and keeps reservations and copies of lines true.
//
// When a command is refused. (1) Its line is in use by a command in flight and at least one of the two writes: from
// the combined response to the moment when the data have moved, the address concentrator keeps the line. (2) The
// queue of its channel is full. Before that a command waits for one of its unit's credits: a unit may have
// `memory_unit_slots` coherent commands in front of the controller at a time, each for `memory_slot_cycles`
// (decoding, coherence), which is why one SPE alone cannot use the whole memory.
//
// A line that an SPE's atomic unit on the same chip holds modified comes from there and not from the DRAM.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

#include "cell/eib.hpp"
#include "cell/memory/memory.hpp"
#include "cell/memory/reservation.hpp"

namespace corewise::cell {

/// The lines of commands in flight. Reads of one line go together; a write goes alone.
class LinesInFlight {
 public:
  /// False: somebody is in the way. True: the line is held until release.
  bool hold(EffectiveAddress line, bool write);
  void release(EffectiveAddress line, bool write);
  [[nodiscard]] std::size_t size() const { return readers_.size(); }
  /// See sim/state.hpp.
  void append_state(sim::State& state) const;

 private:
  boost::unordered_flat_map<EffectiveAddress, std::int32_t> readers_;  ///< by line; -1: one writer
};

struct TargetStatistics {
  std::uint64_t conflicts = 0;    ///< RETRY because of a line in use
  std::uint64_t full_queues = 0;  ///< RETRY because of a full queue
  std::uint64_t interventions = 0;
};

class MemoryTarget final : public BusTarget {
 public:
  /// `memory` is its number (its chip's); attaches itself to `eib`, that chip's bus.
  MemoryTarget(Eib& eib, int memory, MemoryBytes& bytes, CoherentLines& lines, RetryPolicy& retry);

  Answer command(BusRequest& request) override;
  void fill(BusRequest& request) override;
  void arrived(BusRequest& request) override;

  /// The bytes of interleaved pages (address.hpp): one storage for all memories.
  void set_interleaved(MemoryBytes* bytes) { interleaved_ = bytes; }
  /// Who sends a line that the atomic unit of SPE `unit` holds modified.
  void set_intervener(int unit, BusTarget* target) { interveners_[static_cast<std::size_t>(unit)] = target; }

  [[nodiscard]] MemoryController& controller() { return controller_; }
  /// See sim/state.hpp: the controller's, the lines in flight and the slots.
  void append_state(sim::State& state, const sim::HandlerNames& names) const;
  [[nodiscard]] const TargetStatistics& statistics() const { return statistics_; }

 private:
  static constexpr std::size_t kMaxSlots = 64;

  static void slot_passed(void* self, std::uint64_t request);
  static void read_done(void* self, std::uint64_t request);
  [[nodiscard]] std::uint64_t offset_of(const BusRequest& request) const;
  [[nodiscard]] std::byte* bytes_at(EffectiveAddress ea, std::size_t count);
  [[nodiscard]] bool reserve_place(const BusRequest& request);
  void enter(BusRequest& request);
  void refuse_late(BusRequest& request);
  bool intervene(BusRequest& request);
  Answer claim(BusRequest& request);
  sim::Time slot_end(int stop, bool write);
  void release(const BusRequest& request);

  Eib& eib_;
  const Parameters& p_;
  MemoryBytes& bytes_;
  MemoryBytes* interleaved_ = nullptr;
  CoherentLines& lines_;
  RetryPolicy& retry_;
  MemoryController controller_;
  LinesInFlight in_flight_;
  std::array<BusTarget*, kCoherentUnits> interveners_{};
  /// [stop], and [kStops + stop] for writes that have credits of their own: when each slot of a unit is free again.
  std::array<std::array<sim::Time, kMaxSlots>, std::size_t{2} * kStops> slots_{};
  std::array<std::uint32_t, std::size_t{2} * kStops> next_slot_{};
  TargetStatistics statistics_;
};

}  // namespace corewise::cell
