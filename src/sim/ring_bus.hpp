// RingBus: parallel rings in both directions that carry packets between stops, under one arbiter. It knows no Cell:
// what a stop is, and why somebody sends, is the owner's.
//
// How it works. Stops 0 .. n-1 lie in a circle; rings 0 .. R-1 run upwards (0, 1, 2 ..), rings R .. 2R-1 downwards.
// Time goes in bus cycles. A packet that starts at cycle t moves one stop per cycle and is `packet_beats` cycles
// long: on its ring it holds stop k of its way in cycles [t + k, t + k + beats), so packets follow each other like
// trains; the last beat has arrived at t + hops + beats. The start and the end stop are part of the way (end
// ramps): on one ring a stop cannot take a packet out and put another in at one time. A packet takes the shorter
// way round; exactly half-way it takes whichever direction can start it first. A source decides that once in
// `half_way_packets` packets. It leaves the direction that it had only when a packet has been first in line for
// `half_way_wait` cycles, with the stop free to send. Ring r may start a packet only in cycles t = r (modulo
// `start_period`). Among the packets that can start, the highest priority wins, then the one that has been ready
// longest. A stop sends and receives one packet at a time, and sends in the order in which its packets became
// ready. At most `transfers_per_ring` transfers are on a ring at a time: a transfer is the packets of one source,
// which may follow each other, until the last beat of the last one has arrived. After `rest_after` packets a stop
// starts none for `rest_cycles` more. With `port_to_oldest` a stop's port is kept for the ready packet that goes
// before all others to that stop, though its way is taken: far sources, which may start earlier, would else keep
// near ones from it.
//
// Contract: the Engine outlives the bus. send() may be called from programs and handlers, any time before the
// packet is ready; nothing is allocated per packet once the queues have grown. Costs one event per start and one
// per delivery, none while nobody waits. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "sim/engine.hpp"
#include "sim/state.hpp"

namespace corewise::sim {

/// What a ring bus is made of. All cycles are bus cycles.
struct RingBusSpec {
  int stops = 2;                ///< 2 .. 64
  int rings_per_direction = 1;  ///< 1 .. 4
  Time cycle_ticks = 1;         ///< engine ticks per bus cycle
  int packet_beats = 8;         ///< cycles for which a packet holds a stop; at least stops / 2 + 2 (see .cpp)
  int start_period = 4;         ///< a ring may start one packet in so many cycles
  int transfers_per_ring = 0;   ///< sources whose packets are on one ring at a time; 0: as many as fit
  int age_step = 0;             ///< ages are compared in steps of so many cycles; 0: exactly
  int half_way_packets = 1;     ///< a source decides once in so many packets which way round half-way goes
  int half_way_wait = 0;        ///< and changes the way after a packet was first in line for so many cycles
  bool end_ramps = true;        ///< the first and last stop of a way are held too
  bool port_to_oldest = false;  ///< a port is kept for the ready packet that goes first
  int rest_after = 0;           ///< a source rests after so many packets; 0: never
  int rest_cycles = 0;          ///< how long it rests
  int rest_spread = 0;          ///< a rest is drawn from rest_cycles - spread .. rest_cycles + spread
  std::uint64_t seed = 0;       ///< of those draws
  std::vector<std::uint8_t> priority;  ///< per stop, larger first; empty: all equal
};

/// One packet, or a message of several. `ready` is the tick from which it may start (not before now()). `started`
/// and `delivered` may have a null call; they are called at the start of each packet, and when the last beat of the
/// last one has arrived. The packets of a message take turns with others of their source: each gets in line when
/// the one before it starts.
struct Packet {
  int source = 0;
  int destination = 0;  ///< another stop than the source
  std::uint32_t bytes = 0;
  Time ready = 0;
  Handler delivered;
  Handler started = {};
  std::uint64_t bytes_to_follow = 0;  ///< in packets of `bytes`, the last one shorter
};

/// What a ring's stretch from one stop to the next has carried.
struct RingLinkLoad {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  Time busy_ticks = 0;
};

struct RingStopLoad {
  std::uint64_t sent_packets = 0, received_packets = 0;
  std::uint64_t sent_bytes = 0, received_bytes = 0;
  Time waiting_ticks = 0;  ///< of its packets, from ready to start, summed
};

/// Told of every start, for a trace of the run.
class RingBusObserver {
 public:
  virtual ~RingBusObserver() = default;
  /// The packet holds ring `ring` from `start` to `end` (ticks).
  virtual void on_start(int ring, const Packet& packet, Time start, Time end) = 0;
};

class RingBus {
 public:
  static constexpr int kMaxStops = 64;
  static constexpr int kMaxRings = 8;

  RingBus(Engine& engine, const RingBusSpec& spec);
  RingBus(const RingBus&) = delete;
  RingBus& operator=(const RingBus&) = delete;

  void send(const Packet& packet);

  [[nodiscard]] const RingBusSpec& spec() const { return spec_; }
  [[nodiscard]] int rings() const { return rings_; }
  /// True for rings that run 0, 1, 2 ..
  [[nodiscard]] bool upwards(int ring) const { return ring < spec_.rings_per_direction; }
  /// Hops of the shorter way.
  [[nodiscard]] int hops(int source, int destination) const;
  /// Packets that have not started.
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

  /// The stretch that leaves stop `from` on `ring` (to from + 1 on upward rings, else to from - 1).
  [[nodiscard]] RingLinkLoad link_load(int ring, int from) const;
  /// All packets that started on a ring; busy while at least one beat is under way on any of its stretches.
  [[nodiscard]] RingLinkLoad ring_load(int ring) const;
  [[nodiscard]] RingStopLoad stop_load(int stop) const;
  void observe(RingBusObserver* observer) { observer_ = observer; }

  /// See sim/state.hpp.
  void append_state(State& state, const HandlerNames& names) const;
  /// Names `handler` if it is one of the bus's own events.
  [[nodiscard]] bool name_event(const Handler& handler, State& state) const;

 private:
  struct Entry {
    Packet packet;
    Time ready_cycle = 0;
    std::uint64_t order = 0;
  };
  /// A stop's packets, earliest ready first: a circular buffer that only grows.
  struct Queue {
    std::vector<Entry> entries;
    std::size_t head = 0, count = 0;
    Entry& at(std::size_t index) { return entries[(head + index) & (entries.size() - 1)]; }
    const Entry& at(std::size_t index) const { return entries[(head + index) & (entries.size() - 1)]; }
    Entry& front() { return entries[head]; }
    const Entry& front() const { return entries[head]; }
    void pop() {
      head = (head + 1) & (entries.size() - 1);
      --count;
    }
    /// True when the entry became the first.
    bool insert(const Entry& entry);
  };
  /// Packets of one source on one ring, from the first one's start to the arrival of the last.
  struct Transfer {
    Time until = 0;
    int source = -1;
  };
  /// Where a source's half-way packets go: 0 upwards, 1 downwards, -1: none has started.
  struct HalfWay {
    int direction = -1;
    int left = 0;  ///< packets that go there before the source decides again
  };
  struct PairLoad {
    std::uint64_t packets = 0, bytes = 0;
  };

  void append_waiting(State& state, const HandlerNames& names) const;
  void append_half_way(State& state, Time cycle) const;
  static void arbitrate_at(void* self, std::uint64_t cycle);
  void arbitrate(Time cycle);
  void start_one(int ring, Time cycle);
  [[nodiscard]] int best_head(int ring, Time cycle);
  [[nodiscard]] bool goes_before(int source, int other) const;
  [[nodiscard]] bool port_is_anothers(int source, Time cycle) const;
  [[nodiscard]] int best_with_port(std::uint64_t sources, int ring, Time cycle);
  void start(int ring, int source, Time cycle);
  void next_of_message(Queue& queue, Time cycle);
  void book(int ring, int source, int hops, Time cycle);
  void constrain(int ring, int source, int destination, int hops, Time cycle);
  void delay_rivals(int destination);
  void account(int ring, const Entry& entry, int hops, Time cycle);
  void refresh_head(int source);
  void keep_direction(int source, Time since);
  void count_half_way(int ring, int source, int hops);
  void forget_head(int source);
  void count_transfer(int ring, int source, Time until);
  [[nodiscard]] std::uint64_t admitted(int ring, Time cycle) const;
  [[nodiscard]] Time slot_of(int ring, int source) const;
  [[nodiscard]] Time way_free(int ring, int source, int hops) const;
  [[nodiscard]] std::span<Transfer> transfers_of(int ring) {
    const auto count = static_cast<std::size_t>(spec_.transfers_per_ring);
    return {transfers_.data() + static_cast<std::size_t>(ring) * count, count};
  }
  [[nodiscard]] std::span<const Transfer> transfers_of(int ring) const {
    const auto count = static_cast<std::size_t>(spec_.transfers_per_ring);
    return {transfers_.data() + static_cast<std::size_t>(ring) * count, count};
  }
  [[nodiscard]] Time next_slot(int ring, Time cycle) const {
    if (slot_mask_ >= 0) return cycle + ((ring - cycle) & slot_mask_);
    const Time late = (cycle - ring) % spec_.start_period;
    return late == 0 ? cycle : cycle + (late > 0 ? spec_.start_period - late : -late);
  }
  [[nodiscard]] Time next_start_of(int source) const;
  [[nodiscard]] Time next_start() const;
  void schedule(Time cycle);
  /// The first cycle that begins at or after a tick.
  [[nodiscard]] Time cycle_from(Time ticks) const {
    const Time up = ticks + spec_.cycle_ticks - 1;
    return cycle_shift_ >= 0 ? up >> cycle_shift_ : up / spec_.cycle_ticks;
  }
  [[nodiscard]] Time age_step_of(Time ticks) const {
    return age_shift_ >= 0 ? ticks >> age_shift_ : ticks / (spec_.age_step * spec_.cycle_ticks);
  }
  [[nodiscard]] int rest();
  [[nodiscard]] std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row * spec_.stops + column);
  }
  /// Place of a stop in the order in which a ring's packets pass: a way is then a stretch of rising places.
  [[nodiscard]] int place(int ring, int stop) const { return upwards(ring) ? stop : spec_.stops - 1 - stop; }

  Engine& engine_;
  RingBusSpec spec_;
  int rings_;
  Rng rng_;
  RingBusObserver* observer_ = nullptr;
  std::vector<Queue> queues_;  ///< per source
  std::uint64_t heads_ = 0;    ///< bit set: sources with a packet
  /// Bit set: sources whose port is kept for another one; until a packet starts that does not change.
  std::uint64_t refused_ = 0;
  /// [ring][source]: from when its head may start there, but for slots
  std::array<std::array<Time, kMaxStops>, kMaxRings> earliest_;
  /// [ring][2 x places]: end of the last booking; the second half repeats
  std::array<std::array<Time, 2 * kMaxStops>, kMaxRings> free_at_{};
  /// [direction][source]: places that its head would hold, 0: other way
  std::array<std::array<std::uint64_t, kMaxStops>, 2> head_way_{};
  std::array<std::uint64_t, kMaxStops>
      rivals_{};  ///< per destination: bit set of the sources whose head goes there
  /// Per source, of its head; what the arbiter compares.
  struct Rank {
    Time step = 0;            ///< of readiness
    Time leads_since = 0;     ///< cycle
    Time ready = 0;           ///< cycle from which only ways and ports keep it
    std::uint64_t order = 0;  ///< of sending
    int destination = 0;
  };
  std::vector<Rank> ranks_;
  std::array<Time, kMaxStops> out_free_{};    ///< per stop: sending (and rest) over
  std::array<Time, kMaxStops> in_free_{};     ///< per stop: receiving over
  std::vector<Transfer> transfers_;           ///< [ring][transfers_per_ring]: the last ones to arrive
  std::array<Time, kMaxRings> full_until_{};  ///< per ring: cycle in which the first of those has arrived
  std::array<Time, kMaxRings> ring_gate_{};   ///< per ring: from when it may start another packet
  std::vector<int> sent_since_rest_;          ///< per stop
  std::vector<HalfWay> half_way_;             ///< per stop
  std::vector<std::int8_t> hops_;             ///< [source][destination]
  std::vector<std::uint64_t> way_;  ///< [direction][source][destination]: bit set of places held, 0: other way
  std::uint64_t order_ = 0;
  std::size_t waiting_ = 0;
  int cycle_shift_ = -1, age_shift_ = -1;  ///< where a division is a shift, else -1
  Time slot_mask_ = -1;                    ///< start_period - 1 where that is a power of two, else -1
  Time scheduled_ = kForever;              ///< cycle of the arbitration event that counts

  std::vector<PairLoad> loads_;   ///< [ring][source][destination]
  std::vector<Time> busy_until_;  ///< per ring, cycle
  std::vector<Time> busy_;        ///< per ring, cycles
  std::vector<Time> wait_ticks_;  ///< per stop
};

}  // namespace corewise::sim
