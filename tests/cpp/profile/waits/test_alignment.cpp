// Clocks of several nodes on one line: made-up files whose clocks are known to be wrong by so much.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "profile/run_folder.hpp"
#include "profile/waits/alignment.hpp"
#include "profile/waits/causal.hpp"

namespace corewise::testing {
namespace {

using profile::ClockSource;
using profile::RankClock;
using trace::Reader;

/// A file whose rank lives on `node`, with a clock of `hz` and what it compared.
class Clocks {
 public:
  MadeUpRank& add(const std::string& node, std::uint64_t start_ticks, std::int64_t start_ns,
                  std::int64_t realtime_ns = 0) {
    const int rank = static_cast<int>(ranks_.size());
    ranks_.push_back(
        std::make_unique<MadeUpRank>(folder_.path() + "/rank-" + std::to_string(rank) + ".cwt", rank, 8));
    trace::FileHeader& header = ranks_.back()->file().header();
    std::strcpy(header.node, node.c_str());
    header.start_ticks = start_ticks;
    header.start_ns = start_ns;
    header.start_realtime_ns = realtime_ns;
    return *ranks_.back();
  }

  /// A TSC of 2 ticks per ns.
  void tsc(MadeUpRank& rank, std::uint64_t latest_ticks, std::int64_t latest_ns) {
    rank.file().header().clock = trace::Clock::tsc;
    rank.file().header().latest_ticks = latest_ticks;
    rank.file().header().latest_ns = latest_ns;
  }

  static void compare(MadeUpRank& rank, std::int64_t local_ns, std::int64_t offset_ns, std::uint64_t doubt_ns = 0) {
    trace::ClockSync sync{};
    sync.block = {trace::BlockKind::clock, 0, sizeof sync};
    sync.local_ns = local_ns;
    sync.offset_ns = offset_ns;
    sync.uncertainty_ns = doubt_ns;
    std::vector<char> bytes(sizeof sync);
    std::memcpy(bytes.data(), &sync, sizeof sync);
    rank.file().append(bytes);
  }

  /// Of the ranks from `first` on: those before left no file.
  std::vector<RankClock> align(std::size_t first = 0) {
    readers_.clear();
    std::vector<const Reader*> given;
    for (std::size_t i = first; i < ranks_.size(); ++i)
      readers_.push_back(std::make_unique<Reader>(Reader::open(ranks_[i]->file().path()).value()));
    for (const auto& reader : readers_) given.push_back(reader.get());
    return profile::align(given);
  }

 private:
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<MadeUpRank>> ranks_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

TEST(Alignment, RanksOfOneNodeLineUpExactly) {
  Clocks clocks;
  // The second rank's own pair is off by 300 ns and its rate is not known: it reads the same counter.
  clocks.tsc(clocks.add("a", 2'000'000, 1'000'000), 42'000'000, 21'000'000);
  clocks.tsc(clocks.add("a", 4'000'000, 2'000'300), 4'000'000, 2'000'300);
  const std::vector<RankClock> found = clocks.align();
  for (const std::uint64_t ticks : {2'000'000U, 4'000'000U, 5'000'001U})
    EXPECT_EQ(found[0].ns(ticks), found[1].ns(ticks));
  EXPECT_DOUBLE_EQ(found[0].ns(2'000'000), 0);
  EXPECT_DOUBLE_EQ(found[0].ns(4'000'000), 1'000'000);
}

TEST(Alignment, AClockThatContradictsItsNodeIsAnother) {
  Clocks clocks;
  clocks.add("a", 1'000'000, 1'000'000, 5'000'000'000);
  clocks.add("a", 1'000'000, 900'000'000, 5'000'002'000);
  const std::vector<RankClock> found = clocks.align();
  EXPECT_EQ(found[1].source(), ClockSource::realtime);
  EXPECT_DOUBLE_EQ(found[1].ns(1'000'000), 2'000);
}

TEST(Alignment, NodesWithoutComparisonsByRealtime) {
  Clocks clocks;
  clocks.add("a", 1'000, 1'000, 5'000'000'000);
  clocks.add("b", 77'000, 77'000, 5'000'000'250);
  clocks.add("c", 9, 9, 4'999'999'000);  // began first: the line's zero
  const std::vector<RankClock> found = clocks.align();
  EXPECT_DOUBLE_EQ(found[2].ns(9), 0);
  EXPECT_DOUBLE_EQ(found[0].ns(1'000), 1'000);
  EXPECT_DOUBLE_EQ(found[1].ns(77'000), 1'250);
}

TEST(Alignment, ByRankZerosClockWithoutItsFile) {
  constexpr std::int64_t day_ns = 86'400'000'000'000;
  Clocks clocks;
  clocks.add("a", 0, 0);
  // Up one day and three days longer than node a: they read 10 us and 25 us of its time at their first reading.
  MadeUpRank& b = clocks.add("b", day_ns, day_ns, 5'000'000'010'000);
  Clocks::compare(b, day_ns + 1'000, 10'000 - day_ns, 100);
  MadeUpRank& c = clocks.add("c", 3 * day_ns, 3 * day_ns, 9'000'000'000'000);
  Clocks::compare(c, 3 * day_ns + 1'000, 25'000 - 3 * day_ns, 200);
  clocks.add("d", 0, 0, 5'000'000'030'000);  // never compared
  const std::vector<RankClock> found = clocks.align(1);
  EXPECT_EQ(found[0].source(), ClockSource::compared);
  EXPECT_EQ(found[1].source(), ClockSource::compared);
  EXPECT_EQ(found[2].source(), ClockSource::realtime);
  EXPECT_DOUBLE_EQ(found[0].ns(day_ns), 0);
  EXPECT_DOUBLE_EQ(found[1].ns(3 * day_ns), 15'000);
  EXPECT_DOUBLE_EQ(found[2].ns(0), 20'000);
}

TEST(Alignment, LinearBetweenComparisons) {
  Clocks clocks;
  clocks.add("a", 0, 0);
  MadeUpRank& other = clocks.add("b", 0, 0);
  Clocks::compare(other, 1'000'000'000, 5'000, 100);
  Clocks::compare(other, 2'000'000'000, 15'000, 200);
  Clocks::compare(other, 3'000'000'000, 15'000, 50);
  const std::vector<RankClock> found = clocks.align();
  EXPECT_EQ(found[1].source(), ClockSource::compared);
  EXPECT_DOUBLE_EQ(found[1].uncertainty_ns(), 200);
  const auto correction = [&](std::uint64_t ticks) { return found[1].ns(ticks) - found[0].ns(ticks); };
  EXPECT_NEAR(correction(1'000'000'000), 5'000, 1e-3);
  EXPECT_NEAR(correction(1'500'000'000), 10'000, 1e-3);
  EXPECT_NEAR(correction(2'500'000'000), 15'000, 1e-3);
  // Beyond, the rate between first and last: 10 us in 2 s.
  EXPECT_NEAR(correction(5'000'000'000), 25'000, 1e-3);
  EXPECT_NEAR(correction(0), 0, 1e-3);
}

TEST(Alignment, AnUnsureRateIsNotCarriedOn) {
  Clocks clocks;
  clocks.add("a", 0, 0);
  MadeUpRank& other = clocks.add("b", 0, 0);
  Clocks::compare(other, 1'000'000, 0, 5'000);
  Clocks::compare(other, 2'000'000, 3'000, 5'000);
  const std::vector<RankClock> found = clocks.align();
  EXPECT_NEAR(found[1].ns(1'000'000'000) - found[0].ns(1'000'000'000), 3'000, 1e-3);
}

TEST(Alignment, NeverBackwards) {
  Clocks clocks;
  clocks.add("a", 0, 0);
  MadeUpRank& other = clocks.add("b", 0, 0);
  Clocks::compare(other, 1'000'000, 4'000'000, 10);
  Clocks::compare(other, 2'000'000, -9'000'000, 10);  // would turn time around
  Clocks::compare(other, 3'000'000, 4'000'500, 10);
  const std::vector<RankClock> found = clocks.align();
  double before = found[1].ns(0);
  for (std::uint64_t ticks = 1'000; ticks < 5'000'000; ticks += 1'000) {
    const double now = found[1].ns(ticks);
    ASSERT_GT(now, before) << ticks;
    before = now;
  }
}

// ---- cause before effect ----

using profile::Causality;
using profile::Cause;
using profile::make_causal;

TEST(Causal, RightTimesStayAsTheyAre) {
  const Causality found = make_causal(2, {{0, 100, 1, 200}, {1, 300, 0, 300}});
  EXPECT_EQ(found.violated, 0U);
  EXPECT_DOUBLE_EQ(found.nodes[1].corrected(250), 250);
}

TEST(Causal, AMessageThatArrivedTooEarly) {
  const Causality found = make_causal(2, {{0, 1'000, 1, 900}}, {.pace = 0.9, .window_ns = 500, .rounds = 8});
  EXPECT_EQ(found.violated, 1U);
  EXPECT_DOUBLE_EQ(found.largest_ns, 100);
  EXPECT_EQ(found.left, 0U);
  EXPECT_DOUBLE_EQ(found.nodes[1].corrected(900), 1'000);
  EXPECT_DOUBLE_EQ(found.nodes[1].corrected(650), 700);      // half way up
  EXPECT_DOUBLE_EQ(found.nodes[1].corrected(1'400), 1'450);  // half way down
  EXPECT_DOUBLE_EQ(found.nodes[1].corrected(300), 300);
  EXPECT_DOUBLE_EQ(found.nodes[1].corrected(3'000), 3'000);
  EXPECT_DOUBLE_EQ(found.nodes[0].corrected(1'000), 1'000);
}

TEST(Causal, TheWayUpDoesNotBreakWhatWasSentMeanwhile) {
  // Node 1 sends at 850, which arrives at 855: there is room for 5 only.
  const Causality found = make_causal(2, {{0, 1'000, 1, 900}, {1, 850, 0, 855}});
  EXPECT_EQ(found.left, 0U);
  EXPECT_DOUBLE_EQ(found.nodes[1].corrected(900), 1'000);
  EXPECT_LE(found.nodes[1].corrected(850), 855 + 1e-6);
}

/// Random runs on nodes whose clocks are skewed and drift, several ranks each; messages follow real time.
TEST(Causal, RandomSkewedRunsBecomeCausal) {
  std::mt19937 random(7);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (const int nodes : {2, 3, 5, 8, 11, 16}) {
    for (int round = 0; round < 12; ++round) {
      std::vector<double> offset, drift;
      for (int node = 0; node < nodes; ++node) {
        offset.push_back(round % 3 == 0 ? 0 : uniform(-2'000, 2'000));
        drift.push_back(round % 3 == 0 ? 0 : uniform(-1e-4, 1e-4));
      }
      const auto seen = [&](int node, double ns) {
        const auto at = static_cast<std::size_t>(node);
        return ns + offset[at] + ns * drift[at];
      };
      std::vector<Cause> causes;
      std::vector<std::vector<double>> moments(static_cast<std::size_t>(nodes));
      for (int message = 0; message < 300; ++message) {
        const int from = static_cast<int>(random() % static_cast<unsigned>(nodes));
        const int to = static_cast<int>(random() % static_cast<unsigned>(nodes));
        const double sent = uniform(0, 1e6);
        const double arrived = sent + uniform(100, 5'000);
        causes.push_back({from, seen(from, sent), to, seen(to, arrived)});
        moments[static_cast<std::size_t>(from)].push_back(causes.back().from_ns);
        moments[static_cast<std::size_t>(to)].push_back(causes.back().to_ns);
      }
      const Causality found = make_causal(nodes, causes, {.pace = 0.99, .window_ns = 20'000, .rounds = 512});
      EXPECT_EQ(found.left, 0U) << nodes << " nodes, round " << round;
      if (round % 3 == 0) {
        EXPECT_EQ(found.violated, 0U);
      }
      for (const Cause& each : causes) {
        if (each.from_node == each.to_node) continue;
        const double from = found.nodes[static_cast<std::size_t>(each.from_node)].corrected(each.from_ns);
        const double to = found.nodes[static_cast<std::size_t>(each.to_node)].corrected(each.to_ns);
        EXPECT_GE(to, from - 0.01);
      }
      for (std::size_t node = 0; node < moments.size(); ++node) {
        std::sort(moments[node].begin(), moments[node].end());
        for (std::size_t i = 0; i < moments[node].size(); ++i) {
          const double now = found.nodes[node].corrected(moments[node][i]);
          EXPECT_GE(now, moments[node][i] - 1e-6);  // never earlier
          if (i > 0) {
            EXPECT_GE(now, found.nodes[node].corrected(moments[node][i - 1]) - 1e-6);
          }
          if (round % 3 == 0) {
            EXPECT_DOUBLE_EQ(now, moments[node][i]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace corewise::testing
