// Virtual cut-through: times computed by hand, finite buffers, fairness, freedom from deadlock, dimension order.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>
#include <set>

#include "network_fixtures.hpp"
#include "sim/networks/cut_through.hpp"

namespace corewise::sim {
namespace {

constexpr Time kNs = kTicksPerNs;

const CutThroughNetwork& cut_through(const Load& load) {
  return dynamic_cast<const CutThroughNetwork&>(*load.network);
}

TEST(CutThrough, OnePacketTakesHopsTimesLatencyAndItsBytesOnce) {
  // 100 bytes at 10 bytes per ns over three hops of 5 ns: store and forward would take 45 ns.
  const Load load(mesh_of("[4, 1]"), Granularity::packet, {{0, 3, 100, 0}});
  EXPECT_EQ(load.sent[0].end, (3 * 5 + 10) * kNs);
}

TEST(CutThrough, PacketsOfAMessageFollowEachOther) {
  // 1000 bytes are 8 packets: 7 of 128 and one of 104.
  const Load load(mesh_of("[4, 1]"), Granularity::packet, {{0, 3, 1000, 0}});
  EXPECT_EQ(load.sent[0].end, (3 * 5 + 100) * kNs);
  const auto links = load.network->link_statistics();
  const auto mesh = mesh_of("[4, 1]");
  EXPECT_EQ(links[link_index(mesh, "x+(1,0)")].packets, 8U);
  EXPECT_EQ(links[link_index(mesh, "x+(1,0)")].busy, 100 * kNs);
  EXPECT_EQ(links[link_index(mesh, "x-(1,0)")].packets, 0U);
}

TEST(CutThrough, TheSlowestLinkDecidesAndLongLinksRunAtFullRate) {
  // Up 10, 10, down 20, 10 GB/s and 5 + 100 + 100 + 5 ns: a packet of 128 bytes is far shorter than the long wires.
  const Load load(small_tree(), Granularity::packet, {{0, 2, 128'000, 0}});
  EXPECT_EQ(load.sent[0].end, (210 + 12'800) * kNs);
}

TEST(CutThrough, NothingTakesTheLatencyAndAnotherUnitOfTheStopNoTime) {
  const auto mesh = machine_from(R"({"kind": "mesh", "dims": [2], "units_per_tile": 2,
      "link_bandwidth": "10 GB/s", "hop_latency": "5 ns"})");
  const Load load(mesh, Granularity::packet, {{0, 2, 0, 0}, {0, 1, 1000, 3}});
  EXPECT_EQ(load.sent[0].end, 5 * kNs);
  EXPECT_EQ(load.sent[1].end, 3);
}

TEST(CutThrough, TwoInputsOfALinkTakeTurns) {
  // A line of three; 0 and 1 both send 10 packets of 100 bytes to 2. Link 1>2 is free from 0 for the packets of 1;
  // the first of 0 is there at 5 ns and waits for the first of 1 (until 10 ns). From then on they alternate: 1 at
  // 0, 20, 40 .. 180 and 0 at 10, 30 .. 190 ns; the last tails are there 10 + 5 ns later.
  const auto mesh = mesh_of("[3, 1]", "[false, false]", R"({"packet_bytes": 100})");
  const Load load(mesh, Granularity::packet, {{0, 2, 1000, 0}, {1, 2, 1000, 0}});
  EXPECT_EQ(load.sent[1].end, (180 + 15) * kNs);
  EXPECT_EQ(load.sent[0].end, (190 + 15) * kNs);
  EXPECT_EQ(load.network->unit_statistics()[1].waiting, (195 - 105) * kNs);
  EXPECT_EQ(load.network->unit_statistics()[0].waiting, (205 - 110) * kNs);
}

TEST(CutThrough, FullBuffersHoldTheSenderBack) {
  // Core 0 and core 1 each send to core 2 over the same up link of their package, and core 3 keeps the down link of
  // core 2 busy for long: what core 0 has got out of its queue is what the buffers on the way hold.
  const auto line = mesh_of("[3, 1]", "[false, false]", R"({"packet_bytes": 100, "buffer_packets": 2})");
  // 1 sends 100 packets to 2, then 0 sends 100 to 2. Alternating from the start: 0 has half of link 1>2.
  // While k packets of 0 have passed, at most k + room have left 0.
  const Load load(line, Granularity::packet, {{1, 2, 10'000, 0}, {0, 2, 10'000, 0}});
  EXPECT_GE(cut_through(load).least_room(), 0);
  EXPECT_EQ(cut_through(load).least_room(), 0);    // the buffer did fill up
  EXPECT_EQ(cut_through(load).room_of(0), 2 + 1);  // 5 ns of wire are one packet
  // Link 1>2 never idles: 200 packets of 10 ns, and both end with it.
  EXPECT_EQ(load.sent[1].end, (2000 + 5) * kNs);
  // Link 0>1 carried its packets no faster than they went on: busy only for them, but until the end.
  const auto links = load.network->link_statistics();
  EXPECT_EQ(links[link_index(line, "x+(0,0)")].busy, 1000 * kNs);
}

TEST(CutThrough, AFullBufferStopsPacketsForElsewhereToo) {
  // The price of one queue per input: 0 sends to 2 (blocked by 1's stream) and, behind that, to 1 itself.
  const auto line = mesh_of("[3, 1]", "[false, false]", R"({"packet_bytes": 100, "buffer_packets": 1})");
  const Load load(line, Granularity::packet, {{1, 2, 10'000, 0}, {0, 2, 1'000, 0}, {0, 1, 100, 1}});
  // The ten packets of 0 leave link 1>2 at 20 ns each; the one for 1 comes after them.
  EXPECT_GT(load.sent[2].end, 150 * kNs);
  EXPECT_LT(load.sent[2].end, load.sent[1].end);
}

TEST(CutThrough, XThenY) {
  const auto mesh = mesh_of("[4, 3]");
  const Load load(mesh, Granularity::packet, {{0, 11, 128, 0}});  // (0,0) to (3,2)
  const auto links = load.network->link_statistics();
  const std::set<std::string> way{"x+(0,0)", "x+(1,0)", "x+(2,0)", "y+(3,0)", "y+(3,1)"};
  for (std::size_t l = 0; l < links.size(); ++l) {
    EXPECT_EQ(links[l].packets, way.count(mesh.links[l].name)) << mesh.links[l].name;
  }
}

TEST(CutThrough, TiesAlternatePacketByPacket) {
  const auto torus = mesh_of("[4, 1]", "[true, false]");
  const Load load(torus, Granularity::packet, {{0, 2, 5 * 128, 0}});
  const auto links = load.network->link_statistics();
  EXPECT_EQ(links[link_index(torus, "x+(0,0)")].packets, 3U);
  EXPECT_EQ(links[link_index(torus, "x-(0,0)")].packets, 2U);
  EXPECT_EQ(load.sent[0].end, 2 * 5 * kNs + 3 * 12'800);
}

TEST(CutThrough, ChannelsGrowWithClosedDimensions) {
  const auto channels = [](const machine::Machine& machine) { return LinkOrder::of(machine).channels; };
  EXPECT_EQ(channels(mesh_of("[4, 4]")), 1);
  EXPECT_EQ(channels(small_tree()), 1);
  EXPECT_EQ(channels(machine_of(machine::from_synthetic("flat:9"))), 1);
  EXPECT_EQ(channels(mesh_of("[6, 1]", "[true, false]")), 2);
  EXPECT_EQ(channels(mesh_of("[6, 6]", "[true, true]")), 3);
}

/// Is there a circle of buffers each of which waits for the next on some route?
bool has_circle(const machine::Machine& machine) {
  const LinkOrder order = LinkOrder::of(machine);
  const auto count = machine.links.size() * static_cast<std::size_t>(order.channels);
  std::vector<std::set<std::size_t>> next(count);
  for (const auto& alternatives : machine.route_table) {
    for (const auto& route : alternatives) {
      std::size_t channel = 0;
      for (std::size_t hop = 1; hop < route.links.size(); ++hop) {
        const std::size_t from = static_cast<std::size_t>(route.links[hop - 1]) * order.channels + channel;
        if (order.steps_down(route.links[hop - 1], route.links[hop])) ++channel;
        next[from].insert(static_cast<std::size_t>(route.links[hop]) * order.channels + channel);
      }
    }
  }
  std::vector<int> color(count, 0);
  const std::function<bool(std::size_t)> visit = [&](std::size_t node) {
    color[node] = 1;
    for (const std::size_t other : next[node]) {
      if (color[other] == 1 || (color[other] == 0 && visit(other))) return true;
    }
    color[node] = 2;
    return false;
  };
  for (std::size_t node = 0; node < count; ++node) {
    if (color[node] == 0 && visit(node)) return true;
  }
  return false;
}

/// A ring and a torus, joined twice.
constexpr const char* kJoined = R"doc({"format": "corewise-machine", "version": 1, "name": "m", "part": [
    {"name": "p", "kind": "ring", "stops": ["a", "b", "c", "d"], "units": ["a", "b", "c", "d"],
     "rings_per_direction": 1, "ring_bandwidth": "10 GB/s", "hop_latency": "5 ns"},
    {"name": "q", "kind": "mesh", "dims": [3, 3], "torus": [true, true], "link_bandwidth": "10 GB/s",
     "hop_latency": "5 ns"}],
    "bridge": [{"between": ["p.a", "q.tile(0,0)"], "link_bandwidth": "3 GB/s", "hop_latency": "90 ns"},
               {"between": ["p.c", "q.tile(1,1)"], "link_bandwidth": "3 GB/s", "hop_latency": "90 ns"}],
    "simulation": )doc";

std::vector<machine::Machine> every_shape(const std::string& simulation) {
  const auto joined = machine_of(machine::from_json(kJoined + simulation + "}", "m.toml"));
  return {mesh_of("[5, 4]", "[false, false]", simulation), mesh_of("[5, 4]", "[true, true]", simulation),
          mesh_of("[8, 1]", "[true, false]", simulation),  ring_of(9, 1, "clockwise", simulation),
          ring_of(8, 1, "clockwise", simulation),          joined};
}

TEST(CutThrough, NoShapeHasACircleOfWaitingBuffers) {
  for (const auto& machine : every_shape("{}")) {
    SCOPED_TRACE(machine.kind + std::to_string(machine.links.size()));
    EXPECT_FALSE(has_circle(machine));
  }
}

TEST(CutThrough, AllToAllThroughTheSmallestBuffersNeverDeadlocks) {
  const std::string tight = R"({"packet_bytes": 64, "buffer_packets": 1})";
  for (const auto& machine : every_shape(tight)) {
    SCOPED_TRACE(machine.kind + std::to_string(machine.links.size()));
    const Load load(machine, Granularity::packet, all_to_all(machine, 1000));
    if (dynamic_cast<const CutThroughNetwork*>(load.network.get()) != nullptr) {
      EXPECT_EQ(cut_through(load).least_room(), 0);
    }
    expect_conservation(machine, load);
  }
}

TEST(CutThrough, RandomLoadsArriveWholeAndNoFasterThanAlone) {
  for (const auto& machine : every_shape(R"({"buffer_packets": 2})")) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(machine.kind + " seed " + std::to_string(seed));
      const Load load(machine, Granularity::packet, random_load(machine, seed, 200, 3000, 100 * kNs));
      expect_conservation(machine, load);
      for (const Sent& one : load.sent) {
        EXPECT_GE(one.end - one.start, load.network->alone(one.from, one.to, one.bytes));
      }
      const auto links = load.network->link_statistics();
      for (std::size_t l = 0; l < links.size(); ++l) {
        const double least = static_cast<double>(links[l].bytes) / machine.links[l].bandwidth_gb_per_s * 1000;
        EXPECT_GE(static_cast<double>(links[l].busy) + 1, least) << machine.links[l].name;
        EXPECT_LE(links[l].busy, load.engine.now());
      }
    }
  }
}

TEST(CutThrough, AloneIsWhatAnIdleNetworkTakes) {
  for (const auto& machine : every_shape("{}")) {
    const int last = static_cast<int>(machine.units.size()) - 1;
    for (const std::uint64_t bytes : {0U, 1U, 128U, 129U, 5000U}) {
      SCOPED_TRACE(machine.kind + " " + std::to_string(bytes));
      const Load load(machine, Granularity::packet, {{0, last, bytes, 0}});
      if (dynamic_cast<const CutThroughNetwork*>(load.network.get()) == nullptr) continue;  // a RingBus fits
      EXPECT_EQ(load.sent[0].end, load.network->alone(0, last, bytes));
    }
  }
}

TEST(CutThrough, TheSameLoadGivesTheSameTimes) {
  const auto torus = mesh_of("[4, 4]", "[true, true]");
  const auto sent = random_load(torus, 5, 300, 5000, 50 * kNs);
  const Load first(torus, Granularity::packet, sent);
  const Load second(torus, Granularity::packet, sent);
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(first.sent[i].end, second.sent[i].end);
  EXPECT_EQ(first.engine.events(), second.engine.events());
}

TEST(CutThrough, ParametersAreCheckedByName) {
  const auto refusal = [](const std::string& simulation) {
    Engine engine(kPicosecondInNs);
    const auto machine = mesh_of("[2, 2]", "[false, false]", simulation);
    return make_network(engine, machine, Granularity::packet).status().message();
  };
  EXPECT_EQ(refusal(R"({"packet": 3})"),
            "m.toml: field 'simulation.packet': found an unknown name, allowed: packet_bytes, buffer_packets");
  EXPECT_EQ(refusal(R"({"packet_bytes": 0})"),
            "m.toml: field 'simulation.packet_bytes': found 0, allowed: a whole number from 1 to 1048576");
  EXPECT_EQ(refusal(R"({"buffer_packets": 1.5})"),
            "m.toml: field 'simulation.buffer_packets': found 1.5, allowed: a whole number from 1 to 65536");
  EXPECT_EQ(refusal(R"({"model": "cel"})"),
            "m.toml: field 'simulation.model': found 'cel', allowed: cell, or no model");
}

}  // namespace
}  // namespace corewise::sim
