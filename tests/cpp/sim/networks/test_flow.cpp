// The flow model: times computed by hand, max-min rates against a slow reference, and whole runs against a fluid
// simulation that starts from scratch at every event.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>

#include "network_fixtures.hpp"
#include "sim/networks/flow.hpp"

namespace corewise::sim {
namespace {

constexpr Time kNs = kTicksPerNs;

TEST(Flow, OneMessageTakesLatencyAndItsBytesOverTheBandwidth) {
  // 10 GB/s = 10 bytes per ns, 5 ns per hop; unit 0 to unit 2: two hops.
  const Load load(mesh_of("[3, 1]"), Granularity::flow, {{0, 2, 1000, 7 * kNs}});
  EXPECT_EQ(load.sent[0].end, (7 + 2 * 5 + 100) * kNs);
  EXPECT_EQ(load.network->unit_statistics()[0].waiting, 0);
}

TEST(Flow, NothingTakesTheLatencyAndAnotherUnitOfTheStopNoTime) {
  const auto mesh = machine_from(R"({"kind": "mesh", "dims": [2], "units_per_tile": 2,
      "link_bandwidth": "10 GB/s", "hop_latency": "5 ns"})");
  const Load load(mesh, Granularity::flow, {{0, 2, 0, 0}, {0, 1, 1000, 3}, {1, 1, 1000, 4}});
  EXPECT_EQ(load.sent[0].end, 5 * kNs);
  EXPECT_EQ(load.sent[1].end, 3);
  EXPECT_EQ(load.sent[2].end, 4);
}

TEST(Flow, TwoShareALinkThenTheLongerOneHasItAlone) {
  // Both cross x+(1,0). From 5 ns on 5 bytes/ns each; the second, farther away, joins at 10 ns.
  // 0..5 latency; a: 5..10 alone 50 bytes; then both at 5/ns. a has 450 left: ends at 10 + 90 = 100 ns.
  // b has 1000 - 450 = 550 left at 100 ns, alone: ends at 155 ns.
  const Load load(mesh_of("[3, 1]"), Granularity::flow, {{1, 2, 500, 0}, {0, 2, 1000, 0}});
  EXPECT_EQ(load.sent[0].end, 100 * kNs);
  EXPECT_EQ(load.sent[1].end, 155 * kNs);
  // Alone they would have ended at 55 and 110 ns.
  EXPECT_EQ(load.network->unit_statistics()[1].waiting, 45 * kNs);
  EXPECT_EQ(load.network->unit_statistics()[0].waiting, 45 * kNs);
  const auto mesh = mesh_of("[3, 1]");
  const LinkStatistics shared = load.network->link_statistics()[link_index(mesh, "x+(1,0)")];
  EXPECT_EQ(shared.bytes, 1500U);
  EXPECT_EQ(shared.packets, 2U);
  EXPECT_EQ(shared.busy, 150 * kNs);
  EXPECT_EQ(shared.largest_queue, 2);
}

TEST(Flow, WhatOneCannotUseTheOtherGets) {
  // Three messages out of core 0 share its 10 GB/s: 3.33 each; core 3 to core 1 has its downlink share left over:
  // the downlink of core 1 carries one of them (10/3) and leaves 20/3 to it.
  const auto tree = small_tree();
  const Load load(tree, Granularity::flow,
                  {{0, 1, 1000, 200 * kNs}, {0, 2, 1000, 0}, {0, 3, 1000, 0}, {3, 1, 1000, 0}});
  // 0->2, 0->3 and 3->1 all have a latency of 5 + 100 + 100 + 5 = 210 ns and 0->1 starts at 200 + 10 = 210 ns, too.
  EXPECT_EQ(load.sent[0].end, 510 * kNs);
  EXPECT_EQ(load.sent[1].end, 510 * kNs);
  EXPECT_EQ(load.sent[2].end, 510 * kNs);
  EXPECT_EQ(load.sent[3].end, (210 + 150) * kNs);
}

TEST(Flow, TiesAreSplitEvenly) {
  // Half-way on a ring of 4: 500 bytes each way at 16 GB/s, two hops of 1 ns.
  const auto ring = ring_of(4, 1);
  const Load load(ring, Granularity::flow, {{0, 2, 1001, 0}});
  EXPECT_EQ(load.sent[0].end, 2 * kNs + static_cast<Time>(std::ceil(501 / 16.0 * 1000)));
  const auto links = load.network->link_statistics();
  EXPECT_EQ(links[link_index(ring, "cw:s0>s1")].bytes, 501U);
  EXPECT_EQ(links[link_index(ring, "ccw:s0>s3")].bytes, 500U);
}

/// Rates by raising all unfrozen flows together until a link is full: the definition, step by step.
std::vector<double> reference_rates(const std::vector<double>& capacity,
                                    const std::vector<std::vector<machine::LinkId>>& flows) {
  std::vector<double> rates(flows.size(), 0);
  std::vector<bool> frozen(flows.size(), false);
  std::vector<double> left = capacity;
  while (std::find(frozen.begin(), frozen.end(), false) != frozen.end()) {
    double step = std::numeric_limits<double>::infinity();
    std::vector<int> users(capacity.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const int link : flows[f]) users[static_cast<std::size_t>(link)] += frozen[f] ? 0 : 1;
    }
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      if (users[l] > 0) step = std::min(step, left[l] / users[l]);
    }
    for (std::size_t f = 0; f < flows.size(); ++f) rates[f] += frozen[f] ? 0 : step;
    for (std::size_t l = 0; l < capacity.size(); ++l) left[l] -= step * users[l];
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const int link : flows[f]) {
        const auto l = static_cast<std::size_t>(link);
        if (left[l] <= 1e-9 * capacity[l]) frozen[f] = true;
      }
    }
  }
  return rates;
}

TEST(Flow, RatesAreTheReferences) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    std::vector<double> capacity;
    for (std::uint64_t l = 0; l < 1 + rng.below(12); ++l) capacity.push_back(0.1 + rng.uniform());
    std::vector<std::vector<machine::LinkId>> routes, flows;
    std::vector<FlowDemand> demands;
    std::vector<std::int32_t> counts;
    for (std::uint64_t d = 0; d < 1 + rng.below(10); ++d) {
      std::vector<machine::LinkId> route;
      for (int l = 0; l < static_cast<int>(capacity.size()); ++l) {
        if (rng.below(3) == 0) route.push_back(l);
      }
      if (route.empty()) route.push_back(0);
      routes.push_back(route);
      counts.push_back(1 + static_cast<std::int32_t>(rng.below(3)));
      for (std::int32_t k = 0; k < counts.back(); ++k) flows.push_back(route);
    }
    for (std::size_t d = 0; d < routes.size(); ++d) demands.push_back({routes[d], counts[d]});
    MaxMin solver(capacity);
    std::vector<FlowRate> rates(demands.size());
    // A set that was solved for leaves nothing behind.
    const auto first = std::span(demands).first((demands.size() + 1) / 2);
    solver.solve(first, std::span(rates).first(first.size()));
    solver.solve(demands, rates);
    const auto expected = reference_rates(capacity, flows);
    std::size_t flow = 0;
    for (std::size_t d = 0; d < demands.size(); ++d) {
      EXPECT_NEAR(rates[d].rate, expected[flow], 1e-9);
      flow += static_cast<std::size_t>(counts[d]);
    }
    // Where the others have what is fair, the first half gets what is fair.
    std::vector<double> taken(capacity.size(), 0);
    for (std::size_t d = first.size(); d < demands.size(); ++d) {
      for (const int link : routes[d]) taken[static_cast<std::size_t>(link)] += rates[d].rate * counts[d];
    }
    std::vector<FlowRate> beside(first.size());
    solver.solve(first, beside, taken);
    for (std::size_t d = 0; d < first.size(); ++d) EXPECT_NEAR(beside[d].rate, rates[d].rate, 1e-9);
  }
}

/// Ends of messages (in ps, not rounded) by a fluid simulation without classes, memory or selection. Messages on a
/// tie are not supported.
std::vector<double> fluid_ends(const machine::Machine& machine, const std::vector<Sent>& sent) {
  struct Fluid {
    double begin, left;
    bool done;
  };
  std::vector<double> capacity, ends(sent.size(), 0);
  for (const auto& link : machine.links) capacity.push_back(link.bandwidth_gb_per_s / 1000);
  std::vector<Fluid> fluids;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    double latency = 0;
    const auto& route = machine.routes(sent[i].from, sent[i].to).front();
    for (const int link : route.links) latency += machine.links[static_cast<std::size_t>(link)].latency_ns * 1000;
    const bool nothing = sent[i].bytes == 0 || route.links.empty();
    fluids.push_back({static_cast<double>(sent[i].start) + latency, static_cast<double>(sent[i].bytes), nothing});
    ends[i] = fluids.back().begin;
  }
  double now = 0;
  while (true) {
    std::vector<std::vector<machine::LinkId>> flows;
    std::vector<std::size_t> who;
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (fluids[i].done) continue;
      if (fluids[i].begin > now) {
        next = std::min(next, fluids[i].begin);
        continue;
      }
      who.push_back(i);
      const machine::Links links = machine.routes(sent[i].from, sent[i].to).front().links;
      flows.emplace_back(links.begin(), links.end());
    }
    if (who.empty() && next == std::numeric_limits<double>::infinity()) return ends;
    const auto rates = reference_rates(capacity, flows);
    for (std::size_t f = 0; f < who.size(); ++f) next = std::min(next, now + fluids[who[f]].left / rates[f]);
    for (std::size_t f = 0; f < who.size(); ++f) {
      Fluid& fluid = fluids[who[f]];
      fluid.left -= rates[f] * (next - now);
      if (fluid.left > 1e-7) continue;
      fluid.done = true;
      ends[who[f]] = next;
    }
    now = next;
  }
}

TEST(Flow, RunsAreThoseOfAFluidThatIsSolvedFromScratch) {
  const std::vector<machine::Machine> machines{mesh_of("[3, 3]"), small_tree(), ring_of(7, 2),
                                               ring_of(8, 1, "clockwise")};
  for (const auto& machine : machines) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(machine.kind + " seed " + std::to_string(seed));
      const Load load(machine, Granularity::flow, random_load(machine, seed, 60, 4000, 100 * kNs));
      const auto expected = fluid_ends(machine, load.sent);
      for (std::size_t i = 0; i < load.sent.size(); ++i) {
        // Every end is rounded up to a whole tick, which moves what comes after it: a few ticks in sum.
        EXPECT_NEAR(static_cast<double>(load.sent[i].end), expected[i], 40) << i;
      }
      expect_conservation(machine, load);
    }
  }
}

TEST(Flow, ACrowdIsSolvedByItsPartsLikeTheWhole) {
  // More than 64 pairs at once: the selective way. Reference as before.
  const auto mesh = mesh_of("[5, 4]");
  const Load load(mesh, Granularity::flow, random_load(mesh, 11, 220, 3000, 20 * kNs));
  const auto expected = fluid_ends(mesh, load.sent);
  for (std::size_t i = 0; i < load.sent.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(load.sent[i].end), expected[i], 100) << i;
  }
  expect_conservation(mesh, load);
}

TEST(Flow, AChangeInACrowdMovesTheRatesThatItMovesInTheWhole) {
  // Most links are busy at once, so that a change displaces others over several links.
  const auto torus = mesh_of("[5, 5]", "[true, true]");
  const Load load(torus, Granularity::flow, random_load(torus, 21, 160, 4000, 5 * kNs));
  const auto expected = fluid_ends(torus, load.sent);
  for (std::size_t i = 0; i < load.sent.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(load.sent[i].end), expected[i], 100) << i;
  }
  expect_conservation(torus, load);
}

TEST(Flow, ACrowdThatStartsAtOnceIsSolvedAsAWhole) {
  // All links are touched by the first change, few by the last ones. Reference as before.
  const auto torus = mesh_of("[5, 5]", "[true, true]");
  const Load load(torus, Granularity::flow, random_load(torus, 31, 200, 4000, 0));
  const auto expected = fluid_ends(torus, load.sent);
  for (std::size_t i = 0; i < load.sent.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(load.sent[i].end), expected[i], 100) << i;
  }
  expect_conservation(torus, load);
}

TEST(Flow, AnEndInACrowdIsSolvedForItsNeighboursAlone) {
  // A message along the whole line shares a link with each of the others, which end one by one before it.
  constexpr int kStops = 200;
  const auto line = mesh_of("[" + std::to_string(kStops) + ", 1]");
  Engine engine(kPicosecondInNs);
  FlowNetwork network(engine, line);
  const auto nothing = [](void*, std::uint64_t) {};
  for (int from = 0; from + 2 < kStops; ++from) {
    const auto bytes = static_cast<std::uint64_t>(1000 + 37 * (from * 61 % kStops));
    network.send(from, from + 2, bytes, {nothing, nullptr, 0});
  }
  network.send(0, kStops - 1, 1'000'000, {nothing, nullptr, 0});
  ASSERT_TRUE(engine.run().ok());
  // The whole crowd at every end would be some 18,000 rates, and the last 64 messages are 2,000 in any case.
  EXPECT_LT(network.rates_solved(), 6000U);
  EXPECT_GT(network.rates_solved(), static_cast<std::uint64_t>(kStops));
}

TEST(Flow, TheSameLoadGivesTheSameTimes) {
  const auto mesh = mesh_of("[4, 4]");
  const auto sent = random_load(mesh, 5, 300, 5000, 50 * kNs);
  const Load first(mesh, Granularity::flow, sent);
  const Load second(mesh, Granularity::flow, sent);
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(first.sent[i].end, second.sent[i].end);
  EXPECT_EQ(first.engine.events(), second.engine.events());
}

TEST(Flow, RememberedRatesAreTheSolvedOnes) {
  // The same burst again and again: from the second time on the rates come from memory.
  const auto mesh = mesh_of("[3, 3]");
  const auto burst = random_load(mesh, 3, 40, 2000, 0);
  std::vector<Sent> sent;
  constexpr Time kPeriod = 10000 * kNs;
  for (int k = 0; k < 5; ++k) {
    for (Sent one : burst) {
      one.start += k * kPeriod;
      sent.push_back(one);
    }
  }
  const Load load(mesh, Granularity::flow, sent);
  for (std::size_t i = burst.size(); i < sent.size(); ++i) {
    EXPECT_EQ(load.sent[i].end - load.sent[i].start, load.sent[i % burst.size()].end);
  }
}

}  // namespace
}  // namespace corewise::sim
