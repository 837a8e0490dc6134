// Patterns on the simulated Cell: what a run reports, held against the pattern and the machine.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "cell/spe/mfc.hpp"
#include "cell/spe/spe.hpp"
#include "lab/affinity/affinity.hpp"
#include "lab/affinity/runs.hpp"
#include "lab/affinity/transfers.hpp"
#include "lab/cell_pattern.hpp"
#include "pattern/generators/generate.hpp"

namespace corewise::lab {
namespace {

using pattern::Message;
using pattern::Pattern;

constexpr std::array<const char*, 12> kStops = {"PPE",   "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1",
                                                "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"};

std::string part(const char* name) {
  std::string text = "{";
  if (*name != 0) text += "\"name\": \"" + std::string(name) + "\", ";
  text += "\"kind\": \"ring\", \"rings_per_direction\": 2, \"ring_bandwidth\": \"25.6 GB/s\", ";
  text += "\"hop_latency\": \"0.625 ns\", \"ties\": \"split\", \"stops\": [";
  for (std::size_t stop = 0; stop < kStops.size(); ++stop) {
    text += (stop > 0 ? ", \"" : "\"") + std::string(kStops[stop]) + "\"";
  }
  text += "], \"units\": [";
  for (int spe = 0; spe < 8; ++spe) text += (spe > 0 ? ", \"SPE" : "\"SPE") + std::to_string(spe) + "\"";
  return text + "]}";
}

machine::Machine cell_be() {
  const std::string text =
      "{\"format\": \"corewise-machine\", \"version\": 1, \"name\": \"cell\", \"interconnect\": " + part("") +
      ", \"simulation\": {\"model\": \"cell\"}}";
  auto made = machine::from_json(text, "cell");
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

machine::Placement identity(int ranks) {
  machine::Placement placement;
  placement.unit_of_rank.resize(static_cast<std::size_t>(ranks));
  std::iota(placement.unit_of_rank.begin(), placement.unit_of_rank.end(), 0);
  return placement;
}

sim::PatternResult run(const Pattern& pattern, const machine::Placement& placement,
                       const sim::PatternOptions& options = {},
                       const std::function<void(cell::System&)>& after = {}) {
  auto result = run_pattern_on_cell(cell_be(), pattern, placement, options, after);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(result).value();
}

TEST(CellPattern, OneMessageCrossesItsShortestWay) {
  // SPE0 (stop 10) to SPE2 (stop 9): one hop down; 8 KB are 64 packets.
  const Pattern pattern{"one", 3, {{"p", {{0, 2, 8192, 1}}}}};
  sim::PatternOptions barrier;
  barrier.separation = sim::Separation::barrier;
  const sim::PatternResult result = run(pattern, identity(3), barrier);
  ASSERT_EQ(result.transfers.size(), 1U);
  EXPECT_EQ(result.transfers[0].bytes, 8192U);
  EXPECT_GT(result.transfers[0].bandwidth_gb_per_s(), 15);
  EXPECT_LT(result.transfers[0].bandwidth_gb_per_s(), 25.6);
  for (const sim::LinkLoad& link : result.links) {
    // The barrier's lines cross other stretches too, a few packets each.
    if (link.name == "ccw:SPE0>SPE2") {
      EXPECT_GE(link.bytes, 8192U);
      EXPECT_GE(link.packets, 64U);
    } else {
      EXPECT_LT(link.bytes, 1024U) << link.name;
    }
  }
  EXPECT_EQ(result.units[0].sent_bytes, 8192U);
  EXPECT_EQ(result.units[2].received_bytes, 8192U);
  EXPECT_EQ(result.units[2].rank, 2);
  EXPECT_EQ(result.units[3].rank, -1);
  for (const sim::LinkLoad& link : result.links) EXPECT_EQ(link.largest_queue, -1);  // not known
}

TEST(CellPattern, BusyPhaseAgreesWithTimedGets) {
  // The ring of Table 2 with Leap2: what paper 000's program measures over many messages, one long message shows.
  const auto flows = table2()[0].flows;
  const Affinity& affinity = find_affinity("leap2")->spe_of_rank;
  Pattern pattern{"ring", 8, {{"ring", {}}}};
  for (const Flow& flow : flows) pattern.phases[0].messages.push_back({flow.from, flow.to, 1 << 20, 16});
  const auto result = run(pattern, {{affinity.begin(), affinity.end()}});
  const auto gets = time_gets({}, placed(flows, affinity), kMostMessageBytes, {16, Clock::cycles}).value();
  for (std::size_t index = 0; index < flows.size(); ++index) {
    EXPECT_NEAR(result.transfers[index].bandwidth_gb_per_s() / gets[index], 1.0, 0.08) << index;
  }
}

TEST(CellPattern, PhasesFollowEachOther) {
  // 0 -> 1 -> 2: the second phase cannot begin to send before the first is fetched.
  const Pattern chain{"chain", 3, {{"a", {{0, 1, 4096, 1}}}, {"b", {{1, 2, 4096, 1}}}}};
  for (const auto separation : {sim::Separation::dependence, sim::Separation::barrier}) {
    sim::PatternOptions options;
    options.separation = separation;
    options.repetitions = 3;
    const auto result = run(chain, identity(3), options);
    ASSERT_EQ(result.transfers.size(), 6U);
    for (std::size_t index = 0; index + 1 < 6; index += 2) {
      EXPECT_LE(result.transfers[index].end_ns, result.transfers[index + 1].start_ns);
      EXPECT_LT(result.transfers[index].start_ns, result.transfers[index].end_ns);
    }
    EXPECT_EQ(result.phases.size(), 6U);
    EXPECT_EQ(result.phases[3].name, "b");
    EXPECT_EQ(result.phases[3].repetition, 1);
  }
}

TEST(CellPattern, AnySizeAndAnyCountIsFetched) {
  // Odd sizes, empty messages, several entries of one pair, more than a window, a message to oneself.
  const Pattern odd{"odd",
                    4,
                    {{"p",
                      {{0, 1, 1, 1},
                       {0, 1, 37, 3},
                       {2, 1, 200001, 2},
                       {3, 1, 0, 1},
                       {1, 1, 500, 1},
                       {1, 0, 16385, 1},
                       {2, 3, 100000, 1000}}}}};
  // What the MFCs got, counted where the data arrived.
  std::vector<std::uint64_t> bytes_in;
  const auto result = run(odd, identity(4), {}, [&](cell::System& system) {
    for (int spe = 0; spe < 4; ++spe) bytes_in.push_back(system.spe(spe).mfc().statistics().bytes_in);
  });
  EXPECT_EQ(bytes_in, (std::vector<std::uint64_t>{16385, 1 + 37 + 200001 + 0, 0, 100000}));
  ASSERT_EQ(result.transfers.size(), 7U);
  for (const sim::TransferResult& transfer : result.transfers) {
    if (transfer.bytes > 0 && transfer.from != transfer.to) {
      EXPECT_GT(transfer.end_ns, transfer.start_ns);
    }
    EXPECT_LE(transfer.end_ns, result.total_ns);
  }
  EXPECT_EQ(result.transfers[4].end_ns, result.transfers[4].start_ns);
  EXPECT_EQ(result.units[0].received_bytes, 16385U);
  EXPECT_EQ(result.units[0].sent_bytes, 1U + 37);
  EXPECT_EQ(result.units[0].sent_messages, 4U);
  EXPECT_EQ(result.units[3].received_messages, 1000U);
  EXPECT_EQ(result.units[3].sent_messages, 1U);
  EXPECT_EQ(result.units[1].received_bytes, 1U + 37 + 200001 + 0 + 500);
  EXPECT_EQ(result.units[2].sent_messages, 1002U);
}

TEST(CellPattern, WhatArrivesIsWhatWasSent) {
  // Rank 2 on SPE5 gets twice 20 bytes of rank 0 on SPE6, the second message at the next quadword's start.
  const Pattern pattern{"bytes", 3, {{"p", {{0, 2, 40, 2}}}, {"q", {{1, 0, 70000, 1}}}}};
  machine::Placement placement = identity(3);
  placement.unit_of_rank = {6, 1, 5};
  std::vector<std::byte> at_two, at_zero, at_one;
  run(pattern, placement, {}, [&](cell::System& system) {
    const auto copy = [&](int spe) {
      const auto bytes = system.bytes(cell::ls_address(spe) + kCellDestination, kCellWindow);
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    at_two = copy(5);
    at_zero = copy(6);
    at_one = copy(1);
  });
  ASSERT_EQ(at_two.size(), kCellWindow);
  for (std::uint32_t at = 0; at < kCellWindow; ++at) {
    // Two messages of 20 bytes each, at 0 and at 32.
    const bool sent = at < 20 || (at >= 32 && at < 52);
    ASSERT_EQ(at_two[at], sent ? cell_source_byte(0, at) : std::byte{0}) << at;
    ASSERT_EQ(at_zero[at], cell_source_byte(1, at)) << at;
    ASSERT_EQ(at_one[at], std::byte{0}) << at;
  }
  EXPECT_NE(cell_source_byte(0, 5), cell_source_byte(1, 5));
  EXPECT_NE(cell_source_byte(0, 5), cell_source_byte(0, 21));
}

TEST(CellPattern, SameInputSameResult) {
  const auto pattern = pattern::generate("all_to_all", {{"ranks", "8"}, {"bytes", "4096"}});
  if (!pattern.ok()) GTEST_FAIL() << pattern.status().message();
  const auto one = run(pattern.value(), identity(8));
  const auto two = run(pattern.value(), identity(8));
  EXPECT_EQ(one.total_ns, two.total_ns);
  EXPECT_EQ(one.events, two.events);
  for (std::size_t index = 0; index < one.transfers.size(); ++index) {
    EXPECT_EQ(one.transfers[index].end_ns, two.transfers[index].end_ns);
  }
}

TEST(CellPattern, RefusesWhatDoesNotFit) {
  const Pattern one{"one", 2, {{"p", {{0, 1, 128, 1}}}}};
  EXPECT_FALSE(run_pattern_on_cell(cell_be(), one, identity(3)).ok());
  sim::PatternOptions none;
  none.repetitions = 0;
  EXPECT_FALSE(run_pattern_on_cell(cell_be(), one, identity(2), none).ok());
  // Phases without messages cost memory too.
  const Pattern empty{"empty", 1, {{"p", {}}}};
  none.repetitions = 2'000'000'000;
  const auto endless = run_pattern_on_cell(cell_be(), empty, identity(1), none);
  EXPECT_NE(endless.status().message().find("at most 10000000"), std::string::npos) << endless.status().message();
  const auto mesh = machine::from_synthetic("mesh:2x2").value();
  EXPECT_FALSE(run_pattern_on_cell(mesh, one, identity(2)).ok());
}

}  // namespace
}  // namespace corewise::lab
