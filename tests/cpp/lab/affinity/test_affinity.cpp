// Paper 000's tables as data, held against the paper's text, and the programs that measure them.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "lab/affinity/affinity.hpp"
#include "lab/affinity/runs.hpp"
#include "lab/affinity/transfers.hpp"

namespace corewise::lab {
namespace {

cell::Parameters seeded(std::int64_t seed) {
  cell::Parameters parameters;
  parameters.jitter_seed = seed;
  return parameters;
}

double least(const std::vector<double>& values) {
  return *std::ranges::min_element(values);
}

double minimum(const char* pattern, const char* affinity, int repetitions = 20) {
  const auto found = std::ranges::find(table2(), std::string_view(pattern), &StepPattern::name);
  const auto flows = placed(found->flows, find_affinity(affinity)->spe_of_rank);
  return least(time_gets(seeded(1), flows, kMostMessageBytes, {repetitions, Clock::decrementer}).value());
}

// ---- affinities ----

TEST(Affinity, TheFiveAreThePapersLists) {
  // Section 5, read the other way round: rank -> physical SPE.
  const std::map<std::string, Affinity> expected = {
      {"identity", {0, 1, 2, 3, 4, 5, 6, 7}}, {"ring", {0, 2, 4, 6, 7, 5, 3, 1}},
      {"overlap", {0, 7, 2, 5, 4, 3, 6, 1}},  {"even_odd", {0, 4, 2, 6, 1, 5, 3, 7}},
      {"leap2", {0, 4, 7, 3, 1, 5, 6, 2}},
  };
  ASSERT_EQ(affinities().size(), expected.size());
  for (const auto& [name, spes] : expected) {
    SCOPED_TRACE(name);
    ASSERT_NE(find_affinity(name), nullptr);
    EXPECT_EQ(find_affinity(name)->spe_of_rank, spes);
  }
  EXPECT_EQ(find_affinity("default"), nullptr);
}

TEST(Affinity, DefaultIsSeededAndStaysForAWhile) {
  DefaultAffinities one(7);
  DefaultAffinities same(7);
  DefaultAffinities other(8);
  int kept = 0;
  int agreed = 0;
  std::set<Affinity> seen;
  Affinity before{};
  for (int trial = 0; trial < 200; ++trial) {
    const Affinity now = one.next();
    EXPECT_EQ(now, same.next());
    agreed += now == other.next() ? 1 : 0;
    EXPECT_TRUE(std::ranges::is_permutation(now, Affinity{0, 1, 2, 3, 4, 5, 6, 7}));
    if (trial > 0 && now == before) ++kept;
    before = now;
    seen.insert(now);
  }
  EXPECT_LT(agreed, 20);
  // Correlated over short times: most trials meet the affinity of the one before, and yet it changes.
  EXPECT_GT(kept, 140);
  EXPECT_GT(seen.size(), 5U);
}

// ---- tables ----

TEST(Paper000, Table1HasThe38ValuesFlows) {
  std::size_t flows = 0;
  for (const Experiment& experiment : table1()) {
    if (experiment.id != "A7p") flows += experiment.flows.size();
    EXPECT_TRUE(experiment.trials == 3 || experiment.trials == 8);
  }
  EXPECT_EQ(flows, 38U);
  EXPECT_EQ(table1()[8].flows, (std::vector<Flow>{{4, 2}, {6, 0}}));
}

TEST(Paper000, Table2IsThePapersPatterns) {
  const std::vector<std::vector<Flow>> expected = {
      {{0, 7}, {1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}, {6, 5}, {7, 6}},
      {{0, 1}, {1, 0}, {2, 3}, {3, 2}, {4, 5}, {5, 4}, {6, 7}, {7, 6}},
      {{0, 2}, {1, 3}, {2, 0}, {3, 1}, {4, 6}, {5, 7}, {6, 4}, {7, 5}},
      {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {4, 0}, {5, 1}, {6, 2}, {7, 3}},
      {{0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 6}, {5, 7}, {6, 0}, {7, 1}},
      {{1, 0}, {3, 2}, {5, 4}, {7, 6}},
  };
  ASSERT_EQ(table2().size(), expected.size());
  for (std::size_t index = 0; index < expected.size(); ++index) EXPECT_EQ(table2()[index].flows, expected[index]);
}

TEST(Paper000, CollectiveSizes) {
  EXPECT_EQ(total_bytes(*find_collective("broadcast")), 7U * 128 * 1024);
  // 4 x 16 KB, then 2 ranks with 2 x 16 KB, then 4 with 16 KB.
  EXPECT_EQ(total_bytes(*find_collective("scatter")), 3U * 64 * 1024);
  EXPECT_EQ(total_bytes(*find_collective("all_gather_bruck")), 8U * (16 + 32 + 64) * 1024);
  EXPECT_EQ(find_collective("gather"), nullptr);
}

// ---- runs ----

TEST(TimedGets, OneFlowIsAtItsPublishedRate) {
  const std::vector<Flow> flows = {{6, 4}};
  const auto speeds = time_gets(seeded(1), flows, kMostMessageBytes, {50, Clock::decrementer});
  ASSERT_TRUE(speeds.ok()) << speeds.status().message();
  EXPECT_NEAR(speeds.value()[0], 24.3, 0.4);
}

TEST(TimedGets, BothClocksAgreeOverManyRepetitions) {
  const std::vector<Flow> flows = {{2, 0}, {6, 4}};
  const auto ticks = time_gets(seeded(1), flows, kMostMessageBytes, {50, Clock::decrementer}).value();
  const auto cycles = time_gets(seeded(1), flows, kMostMessageBytes, {50, Clock::cycles}).value();
  for (std::size_t index = 0; index < flows.size(); ++index) {
    // One tick is 70 ns, the run about 135 us.
    EXPECT_NEAR(ticks[index] / cycles[index], 1.0, 0.002);
  }
}

TEST(TimedGets, TheDecrementersGranularityShows) {
  // One get of 128 bytes takes between one and two ticks of 69.84 ns: nothing between can be seen.
  const std::vector<Flow> flows = {{6, 4}};
  const double seen_ns = 128 / time_gets(seeded(1), flows, 128, {1, Clock::decrementer}).value()[0];
  const double tick_ns = 1e9 / 14318000;
  EXPECT_NEAR(seen_ns / tick_ns, std::round(seen_ns / tick_ns), 1e-9);
}

TEST(TimedGets, SeedsMakeTrialsAndTheSameSeedTheSameTrial) {
  const std::vector<Flow> flows = table1()[9].flows;
  const auto run = [&](std::int64_t seed) {
    return time_gets(seeded(seed), flows, kMostMessageBytes, {20, Clock::cycles}).value();
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

TEST(TimedGets, MessagesAbove16KbGoInPieces) {
  // Four commands awaited together cost one round trip, four messages of 16 KB cost four.
  const std::vector<Flow> flows = {{6, 4}};
  const double whole = time_gets(seeded(0), flows, 64 * 1024, {10, Clock::cycles}).value()[0];
  const double quarter = time_gets(seeded(0), flows, 16 * 1024, {10, Clock::cycles}).value()[0];
  EXPECT_GT(whole, 1.05 * quarter);
}

TEST(TimedGets, RefusesWhatNoSpeCanDo) {
  const std::vector<Flow> twice = {{1, 2}, {1, 3}};
  const std::vector<Flow> nowhere = {{8, 2}};
  const std::vector<Flow> good = {{1, 2}};
  const Timing timing{1, Clock::cycles};
  EXPECT_NE(time_gets(seeded(0), twice, 128, timing).status().message().find("at most once"), std::string::npos);
  EXPECT_NE(time_gets(seeded(0), nowhere, 128, timing).status().message().find("SPE 8"), std::string::npos);
  EXPECT_NE(time_gets(seeded(0), good, 100, timing).status().message().find("size_bytes"), std::string::npos);
  EXPECT_NE(time_gets(seeded(0), good, 128, {0, Clock::cycles}).status().message().find("repetitions"),
            std::string::npos);
}

TEST(TimedGets, ShortLatencyIsEqualForEveryPairAndBelow100Ns) {
  double low = 1e9;
  double high = 0;
  for (int to = 0; to < 8; ++to) {
    for (int from = 0; from < 8; ++from) {
      if (to == from) continue;
      const std::vector<Flow> flows = {{to, from}};
      const double ns = 128 / time_gets(seeded(1), flows, 128, {50, Clock::decrementer}).value()[0];
      low = std::min(low, ns);
      high = std::max(high, ns);
    }
  }
  EXPECT_LT(high, 100);
  EXPECT_LT(high, 1.05 * low);
}

// ---- what the paper says ----

TEST(Paper000, GoodAffinitiesAreGoodAndPoorOnesPoor) {
  const std::map<std::string, std::set<std::string>> poor = {
      {"ring", {"overlap", "ring", "identity"}}, {"recursive_doubling_1", {"overlap"}},
      {"recursive_doubling_2", {"leap2"}},       {"recursive_doubling_3", {"ring"}},
      {"bruck_2", {"ring", "overlap", "leap2"}}, {"binomial_tree_3", {}},
  };
  for (const auto& [pattern, bad] : poor) {
    std::map<std::string, double> speeds;
    for (const NamedAffinity& named : affinities()) {
      const std::string name(named.name);
      speeds[name] = minimum(pattern.c_str(), name.c_str());
    }
    const double best = std::ranges::max_element(speeds, {}, [](const auto& pair) { return pair.second; })->second;
    for (const auto& [name, speed] : speeds) {
      SCOPED_TRACE(pattern + " " + name);
      if (bad.contains(name)) {
        EXPECT_LE(speed, 0.80 * best);
      } else {
        EXPECT_GE(speed, 0.94 * best);
      }
    }
  }
}

// ---- collectives ----

std::vector<std::byte> initial(int rank, std::uint32_t first, std::uint32_t bytes) {
  std::vector<std::byte> expected;
  for (std::uint32_t index = first; index < first + bytes; ++index) expected.push_back(initial_byte(rank, index));
  return expected;
}

CollectiveRun run(const char* name, const char* affinity) {
  auto found =
      run_collective(seeded(1), *find_collective(name), find_affinity(affinity)->spe_of_rank, {3, Clock::cycles});
  EXPECT_TRUE(found.ok()) << found.status().message();
  return std::move(found).value();
}

TEST(Collectives, BroadcastBringsTheRootsBytes) {
  const CollectiveRun found = run("broadcast", "leap2");
  const auto expected = initial(0, 0, 128 * 1024);
  for (const auto& buffer : found.buffers) EXPECT_TRUE(buffer == expected);
}

TEST(Collectives, ScatterBringsEveryRankItsPiece) {
  const CollectiveRun found = run("scatter", "overlap");
  constexpr std::uint32_t kPiece = 16 * 1024;
  for (int rank = 0; rank < 8; ++rank) {
    const auto first = static_cast<std::uint32_t>(rank) * kPiece;
    const auto& buffer = found.buffers[static_cast<std::size_t>(rank)];
    const std::vector<std::byte> piece(buffer.begin() + first, buffer.begin() + first + kPiece);
    EXPECT_TRUE(piece == initial(0, first, kPiece)) << rank;
  }
}

TEST(Collectives, AllGathersBringEveryBlockToEveryRank) {
  constexpr std::uint32_t kBlock = 16 * 1024;
  for (const char* name : {"all_gather_bruck", "all_gather_recursive_doubling"}) {
    for (const NamedAffinity& affinity : affinities()) {
      SCOPED_TRACE(std::string(name) + " " + std::string(affinity.name));
      const CollectiveRun found = run(name, std::string(affinity.name).c_str());
      for (const auto& buffer : found.buffers) {
        // The blocks come in an order that depends on the rank.
        std::set<std::vector<std::byte>> blocks;
        for (std::uint32_t at = 0; at < buffer.size(); at += kBlock) {
          blocks.emplace(buffer.begin() + at, buffer.begin() + at + kBlock);
        }
        EXPECT_EQ(blocks.size(), 8U);
        for (int rank = 0; rank < 8; ++rank) EXPECT_TRUE(blocks.contains(initial(rank, 0, kBlock))) << rank;
      }
    }
  }
}

TEST(Collectives, NoneIsFasterThanItsPort) {
  // 128 KB three times, and 112 KB, at 25.6 GB/s (paper 000, section 5, in KB of 1024 bytes).
  EXPECT_GT(run("broadcast", "identity").time_us, 15.36);
  EXPECT_GT(run("scatter", "identity").time_us, 4.48);
  EXPECT_GT(run("all_gather_bruck", "even_odd").time_us, 4.48);
}

// ---- permutations ----

TEST(Permutations, NobodyIsItsOwnSourceAndSeedsRepeat) {
  std::set<Affinity> seen;
  for (std::uint64_t index = 0; index < 100; ++index) {
    const Affinity sources = random_sources(5, index);
    EXPECT_EQ(sources, random_sources(5, index));
    seen.insert(sources);
    for (int rank = 0; rank < 8; ++rank) EXPECT_NE(sources[static_cast<std::size_t>(rank)], rank);
    EXPECT_TRUE(std::ranges::is_permutation(sources, Affinity{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_GT(seen.size(), 95U);
}

TEST(Permutations, ChunksGiveWhatOneRunGives) {
  const Timing timing{1, Clock::cycles};
  const auto whole = permutation_minima(seeded(1), 9, 0, 4, 16 * 1024, timing).value();
  auto parts = permutation_minima(seeded(1), 9, 0, 1, 16 * 1024, timing).value();
  const auto rest = permutation_minima(seeded(1), 9, 1, 3, 16 * 1024, timing).value();
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(whole, parts);
}

}  // namespace
}  // namespace corewise::lab
