// The portfolio: known optima beyond enumeration, never worse than what it was given, the judge's last word, and
// the same answer for the same seed and effort.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../machines.hpp"
#include "base/rng.hpp"
#include "place/portfolio/portfolio.hpp"
#include "place/references.hpp"
#include "place/search.hpp"

namespace corewise::place {
namespace {

/// Neighbours on an open grid, ranks in a random order.
pattern::Matrix scrambled_grid(int width, int height, Rng& rng) {
  const std::vector<int> name = random_placement(width * height, width * height, rng).unit_of_rank;
  pattern::Matrix matrix{width * height, {}};
  const auto add = [&](int a, int b) {
    matrix.entries.push_back({name[static_cast<std::size_t>(a)], name[static_cast<std::size_t>(b)], 4096, 1});
    matrix.entries.push_back({name[static_cast<std::size_t>(b)], name[static_cast<std::size_t>(a)], 4096, 1});
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (x + 1 < width) add(y * width + x, y * width + x + 1);
      if (y + 1 < height) add(y * width + x, (y + 1) * width + x);
    }
  }
  return matrix;
}

GivenCost work_as_judge(const RoutedShares& shares, const Workload& work) {
  GivenCost judge;
  judge.name = "work";
  judge.of = [&](Assignment units) -> Result<double> {
    return static_cast<double>(evaluate(shares, work, units).hop_bytes);
  };
  return judge;
}

TEST(Portfolio, UntanglesAGridOnItsMesh) {
  // The grid laid on the mesh: one message each way on every link, and no rank of four peers can do with less.
  const machine::Machine made = machine::from_synthetic("mesh:6x5").value();
  Rng rng(31);
  const SearchResult found = search(made, scrambled_grid(6, 5, rng)).value();
  EXPECT_EQ(found.method, Method::portfolio);
  EXPECT_EQ(found.evaluation.load_bytes(found.evaluation.phases[0].link), 4096);
}

TEST(Portfolio, TheJudgeChoosesAmongEqualBottlenecksAndHasTheLastWordWhereItIsTheObjective) {
  const machine::Machine made = machine::from_synthetic("pack:2 l3:3 core:4").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  Rng rng(32);
  const Workload work = workload(testing::random_matrix(24, 3, 9, rng)).value();
  PortfolioOptions options;
  options.proposals = 300'000;
  options.judge = work_as_judge(shares, work);
  for (int k = 0; k < 3; ++k) options.starts.push_back({"random", random_placement(24, 24, rng)});
  const PortfolioResult by_bottleneck = search_portfolio(shares, work, options).value();
  options.judge_first = true;
  const PortfolioResult by_judge = search_portfolio(shares, work, options).value();
  EXPECT_LE(by_judge.judged, by_bottleneck.judged);
  EXPECT_LE(by_bottleneck.bottleneck_ns, by_judge.bottleneck_ns);
  EXPECT_EQ(by_judge.judged, evaluate(shares, work, by_judge.best.unit_of_rank).hop_bytes);
  for (const NamedStart& start : options.starts) {
    const Evaluation given = evaluate(shares, work, start.placement.unit_of_rank);
    EXPECT_LE(by_bottleneck.bottleneck_ns, given.bottleneck_ns);
    EXPECT_LE(by_judge.judged, given.hop_bytes);
  }
}

TEST(Portfolio, KeepsAStartThatNothingBeats) {
  // Only one placement pleases this judge: no search that looks at loads can find it.
  const machine::Machine made = machine::from_synthetic("mesh:5x4").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  Rng rng(33);
  const Workload work = workload(testing::random_matrix(20, 3, 9, rng)).value();
  const machine::Placement wanted = random_placement(20, 20, rng);
  PortfolioOptions options;
  options.proposals = 100'000;
  options.starts = {{"other", random_placement(20, 20, rng)}, {"wanted", wanted}};
  options.judge.name = "taste";
  options.judge.of = [&](Assignment units) -> Result<double> {
    return std::equal(units.begin(), units.end(), wanted.unit_of_rank.begin()) ? 1.0 : 2.0;
  };
  options.judge_first = true;
  const PortfolioResult found = search_portfolio(shares, work, options).value();
  EXPECT_EQ(found.best.unit_of_rank, wanted.unit_of_rank);
  EXPECT_EQ(found.origin, "wanted");
}

TEST(Portfolio, ALoadThatLosesIsNotJudged) {
  const machine::Machine made = machine::from_synthetic("mesh:5x4").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  Rng rng(34);
  const Workload work = workload(scrambled_grid(5, 4, rng)).value();
  PortfolioOptions options;
  options.proposals = 200'000;
  for (int k = 0; k < 20; ++k) options.starts.push_back({"random", random_placement(20, 20, rng)});
  options.judge.name = "bottleneck";
  options.judge.bounded_by_loads = true;
  options.judge.of = [&](Assignment units) -> Result<double> {
    return evaluate(shares, work, units).bottleneck_ns;
  };
  options.judge_first = true;
  const PortfolioResult sparing = search_portfolio(shares, work, options).value();
  options.judge.bounded_by_loads = false;
  const PortfolioResult plain = search_portfolio(shares, work, options).value();
  EXPECT_EQ(sparing.judged, plain.judged);
  EXPECT_LT(sparing.timed, plain.timed / 2);
}

TEST(Portfolio, RanksThatTheJudgeWaitsForMoveWhereLoadsSeeNothing) {
  // This judge waits for a message of one byte between two of 64 ranks, longer the more links it crosses.
  const RoutedShares shares = RoutedShares::of(machine::from_synthetic("mesh:8x8").value()).value();
  Rng rng(38);
  pattern::Matrix matrix = scrambled_grid(8, 8, rng);
  int from = 0, to = 0;
  while (from == to) from = static_cast<int>(rng.below(64)), to = static_cast<int>(rng.below(64));
  matrix.entries.push_back({from, to, 1, 1});
  const Workload work = workload(matrix).value();
  const auto hops = [&](Assignment units) {
    return shares.hops(units[static_cast<std::size_t>(from)], units[static_cast<std::size_t>(to)]);
  };
  PortfolioOptions options;
  options.starts = {{"random", random_placement(64, 64, rng)}};
  options.proposals = 1'500'000;
  options.judge.of = [&](Assignment units) -> Result<double> {
    return evaluate(shares, work, units).bottleneck_ns + 1000 * hops(units);
  };
  options.judge.bounded_by_loads = true;
  options.judge_first = true;
  const PortfolioResult blind = search_portfolio(shares, work, options).value();
  const auto cost = options.judge.of;
  options.judge.of = [](Assignment) -> Result<double> { return bad_field("", "of", "asked", "not asked"); };
  std::uint64_t asked = 0;
  options.judge.awaited = [&](Assignment units) -> Result<Awaited> {
    ++asked;
    return Awaited{cost(units).value(), {{from, to}}};
  };
  const PortfolioResult told = search_portfolio(shares, work, options).value();
  EXPECT_EQ(told.timed, asked);
  EXPECT_LT(told.judged, blind.judged);
  EXPECT_LT(hops(told.best.unit_of_rank), hops(blind.best.unit_of_rank));
  options.judge.awaited = [](Assignment) -> Result<Awaited> { return bad_field("", "last", "none", "some"); };
  EXPECT_FALSE(search_portfolio(shares, work, options).ok());
}

TEST(Portfolio, SameSeedAndEffortGiveTheSameAndAStopKeepsTheBestStart) {
  const machine::Machine made = machine::from_synthetic("pack:2 l3:3 core:4").value();
  Rng rng(35);
  const pattern::Matrix matrix = testing::random_matrix(20, 3, 9, rng);
  SearchOptions options;
  options.proposals = 400'000;
  const SearchResult first = search(made, matrix, options).value();
  const SearchResult again = search(made, matrix, options).value();
  EXPECT_EQ(first.placement.unit_of_rank, again.placement.unit_of_rank);
  EXPECT_EQ(first.evaluated, again.evaluated);
  EXPECT_EQ(first.statement, again.statement);
  EXPECT_EQ(first.statement.find("stopped"), std::string::npos);
  options.should_stop = [] { return true; };
  options.starts = {{"the best", first.placement}};
  const SearchResult stopped = search(made, matrix, options).value();
  EXPECT_LE(stopped.evaluation.bottleneck_ns, first.evaluation.bottleneck_ns);
  EXPECT_NE(stopped.statement.find("stopped by the clock"), std::string::npos);
}

/// 24 ranks on a mesh, judged by work.
struct JudgedByWork {
  JudgedByWork() {
    options.starts = {{"random", random_placement(24, 30, rng)}};
    options.judge = work_as_judge(shares, work);
    options.judge_first = true;
  }
  Rng rng{37};
  RoutedShares shares = RoutedShares::of(machine::from_synthetic("mesh:6x5").value()).value();
  Workload work = workload(testing::random_matrix(24, 5, 9, rng)).value();
  PortfolioOptions options;
};

TEST(Portfolio, WorkersFindTheBestOfTheirSeeds) {
  JudgedByWork problem;
  auto& [rng, shares, work, options] = problem;
  options.proposals = 60'000;
  options.leaders = 5;
  const PortfolioResult alone = search_portfolio(shares, work, options).value();
  options.workers = 4;
  const PortfolioResult together = search_portfolio(shares, work, options).value();
  EXPECT_LE(together.judged, alone.judged);
  EXPECT_EQ(together.judged, evaluate(shares, work, together.best.unit_of_rank).hop_bytes);
  EXPECT_GE(together.proposals, 4 * options.proposals);
  EXPECT_EQ(together.leaders.front().placement.unit_of_rank, together.best.unit_of_rank);
  EXPECT_LE(together.leaders.size(), options.leaders);
  const PortfolioResult again = search_portfolio(shares, work, options).value();
  EXPECT_EQ(together.best.unit_of_rank, again.best.unit_of_rank);
  EXPECT_EQ(together.proposals, again.proposals);
}

TEST(Portfolio, TheFirstWorkersClockEndsThemAll) {
  JudgedByWork problem;
  auto& [rng, shares, work, options] = problem;
  options.proposals = std::uint64_t{1} << 62;
  options.workers = 3;
  options.should_stop = [left = 200]() mutable { return --left < 0; };  // by one thread alone
  EXPECT_TRUE(search_portfolio(shares, work, options).value().stopped);
}

TEST(Portfolio, ErrorsOfTheJudgeComeThrough) {
  const machine::Machine made = machine::from_synthetic("mesh:5x4").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  Rng rng(36);
  const Workload work = workload(testing::random_matrix(20, 3, 9, rng)).value();
  PortfolioOptions options;
  options.starts = {{"random", random_placement(20, 20, rng)}};
  options.judge_first = true;
  options.judge.of = [](Assignment) -> Result<double> { return bad_field("", "taste", "none", "some"); };
  EXPECT_FALSE(search_portfolio(shares, work, options).ok());
}

}  // namespace
}  // namespace corewise::place
