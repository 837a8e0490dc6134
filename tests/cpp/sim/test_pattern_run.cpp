// Pattern runs: phases apart by dependence and by barrier, repetitions, results that add up.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/networks/network_fixtures.hpp"
#include "sim/pattern_run.hpp"

namespace corewise::sim {
namespace {

using pattern::Pattern;

PatternResult run(const machine::Machine& machine, const Pattern& pattern, const PatternOptions& options,
                  std::vector<int> units = {}) {
  if (units.empty()) {
    for (int rank = 0; rank < pattern.ranks; ++rank) units.push_back(rank);
  }
  const auto result = run_pattern(machine, pattern, {units}, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? result.value() : PatternResult{};
}

PatternOptions flow(Separation separation = Separation::dependence, int repetitions = 1) {
  PatternOptions options;
  options.granularity = Granularity::flow;
  options.separation = separation;
  options.repetitions = repetitions;
  return options;
}

/// In phase k everybody sends to the k-th after it.
Pattern all_to_all_pattern(int ranks, std::uint64_t bytes) {
  Pattern pattern{"all_to_all", ranks, {}};
  for (int step = 1; step < ranks; ++step) {
    pattern.phases.push_back({"step " + std::to_string(step), {}});
    for (int rank = 0; rank < ranks; ++rank) {
      pattern.phases.back().messages.push_back({rank, (rank + step) % ranks, bytes, 1});
    }
  }
  return pattern;
}

// A mesh in a line: 10 bytes per ns, 5 ns per hop.
// Phase a: 0 -> 1 100 bytes (15 ns) and 2 -> 3 1000 bytes (105 ns). Phase b: 1 -> 0 100 bytes (15 ns); 2 and 3
// idle.
Pattern two_phases() {
  return {"p", 4, {{"a", {{0, 1, 100, 1}, {2, 3, 1000, 1}}}, {"b", {{1, 0, 100, 1}}}}};
}

TEST(PatternRun, ByDependenceARankGoesOnWhenItsOwnPartIsDone) {
  const PatternResult result = run(mesh_of("[4, 1]"), two_phases(), flow());
  EXPECT_EQ(result.total_ns, 105);
  ASSERT_EQ(result.transfers.size(), 3U);
  EXPECT_EQ(result.transfers[0].end_ns, 15);
  EXPECT_EQ(result.transfers[1].end_ns, 105);
  EXPECT_EQ(result.transfers[2].start_ns, 15);
  EXPECT_EQ(result.transfers[2].end_ns, 30);
  EXPECT_DOUBLE_EQ(result.transfers[2].bandwidth_gb_per_s(), 100 / 15.0);
  ASSERT_EQ(result.phases.size(), 2U);
  EXPECT_EQ(result.phases[0].start_ns, 0);
  EXPECT_EQ(result.phases[0].end_ns, 105);
  EXPECT_EQ(result.phases[1].start_ns, 15);
  EXPECT_EQ(result.phases[1].end_ns, 105);  // ranks 2 and 3 pass it then
  EXPECT_EQ(result.phases[0].bytes, 1100U);
  EXPECT_EQ(result.units[0].idle_ns, 75);  // after its last phase
  EXPECT_EQ(result.units[3].idle_ns, 0);
}

TEST(PatternRun, ByBarrierAllGoOnTogether) {
  const PatternResult result = run(mesh_of("[4, 1]"), two_phases(), flow(Separation::barrier));
  EXPECT_EQ(result.total_ns, 120);
  EXPECT_EQ(result.transfers[2].start_ns, 105);
  EXPECT_EQ(result.phases[0].end_ns, 105);
  EXPECT_EQ(result.phases[1].start_ns, 105);
  EXPECT_EQ(result.units[0].idle_ns, 90);
  EXPECT_EQ(result.units[3].idle_ns, 15);
}

TEST(PatternRun, RepetitionsFollowEachOther) {
  const PatternResult apart = run(mesh_of("[4, 1]"), two_phases(), flow(Separation::barrier, 3));
  EXPECT_EQ(apart.total_ns, 3 * 120);
  EXPECT_EQ(apart.phases.size(), 6U);
  EXPECT_EQ(apart.transfers.size(), 9U);
  EXPECT_EQ(apart.transfers[7].repetition, 2);
  EXPECT_EQ(apart.transfers[8].phase, 1);
  EXPECT_EQ(apart.transfers[8].start_ns, 240 + 105);
  const PatternResult along = run(mesh_of("[4, 1]"), two_phases(), flow(Separation::dependence, 3));
  EXPECT_EQ(along.total_ns, 3 * 105);
  EXPECT_EQ(along.transfers[3].start_ns, 30);
}

TEST(PatternRun, AReceiverThatIsBehindFindsItsMessageThere) {
  // Rank 0 only sends and runs ahead; rank 1 is held in phase a by a long message from 2.
  const Pattern pattern{"p", 3, {{"a", {{2, 1, 1000, 1}}}, {"b", {{0, 1, 10, 1}}}, {"c", {{1, 2, 10, 1}}}}};
  const PatternResult result = run(mesh_of("[3, 1]"), pattern, flow());
  EXPECT_EQ(result.transfers[1].end_ns, 6);
  EXPECT_EQ(result.transfers[2].start_ns, 105);
  EXPECT_EQ(result.total_ns, 111);
}

TEST(PatternRun, MessagesOfAnEntryKeepAFewInFlight) {
  // Ten messages of 100 bytes, one at a time: ten times latency and bytes. Four at a time share the link: as fast
  // as the link for all but the first latency.
  const Pattern pattern{"p", 2, {{"a", {{0, 1, 1003, 10}}}}};
  PatternOptions options = flow();
  options.messages_in_flight = 1;
  const PatternResult one = run(mesh_of("[2, 1]"), pattern, options);
  EXPECT_NEAR(one.total_ns, 10 * 5 + 100.3, 0.01);
  EXPECT_EQ(one.units[0].sent_messages, 10U);
  EXPECT_EQ(one.units[1].received_bytes, 1003U);
  options.messages_in_flight = 10;
  EXPECT_NEAR(run(mesh_of("[2, 1]"), pattern, options).total_ns, 5 + 100.3, 0.01);
}

TEST(PatternRun, PlacementDecidesWhatIsShared) {
  const auto mesh = mesh_of("[4, 1]");
  const Pattern pattern{"p", 4, {{"a", {{0, 1, 1000, 1}, {2, 3, 1000, 1}}}}};
  EXPECT_EQ(run(mesh, pattern, flow()).total_ns, 105);
  const PatternResult crossed = run(mesh, pattern, flow(), {0, 2, 1, 3});
  EXPECT_EQ(crossed.total_ns, 10 + 200 - 0);
  EXPECT_EQ(crossed.units[1].rank, 2);
  EXPECT_EQ(crossed.links[link_index(mesh, "x+(1,0)")].bytes, 2000U);
}

TEST(PatternRun, BytesAddUpOnEveryKindOfNetwork) {
  const Pattern pattern = all_to_all_pattern(8, 1000);
  for (const auto& machine : {mesh_of("[4, 2]"), ring_of(8, 2), machine_of(machine::from_synthetic("flat:8"))}) {
    for (const Granularity granularity : {Granularity::flow, Granularity::packet}) {
      SCOPED_TRACE(machine.kind + std::string(name_of(granularity)));
      PatternOptions options;
      options.granularity = granularity;
      options.repetitions = 2;
      const PatternResult result = run(machine, pattern, options);
      std::uint64_t hop_bytes = 0, on_links = 0;
      for (const TransferResult& transfer : result.transfers) {
        hop_bytes += transfer.bytes * static_cast<std::uint64_t>(machine.hops(transfer.from, transfer.to));
        EXPECT_GT(transfer.end_ns, transfer.start_ns);
      }
      for (const LinkLoad& link : result.links) {
        on_links += link.bytes;
        EXPECT_LE(link.busy_ns, result.total_ns + 0.001);
      }
      EXPECT_EQ(on_links, hop_bytes);
      for (const UnitLoad& unit : result.units) EXPECT_EQ(unit.sent_bytes, 2 * 7 * 1000U);
      EXPECT_EQ(result.model, name_of(granularity));
    }
  }
}

TEST(PatternRun, TheSameRunGivesTheSameTimes) {
  const Pattern pattern = all_to_all_pattern(8, 3000);
  for (const Granularity granularity : {Granularity::flow, Granularity::packet}) {
    PatternOptions options;
    options.granularity = granularity;
    const PatternResult first = run(mesh_of("[4, 2]"), pattern, options);
    const PatternResult second = run(mesh_of("[4, 2]"), pattern, options);
    EXPECT_EQ(first.events, second.events);
    for (std::size_t t = 0; t < first.transfers.size(); ++t) {
      EXPECT_EQ(first.transfers[t].end_ns, second.transfers[t].end_ns);
    }
  }
}

TEST(PatternRun, TransfersAreRecorded) {
  Timeline timeline;
  PatternOptions options = flow();
  options.timeline = &timeline;
  run(mesh_of("[4, 1]"), two_phases(), options, {1, 0, 2, 3});
  ASSERT_EQ(timeline.events().size(), 3U);
  EXPECT_EQ(timeline.tracks()[static_cast<std::size_t>(timeline.events()[0].track)].name, "core1");
  EXPECT_EQ(timeline.events()[0].begin, 0);
  EXPECT_EQ(timeline.events()[0].end, 15 * kTicksPerNs);
  EXPECT_EQ(timeline.events()[0].a, 1);
  EXPECT_EQ(timeline.events()[0].b, 100);
}

TEST(PatternRun, EmptyPhasesAndPatterns) {
  const Pattern nothing{"p", 3, {}};
  EXPECT_EQ(run(mesh_of("[3, 1]"), nothing, flow()).total_ns, 0);
  const Pattern empty{"p", 3, {{"a", {}}, {"b", {{0, 0, 100, 1}}}, {"c", {}}}};
  for (const Separation separation : {Separation::dependence, Separation::barrier}) {
    const PatternResult result = run(mesh_of("[3, 1]"), empty, flow(separation, 2));
    EXPECT_EQ(result.total_ns, 0);
    EXPECT_EQ(result.transfers.size(), 2U);
    EXPECT_EQ(result.phases.size(), 6U);
  }
}

TEST(PatternRun, Refusals) {
  const auto mesh = mesh_of("[4, 1]");
  const auto refusal = [&](const Pattern& pattern, std::vector<int> units, const PatternOptions& options) {
    return run_pattern(mesh, pattern, {std::move(units)}, options).status().message();
  };
  EXPECT_EQ(refusal(two_phases(), {0, 1, 2}, flow()),
            "field 'placement': found 3 ranks, allowed: 4, as pattern 'p' has");
  EXPECT_EQ(refusal(two_phases(), {0, 1, 2, 3}, flow(Separation::barrier, 0)),
            "field 'repetitions': found 0, allowed: 1 or more");
  EXPECT_EQ(refusal({"p", 4, {{"a", {{0, 1, 100, 6'000'000}}}}}, {0, 1, 2, 3}, flow(Separation::barrier, 2)),
            "field 'pattern 'p'': found 6000001 messages and phases, 2 times, allowed: at most 10000000 together");
  EXPECT_FALSE(refusal(two_phases(), {0, 1, 2, 9}, flow()).empty());
}

}  // namespace
}  // namespace corewise::sim
