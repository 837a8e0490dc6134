// The ring bus against a reference that goes through every bus cycle and keeps every stop's bookings as a set of
// cycles, on random traffic; then single rules with numbers worked out by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "sim/ring_bus.hpp"
#include "sim/state.hpp"

namespace corewise::sim {
namespace {

struct Start {
  int ring = -1;
  Time cycle = -1;
  bool operator==(const Start&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Start& start) {
  return out << "ring " << start.ring << " cycle " << start.cycle;
}

/// Packets carry their number as their size.
std::uint32_t name_of(std::size_t number) {
  return static_cast<std::uint32_t>(number) + 1;
}

class Starts final : public RingBusObserver {
 public:
  Starts(std::size_t packets, Time cycle_ticks) : starts(packets), ends(packets), cycle_ticks_(cycle_ticks) {}
  void on_start(int ring, const Packet& packet, Time start, Time end) override {
    starts[packet.bytes - 1] = {ring, start / cycle_ticks_};
    ends[packet.bytes - 1] = end / cycle_ticks_;
  }
  std::vector<Start> starts;
  std::vector<Time> ends;

 private:
  Time cycle_ticks_;
};

/// Cycle by cycle, as written in the header; slow and without any of the bus's shortcuts.
class Reference {
 public:
  explicit Reference(const RingBusSpec& spec)
      : spec_(spec), rng_(spec.seed), busy_(static_cast<std::size_t>(2 * spec.rings_per_direction * spec.stops)) {}

  std::vector<Start> run(const std::vector<Packet>& packets) {
    std::vector<Start> starts(packets.size());
    std::vector<std::deque<std::size_t>> queues(static_cast<std::size_t>(spec_.stops));
    std::vector<std::size_t> order(packets.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return packets[a].ready < packets[b].ready; });
    for (const std::size_t i : order) queues[static_cast<std::size_t>(packets[i].source)].push_back(i);
    out_until_.assign(queues.size(), 0);
    sent_.assign(queues.size(), 0);
    turns_.assign(queues.size(), {-1, 0});
    receiving_.assign(queues.size(), {});
    std::size_t left = packets.size();
    for (Time t = 0; left > 0 && t < 1000000; ++t) {
      for (int ring = 0; ring < 2 * spec_.rings_per_direction; ++ring) {
        if (t % spec_.start_period != ring % spec_.start_period) continue;
        int best = -1;
        for (int unit = 0; unit < spec_.stops; ++unit) {
          const auto& queue = queues[static_cast<std::size_t>(unit)];
          if (queue.empty() || !may_start(packets[queue.front()], ring, t)) continue;
          if (spec_.port_to_oldest && port_is_anothers(packets, queues, queue.front(), t)) continue;
          if (best < 0 || before(packets, queue.front(), queues[static_cast<std::size_t>(best)].front()))
            best = unit;
        }
        if (best < 0) continue;
        auto& queue = queues[static_cast<std::size_t>(best)];
        reserve(packets[queue.front()], ring, t);
        starts[queue.front()] = {ring, t};
        queue.pop_front();
        --left;
      }
    }
    return starts;
  }

 private:
  struct Flying {
    int ring, source;
    Time until;
  };
  [[nodiscard]] bool before(const std::vector<Packet>& packets, std::size_t a, std::size_t b) const {
    const auto rank = [&](std::size_t i) {
      const int priority = spec_.priority.empty() ? 0 : spec_.priority[static_cast<std::size_t>(packets[i].source)];
      if (spec_.age_step == 0) return std::tuple(-priority, packets[i].ready, Time{0}, i);
      const Time since = std::max((packets[i].ready + spec_.cycle_ticks - 1) / spec_.cycle_ticks,
                                  out_until_[static_cast<std::size_t>(packets[i].source)]);
      return std::tuple(-priority, packets[i].ready / (spec_.age_step * spec_.cycle_ticks), since, i);
    };
    return rank(a) < rank(b);
  }
  /// Another head that is ready for the same stop goes before this packet.
  [[nodiscard]] bool port_is_anothers(const std::vector<Packet>& packets,
                                      const std::vector<std::deque<std::size_t>>& queues, std::size_t mine,
                                      Time t) const {
    return std::any_of(queues.begin(), queues.end(), [&](const std::deque<std::size_t>& queue) {
      if (queue.empty() || queue.front() == mine) return false;
      const Packet& other = packets[queue.front()];
      const bool ready =
          other.ready <= t * spec_.cycle_ticks && out_until_[static_cast<std::size_t>(other.source)] <= t;
      return ready && other.destination == packets[mine].destination && before(packets, queue.front(), mine);
    });
  }
  [[nodiscard]] int hops(const Packet& packet, int ring) const {
    const int up = (packet.destination - packet.source + spec_.stops) % spec_.stops;
    return ring < spec_.rings_per_direction ? up : spec_.stops - up;
  }
  [[nodiscard]] std::set<Time>& busy(const Packet& packet, int ring, int k) {
    const int stop = ring < spec_.rings_per_direction ? packet.source + k : packet.source - k + spec_.stops;
    return busy_[static_cast<std::size_t>(ring * spec_.stops + stop % spec_.stops)];
  }
  bool may_start(const Packet& packet, int ring, Time t) {
    const int h = hops(packet, ring);
    if (2 * h > spec_.stops || packet.ready > t * spec_.cycle_ticks) return false;
    if (out_until_[static_cast<std::size_t>(packet.source)] > t) return false;
    if (2 * h == spec_.stops && !may_take_direction(packet, ring, t)) return false;
    const auto& in = receiving_[static_cast<std::size_t>(packet.destination)];
    for (int b = 0; b < spec_.packet_beats; ++b) {
      if (in.count(t + h + b) != 0) return false;
      for (int k = 0; k < h + (spec_.end_ramps ? 1 : 0); ++k) {
        if (busy(packet, ring, k).count(t + k + b) != 0) return false;
      }
    }
    if (spec_.transfers_per_ring == 0) return true;
    std::set<int> others;
    for (const Flying& f : flying_) {
      if (f.ring == ring && f.until > t && f.source != packet.source) others.insert(f.source);
    }
    return static_cast<int>(others.size()) < spec_.transfers_per_ring;
  }
  /// Half-way: another direction than the source's packets before took.
  [[nodiscard]] bool may_take_direction(const Packet& packet, int ring, Time t) const {
    const auto [direction, sent] = turns_[static_cast<std::size_t>(packet.source)];
    if (direction < 0 || direction == (ring < spec_.rings_per_direction ? 0 : 1)) return true;
    if (sent % spec_.half_way_packets != 0) return false;
    const Time since = std::max((packet.ready + spec_.cycle_ticks - 1) / spec_.cycle_ticks,
                                out_until_[static_cast<std::size_t>(packet.source)]);
    return t >= since + spec_.half_way_wait;
  }
  void reserve(const Packet& packet, int ring, Time t) {
    const int h = hops(packet, ring);
    if (2 * h == spec_.stops) {
      auto& [direction, sent] = turns_[static_cast<std::size_t>(packet.source)];
      direction = ring < spec_.rings_per_direction ? 0 : 1;
      ++sent;
    }
    for (int b = 0; b < spec_.packet_beats; ++b) {
      receiving_[static_cast<std::size_t>(packet.destination)].insert(t + h + b);
      for (int k = 0; k < h + (spec_.end_ramps ? 1 : 0); ++k) busy(packet, ring, k).insert(t + k + b);
    }
    flying_.push_back({ring, packet.source, t + h + spec_.packet_beats});
    if (flying_.size() > 4096) {
      std::erase_if(flying_, [&](const Flying& f) { return f.until <= t; });
    }
    const auto source = static_cast<std::size_t>(packet.source);
    out_until_[source] = t + spec_.packet_beats;
    if (spec_.rest_after == 0 || ++sent_[source] < spec_.rest_after) return;
    sent_[source] = 0;
    int rest = spec_.rest_cycles;
    if (spec_.rest_spread > 0) {
      rest +=
          static_cast<int>(rng_.below(static_cast<std::uint64_t>(2 * spec_.rest_spread + 1))) - spec_.rest_spread;
    }
    out_until_[source] += std::max(rest, 0);
  }

  RingBusSpec spec_;
  Rng rng_;
  std::vector<std::set<Time>> busy_, receiving_;
  std::vector<Time> out_until_;
  std::vector<int> sent_;
  std::vector<std::pair<int, int>> turns_;  ///< per stop: direction of its half-way packets, how many there were
  std::vector<Flying> flying_;
};

RingBusSpec cell_like() {
  RingBusSpec spec;
  spec.stops = 12;
  spec.rings_per_direction = 2;
  spec.cycle_ticks = 2;
  spec.transfers_per_ring = 3;
  spec.age_step = 4;
  spec.rest_after = 16;
  spec.rest_cycles = 2;
  return spec;
}

/// Traffic of `count` packets between random stops; `gap` is the mean number of ticks between two of them.
std::vector<Packet> random_traffic(const RingBusSpec& spec, std::size_t count, int gap, Rng& rng) {
  std::vector<Packet> packets(count);
  const auto stops = static_cast<std::uint64_t>(spec.stops);
  Time ready = 0;
  for (std::size_t i = 0; i < count; ++i) {
    packets[i].source = static_cast<int>(rng.below(stops));
    packets[i].destination =
        static_cast<int>((static_cast<std::uint64_t>(packets[i].source) + 1 + rng.below(stops - 1)) % stops);
    packets[i].bytes = name_of(i);
    ready += static_cast<Time>(rng.below(static_cast<std::uint64_t>(2 * gap + 1)));
    packets[i].ready = ready;
  }
  return packets;
}

std::vector<Start> simulate(const RingBusSpec& spec, const std::vector<Packet>& packets) {
  Engine engine(1);
  RingBus bus(engine, spec);
  Starts starts(packets.size(), spec.cycle_ticks);
  bus.observe(&starts);
  for (const Packet& packet : packets) bus.send(packet);
  EXPECT_TRUE(engine.run().ok());
  EXPECT_EQ(bus.waiting(), 0U);
  return starts.starts;
}

void expect_same(const RingBusSpec& spec, const std::vector<Packet>& packets) {
  const std::vector<Start> expected = Reference(spec).run(packets);
  const std::vector<Start> got = simulate(spec, packets);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    ASSERT_EQ(got[i], expected[i]) << "packet " << i << " from " << packets[i].source << " to "
                                   << packets[i].destination << " ready " << packets[i].ready;
  }
}

TEST(RingBus, StartsWhatTheReferenceStartsOnTheCellsRings) {
  Rng rng(1);
  for (const int gap : {1, 2, 3, 6, 30}) {
    for (int round = 0; round < 4; ++round) {
      SCOPED_TRACE("gap " + std::to_string(gap) + " round " + std::to_string(round));
      RingBusSpec spec = cell_like();
      for (const bool kept : {true, false}) {
        spec.port_to_oldest = kept;
        spec.half_way_packets = kept ? 1 : 3;
        spec.half_way_wait = kept ? 0 : 20;
        expect_same(spec, random_traffic(spec, 400, gap, rng));
      }
    }
  }
}

TEST(RingBus, StartsWhatTheReferenceStartsOnOtherRings) {
  Rng rng(2);
  for (const int stops : {2, 3, 5, 8, 12, 16}) {
    for (const int rings : {1, 2, 3}) {
      for (const int period : {1, 3, 4, 6, 7}) {
        RingBusSpec spec = cell_like();
        spec.stops = stops;
        spec.rings_per_direction = rings;
        spec.start_period = period;
        spec.packet_beats = spec.stops / 2 + 2 + static_cast<int>(rng.below(4));  // the bus asks for as many
        spec.transfers_per_ring = static_cast<int>(rng.below(4));
        spec.age_step = static_cast<int>(rng.below(3) * 16);
        spec.end_ramps = rng.below(2) == 0;
        spec.port_to_oldest = rng.below(2) == 0;
        spec.half_way_packets = 1 + static_cast<int>(rng.below(4));
        spec.half_way_wait = static_cast<int>(rng.below(3) * 12);
        spec.rest_after = static_cast<int>(rng.below(5));
        spec.rest_spread = static_cast<int>(rng.below(3));
        spec.seed = rng.next();
        spec.cycle_ticks = 1 + static_cast<Time>(rng.below(3));
        if (rng.below(2) == 0) {
          for (int stop = 0; stop < stops; ++stop) spec.priority.push_back(static_cast<std::uint8_t>(rng.below(3)));
        }
        SCOPED_TRACE(std::to_string(stops) + " stops " + std::to_string(rings) + " rings period " +
                     std::to_string(period) + " limit " + std::to_string(spec.transfers_per_ring));
        expect_same(spec, random_traffic(spec, 150, static_cast<int>(1 + rng.below(8)), rng));
      }
    }
  }
}

// What is handed over long before it is ready and what is handed over at the last moment must start alike.
TEST(RingBus, DoesNotDependOnHowEarlyItIsTold) {
  Rng rng(3);
  const RingBusSpec spec = cell_like();
  const std::vector<Packet> packets = random_traffic(spec, 500, 2, rng);
  const std::vector<Start> early = simulate(spec, packets);

  Engine engine(1);
  RingBus bus(engine, spec);
  Starts late(packets.size(), spec.cycle_ticks);
  bus.observe(&late);
  struct Sender {
    RingBus& bus;
    const std::vector<Packet>& packets;
  } sender{bus, packets};
  const Handler::Call send = [](void* self, std::uint64_t i) {
    auto& s = *static_cast<Sender*>(self);
    s.bus.send(s.packets[i]);
  };
  for (std::size_t i = 0; i < packets.size(); ++i) {
    engine.at(std::max<Time>(0, packets[i].ready - 1), {send, &sender, i});
  }
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(late.starts, early);
}

/// The most sources that have packets on one ring at one time.
std::size_t most_transfers_at_once(const RingBusSpec& spec, const std::vector<Packet>& packets) {
  Engine engine(1);
  RingBus bus(engine, spec);
  Starts seen(packets.size(), spec.cycle_ticks);
  bus.observe(&seen);
  for (const Packet& packet : packets) bus.send(packet);
  EXPECT_TRUE(engine.run().ok());
  std::size_t most = 0;
  for (const Start& start : seen.starts) {
    std::set<int> sources;
    for (std::size_t i = 0; i < packets.size(); ++i) {
      const bool there = seen.starts[i].cycle <= start.cycle && start.cycle < seen.ends[i];
      if (seen.starts[i].ring == start.ring && there) sources.insert(packets[i].source);
    }
    most = std::max(most, sources.size());
  }
  return most;
}

/// How many of the first `until` cycles' packets of 400 from each of stops 1 .. 5 to stop 6 come from each.
std::vector<int> shares_of_a_port(bool kept) {
  RingBusSpec spec = cell_like();
  spec.port_to_oldest = kept;
  constexpr int kEach = 400;
  std::vector<Packet> packets;
  for (int i = 0; i < kEach; ++i) {
    for (int source = 1; source <= 5; ++source) {
      Packet packet;
      packet.source = source;
      packet.destination = 6;
      packet.bytes = name_of(packets.size());
      packet.ready = 2 * i;
      packets.push_back(packet);
    }
  }
  const std::vector<Start> starts = simulate(spec, packets);
  std::vector<int> shares(6, 0);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (starts[i].cycle < 8 * kEach) ++shares[static_cast<std::size_t>(packets[i].source)];
  }
  return shares;
}

// Five stops send to one: its port takes one packet in eight cycles. A far stop may start as many cycles earlier as
// it is further away, and keeps the near ones from the port; kept for the oldest it is shared evenly.
TEST(RingBus, AKeptPortIsSharedEvenly) {
  const std::vector<int> kept = shares_of_a_port(true), greedy = shares_of_a_port(false);
  const auto least = [](const std::vector<int>& shares) {
    return *std::min_element(shares.begin() + 1, shares.end());
  };
  const auto most = [](const std::vector<int>& shares) {
    return *std::max_element(shares.begin() + 1, shares.end());
  };
  EXPECT_LE(most(kept), least(kept) + 2);
  EXPECT_GT(most(greedy), 2 * least(greedy));
}

// On the Cell's own rings, with its one start in four cycles: the limit is reached, and without it there would be
// more.
TEST(RingBus, AtMostThreeTransfersAreOnARingAtATime) {
  Rng rng(7);
  for (int round = 0; round < 4; ++round) {
    RingBusSpec spec = cell_like();
    const std::vector<Packet> packets = random_traffic(spec, 600, 1, rng);
    for (const int limit : {1, 2, 3}) {
      spec.transfers_per_ring = limit;
      EXPECT_EQ(most_transfers_at_once(spec, packets), static_cast<std::size_t>(limit));
    }
    const std::vector<Start> three = simulate(spec, packets);
    spec.transfers_per_ring = 0;
    EXPECT_GT(most_transfers_at_once(spec, packets), 3U);
    EXPECT_NE(simulate(spec, packets), three);
  }
}

// Three flows of one hop fill ring 0; a fourth waits for the first of them to arrive, though its way is free, while
// the flow that is under way goes on.
TEST(RingBus, ATransferUnderWayGoesOnWhileANewOneWaits) {
  RingBusSpec spec = cell_like();
  spec.rings_per_direction = 1;
  spec.start_period = 2;
  spec.rest_after = 0;
  const std::vector<Packet> packets = {{0, 1, 1, 0, {}, {}},
                                       {3, 4, 2, 2, {}, {}},
                                       {6, 7, 3, 4, {}, {}},
                                       {9, 10, 4, 5, {}, {}},
                                       {0, 1, 5, 5, {}, {}}};
  const std::vector<Start> starts = simulate(spec, packets);
  EXPECT_EQ(starts[4], (Start{0, 8})) << "0's next packet, before the first has arrived in cycle 9";
  EXPECT_EQ(starts[1], (Start{0, 2}));
  EXPECT_EQ(starts[2], (Start{0, 4}));
  EXPECT_EQ(starts[3], (Start{0, 12})) << "3's packet has arrived in cycle 2 + 1 + 8 = 11; the next slot";
  spec.transfers_per_ring = 0;
  EXPECT_EQ(simulate(spec, packets)[3], (Start{0, 6}));
}

TEST(RingBus, DeliversWhenTheLastBeatHasArrived) {
  Engine engine(1);
  RingBus bus(engine, cell_like());
  struct Seen {
    Engine& engine;
    std::vector<Time> times;
  } seen{engine, {}};
  const Handler::Call note = [](void* self, std::uint64_t) {
    auto& s = *static_cast<Seen*>(self);
    s.times.push_back(s.engine.now());
  };
  // Upwards, ring 0: cycle 0. Three hops and eight beats: 11 cycles of two ticks.
  bus.send({0, 3, 128, 0, {note, &seen, 0}, {note, &seen, 1}});
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(seen.times, (std::vector<Time>{0, 22}));
}

TEST(RingBus, HalfWayTakesEitherDirectionAndMoreNeverTheLongWay) {
  RingBusSpec spec = cell_like();
  spec.rest_after = 0;
  std::vector<Packet> packets;
  for (std::size_t i = 0; i < 8; ++i) packets.push_back({0, 6, name_of(i), 0, {}, {}});
  for (std::size_t i = 8; i < 16; ++i) packets.push_back({1, 8, name_of(i), 0, {}, {}});
  const std::vector<Start> starts = simulate(spec, packets);
  std::set<bool> half, more;
  for (std::size_t i = 0; i < 8; ++i) half.insert(starts[i].ring < 2);
  for (std::size_t i = 8; i < 16; ++i) more.insert(starts[i].ring < 2);
  EXPECT_EQ(half.size(), 1U);  // alone every 8 cycles the first free slot is always one direction's
  EXPECT_EQ(more, std::set<bool>{false});
  // Flows from 2 to 5 and 1 to 4 keep both upward rings busy: then they go down. And the other way about.
  const auto directions_beside = [&](int source, int destination) {
    std::vector<Packet> all;
    for (std::size_t i = 0; i < 40; ++i) all.push_back({source, destination, name_of(i), 0, {}, {}});
    for (std::size_t i = 40; i < 80; ++i) {
      all.push_back({source < destination ? 1 : 11, source < destination ? 4 : 8, name_of(i), 0, {}, {}});
    }
    for (std::size_t i = 80; i < 84; ++i) all.push_back({0, 6, name_of(i), 80, {}, {}});
    const std::vector<Start> got = simulate(spec, all);
    std::set<bool> up;
    for (std::size_t i = 80; i < 84; ++i) up.insert(got[i].ring < 2);
    return up;
  };
  EXPECT_EQ(directions_beside(2, 5), std::set<bool>{false});
  EXPECT_EQ(directions_beside(10, 7), std::set<bool>{true});
  // Two ready at once from stops half-way apart: end ramps keep them off one ring.
  const std::vector<Start> pair = simulate(spec, {{0, 6, 1, 0, {}, {}}, {6, 0, 2, 0, {}, {}}});
  EXPECT_NE(pair[0].ring, pair[1].ring);
}

// Stop 0 sends half-way, a packet in 8 cycles, upwards. From cycle 40 on flows from further upstream take both
// upward rings.
TEST(RingBus, HalfWayKeepsItsDirectionAndTurnsAfterAWait) {
  RingBusSpec spec = cell_like();
  spec.rest_after = 0;
  std::vector<Packet> packets;
  for (int i = 0; i < 16; ++i) packets.push_back({0, 6, name_of(packets.size()), 16 * i, {}, {}});
  for (std::size_t i = 16; i < 40; ++i) packets.push_back({11, 3, name_of(i), 80, {}, {}});
  for (std::size_t i = 40; i < 64; ++i) packets.push_back({10, 2, name_of(i), 80, {}, {}});
  const auto first_downwards = [&](int kept, int wait) {
    spec.half_way_packets = kept;
    spec.half_way_wait = wait;
    const std::vector<Start> starts = simulate(spec, packets);
    const auto first =
        std::find_if(starts.begin(), starts.begin() + 15, [](const Start& start) { return start.ring >= 2; });
    return std::pair(static_cast<int>(first - starts.begin()), first->cycle);
  };
  const auto [number, cycle] = first_downwards(1, 0);
  EXPECT_GE(number, 5) << "upwards while that is free";
  const auto [after_wait, waited] = first_downwards(1, 12);
  EXPECT_EQ(after_wait, number);
  EXPECT_GE(waited, cycle + 9) << "12 cycles, and at most 3 were waited for a slot before";
  EXPECT_LE(waited, cycle + 15);
  EXPECT_EQ(first_downwards(number, 0), std::pair(number, cycle)) << "it decides just then";
  const auto [never, last] = first_downwards(number + 1, 0);
  EXPECT_EQ(never, 15) << "one more goes upwards, when the flows are over, and then nothing is in the way";
  EXPECT_GT(last, 40 + 24 * 8);
}

struct NoNames final : HandlerNames {
  void append(const Handler& /*handler*/, State& /*state*/) const override {}
};

struct Snapshot {
  const RingBus& bus;
  State state;
};

/// The state in cycle 60, when stop 0's head waits for the other direction, and nothing else depends on `wait`.
State waiting_state(int wait) {
  RingBusSpec spec = cell_like();
  spec.rest_after = 0;
  spec.age_step = 0;  // else the state has the cycle from which a head is first in line
  spec.half_way_wait = wait;
  Engine engine(1);
  RingBus bus(engine, spec);
  for (int i = 0; i < 16; ++i) bus.send({0, 6, 128, 16 * i, {}, {}});
  for (int i = 0; i < 24; ++i) bus.send({11, 3, 128, 80, {}, {}});
  for (int i = 0; i < 24; ++i) bus.send({10, 2, 128, 80, {}, {}});
  Snapshot snapshot{bus, {}};
  const Handler::Call note = [](void* self, std::uint64_t) {
    auto& seen = *static_cast<Snapshot*>(self);
    seen.bus.append_state(seen.state, NoNames());
  };
  engine.at(2 * 60, {note, &snapshot, 0});
  EXPECT_TRUE(engine.run().ok());
  return snapshot.state;
}

TEST(RingBus, AStateSaysHowLongAHeadStillWaitsForTheOtherDirection) {
  EXPECT_EQ(waiting_state(40), waiting_state(40));
  EXPECT_NE(waiting_state(40), waiting_state(44));
}

// Five neighbours' flows in one direction: four starts per eight cycles and no more.
TEST(RingBus, ADirectionStartsFourPacketsInEightCycles) {
  RingBusSpec spec = cell_like();
  spec.rest_after = 0;
  std::vector<Packet> packets;
  for (int i = 0; i < 500; ++i) {
    const int from = 2 * (i % 5);
    packets.push_back({from, from + 1, name_of(packets.size()), 0, {}, {}});
  }
  const std::vector<Start> starts = simulate(spec, packets);
  Time last = 0;
  for (const Start& start : starts) last = std::max(last, start.cycle);
  EXPECT_GE(last, 2 * 499 - 2);
  EXPECT_LE(last, 2 * 499 + 40);
}

// Neighbours all round, both ways: four rings in turn start one packet per cycle, which with 128 bytes at 1.6 GHz
// is the Cell's 204.8 GB/s.
TEST(RingBus, AllRingsTogetherStartOnePacketPerCycle) {
  RingBusSpec spec = cell_like();
  spec.rest_after = 0;
  std::vector<Packet> packets;
  for (int i = 0; i < 1200; ++i) {
    const int from = i % 12;
    packets.push_back({from, from % 2 == 0 ? from + 1 : from - 1, name_of(packets.size()), 0, {}, {}});
  }
  const std::vector<Start> starts = simulate(spec, packets);
  std::set<Time> cycles;
  for (const Start& start : starts) cycles.insert(start.cycle);
  EXPECT_EQ(cycles.size(), packets.size()) << "never two in a cycle";
  EXPECT_LE(*cycles.rbegin(), 1200 + 40);
}

TEST(RingBus, AStopReceivesOnePacketAtATimeAndRestsAfterSixteen) {
  RingBusSpec spec = cell_like();
  spec.start_period = 1;
  std::vector<Packet> packets;
  for (std::size_t i = 0; i < 33; ++i) packets.push_back({0, 1, name_of(i), 0, {}, {}});
  const std::vector<Start> starts = simulate(spec, packets);
  EXPECT_EQ(starts[15].cycle, 15 * 8);
  EXPECT_EQ(starts[16].cycle, 16 * 8 + 2);
  EXPECT_EQ(starts[32].cycle, 32 * 8 + 4);
  const std::vector<Start> into_one = simulate(spec, {{0, 2, 1, 0, {}, {}}, {4, 2, 2, 0, {}, {}}});
  EXPECT_EQ(into_one[1].cycle, 8);
}

TEST(RingBus, AHigherPriorityGoesFirstAndThenTheOldest) {
  RingBusSpec spec = cell_like();
  spec.age_step = 0;
  spec.rings_per_direction = 1;
  spec.start_period = 2;
  spec.priority.assign(12, 0);
  spec.priority[3] = 1;
  // All want the stretch from 4 to 5 on ring 0. 0 is there first; of the two that must wait the priority wins.
  const std::vector<Start> starts =
      simulate(spec, {{2, 5, 1, 0, {}, {}}, {4, 6, 2, 1, {}, {}}, {3, 7, 3, 3, {}, {}}});
  EXPECT_EQ(starts[0].cycle, 0);
  EXPECT_LT(starts[2].cycle, starts[1].cycle);
  spec.priority.clear();
  const std::vector<Start> equal = simulate(spec, {{4, 6, 1, 4, {}, {}}, {4, 5, 2, 2, {}, {}}});
  EXPECT_LT(equal[1].cycle, equal[0].cycle) << "a stop sends in the order of readiness, not of the calls";
}

TEST(RingBus, CountsWhatEachStretchStopAndRingCarried) {
  Rng rng(5);
  const RingBusSpec spec = cell_like();
  const std::vector<Packet> packets = random_traffic(spec, 300, 3, rng);
  Engine engine(1);
  RingBus bus(engine, spec);
  Starts seen(packets.size(), spec.cycle_ticks);
  bus.observe(&seen);
  for (const Packet& packet : packets) bus.send(packet);
  ASSERT_TRUE(engine.run().ok());
  std::vector<RingLinkLoad> links(48);
  std::vector<RingStopLoad> stops(12);
  std::vector<std::set<Time>> busy(4);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const Packet& packet = packets[i];
    const auto [ring, cycle] = seen.starts[i];
    const bool up = ring < 2;
    const int hops =
        up ? (packet.destination - packet.source + 12) % 12 : (packet.source - packet.destination + 12) % 12;
    EXPECT_EQ(hops, bus.hops(packet.source, packet.destination));
    EXPECT_EQ(seen.ends[i], cycle + hops + 8);
    for (int k = 0; k < hops; ++k) {
      auto& link =
          links[static_cast<std::size_t>(ring * 12 + (up ? packet.source + k : packet.source - k + 12) % 12)];
      ++link.packets;
      link.bytes += packet.bytes;
    }
    for (Time t = cycle; t < cycle + hops + 8; ++t) busy[static_cast<std::size_t>(ring)].insert(t);
    auto& from = stops[static_cast<std::size_t>(packet.source)];
    auto& to = stops[static_cast<std::size_t>(packet.destination)];
    ++from.sent_packets;
    from.sent_bytes += packet.bytes;
    from.waiting_ticks += 2 * cycle - packet.ready;
    ++to.received_packets;
    to.received_bytes += packet.bytes;
  }
  for (int ring = 0; ring < 4; ++ring) {
    EXPECT_EQ(bus.ring_load(ring).busy_ticks, 2 * static_cast<Time>(busy[static_cast<std::size_t>(ring)].size()));
    for (int from = 0; from < 12; ++from) {
      const RingLinkLoad got = bus.link_load(ring, from);
      const RingLinkLoad& expected = links[static_cast<std::size_t>(ring * 12 + from)];
      EXPECT_EQ(got.packets, expected.packets) << ring << ' ' << from;
      EXPECT_EQ(got.bytes, expected.bytes);
      EXPECT_EQ(got.busy_ticks, static_cast<Time>(16 * expected.packets));
    }
  }
  for (int stop = 0; stop < 12; ++stop) {
    const RingStopLoad got = bus.stop_load(stop);
    const RingStopLoad& expected = stops[static_cast<std::size_t>(stop)];
    EXPECT_EQ(got.sent_packets, expected.sent_packets);
    EXPECT_EQ(got.received_packets, expected.received_packets);
    EXPECT_EQ(got.sent_bytes, expected.sent_bytes);
    EXPECT_EQ(got.received_bytes, expected.received_bytes);
    EXPECT_EQ(got.waiting_ticks, expected.waiting_ticks);
  }
}

}  // namespace
}  // namespace corewise::sim
