// Local search: against proven optima, against known ones beyond enumeration, and its promises (valid,
// deterministic, within budget, never worse than its starts). References against exact averages.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "machines.hpp"
#include "place/exhaustive.hpp"
#include "place/links/link_load_cost.hpp"
#include "place/local_search.hpp"
#include "place/references.hpp"

namespace corewise::place {
namespace {

using testing::full_ring;
using testing::random_matrix;

bool is_valid(const machine::Placement& placement, int ranks, int units) {
  const std::set<int> used(placement.unit_of_rank.begin(), placement.unit_of_rank.end());
  return placement.unit_of_rank.size() == static_cast<std::size_t>(ranks) &&
         used.size() == static_cast<std::size_t>(ranks) && *used.begin() >= 0 && *used.rbegin() < units;
}

/// Rank order[i] sends to and receives from order[i + 1], in a ring.
pattern::Matrix scrambled_ring(int ranks, std::uint64_t bytes, Rng& rng) {
  const std::vector<int> order = random_placement(ranks, ranks, rng).unit_of_rank;
  pattern::Matrix matrix{ranks, {}};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int next = order[(i + 1) % order.size()];
    matrix.entries.push_back({order[i], next, bytes, 1});
    matrix.entries.push_back({next, order[i], bytes, 1});
  }
  return matrix;
}

TEST(LocalSearch, FindsTheProvenBestAndWorstOfEightRanks) {
  const RoutedShares shares = RoutedShares::of(full_ring(8)).value();
  const Symmetry symmetry(shares);
  const LinkLoadEnumeration enumeration(shares, symmetry, *representatives(symmetry, 8, 10'000));
  Rng rng(21);
  for (int k = 0; k < 20; ++k) {
    const Workload work = workload(random_matrix(8, 3, 10, rng)).value();
    const ExhaustiveResult truth = enumeration.run(work);
    LinkLoadCost cost(shares, work);
    LocalSearchOptions options;
    options.budget_evaluations = 20'000;
    const LocalSearchResult best = local_search(cost, {}, options);
    EXPECT_EQ(best.score.primary, truth.best_score.primary);
    options.direction = Direction::maximise;
    EXPECT_EQ(local_search(cost, {}, options).score.primary, truth.worst_score.primary);
  }
}

TEST(LocalSearch, UntanglesARingOfSixteen) {
  // The ring laid along the ring loads every link with exactly one message: no placement can do better.
  Rng rng(22);
  for (int k = 0; k < 3; ++k) {
    const RoutedShares shares = RoutedShares::of(full_ring(16)).value();
    const Workload work = workload(scrambled_ring(16, 2560, rng)).value();
    LinkLoadCost cost(shares, work);
    const LocalSearchResult found = local_search(cost, {greedy_placement(shares, work)});
    EXPECT_DOUBLE_EQ(found.score.primary, 100.0);
    EXPECT_EQ(found.score.secondary, 32.0 * 2560);
  }
}

TEST(LocalSearch, IsDeterministicValidAndWithinBudget) {
  Rng rng(23);
  const RoutedShares shares = RoutedShares::of(full_ring(20)).value();
  const Workload work = workload(random_matrix(12, 4, 1000, rng)).value();
  LocalSearchOptions options;
  options.budget_evaluations = 5'000;
  LinkLoadCost cost(shares, work);
  const LocalSearchResult first = local_search(cost, {}, options);
  const LocalSearchResult again = local_search(cost, {}, options);
  EXPECT_EQ(first.best.unit_of_rank, again.best.unit_of_rank);
  EXPECT_EQ(first.evaluated, options.budget_evaluations);
  EXPECT_TRUE(is_valid(first.best, 12, 20));
  const Evaluation check = evaluate(shares, work, first.best.unit_of_rank);
  EXPECT_EQ(first.score.primary, check.bottleneck_ns);
  EXPECT_EQ(first.score.secondary, static_cast<double>(check.hop_bytes));
}

TEST(LocalSearch, NeverWorseThanItsStartsEvenWithoutBudget) {
  Rng rng(24);
  const RoutedShares shares = RoutedShares::of(full_ring(12)).value();
  for (int k = 0; k < 10; ++k) {
    const Workload work = workload(random_matrix(12, 3, 100, rng)).value();
    std::vector<machine::Placement> starts;
    double least_ns = 1e300;
    for (int s = 0; s < 5; ++s) {
      starts.push_back(random_placement(12, 12, rng));
      least_ns = std::min(least_ns, evaluate(shares, work, starts.back().unit_of_rank).bottleneck_ns);
    }
    LinkLoadCost cost(shares, work);
    LocalSearchOptions options;
    options.budget_evaluations = 1;
    const LocalSearchResult found = local_search(cost, starts, options);
    EXPECT_EQ(found.score.primary, least_ns);
    EXPECT_EQ(found.evaluated, 5u);
  }
}

TEST(LocalSearch, OneRankOnOneUnit) {
  const RoutedShares shares = RoutedShares::of(testing::star(1)).value();
  LinkLoadCost cost(shares, workload(pattern::Matrix{1, {{0, 0, 5, 1}}}).value());
  const LocalSearchResult found = local_search(cost, {});
  EXPECT_EQ(found.best.unit_of_rank, std::vector<int>{0});
  EXPECT_EQ(found.score, (Score{0, 0}));
}

TEST(References, GreedyLaysAChainAlongTheRing) {
  pattern::Matrix matrix{4, {{0, 2, 100, 1}, {2, 1, 90, 1}, {1, 3, 80, 1}}};
  const RoutedShares shares = RoutedShares::of(full_ring(8)).value();
  const machine::Placement placed = greedy_placement(shares, workload(matrix).value());
  // Rank 2 talks most: unit 0; then 0 beside it on 1; then 1 on the other side, 7; then 3 beside that.
  EXPECT_EQ(placed.unit_of_rank, (std::vector<int>{1, 7, 0, 6}));
}

TEST(References, RandomMeanApproachesTheMeanOfAllPlacements) {
  Rng rng(25);
  const machine::Machine machine = full_ring(6);
  const pattern::Matrix matrix = random_matrix(6, 3, 10, rng);
  double sum_ns = 0;
  testing::for_every_placement(6, 6, [&](const auto& placement) {
    sum_ns += testing::plain_cost(machine, matrix, placement).bottleneck_ns;
  });
  const RoutedShares shares = RoutedShares::of(machine).value();
  const RandomReference reference = random_reference(shares, workload(matrix).value(), 5000, 3);
  EXPECT_NEAR(reference.mean_ns, sum_ns / 720, 0.02 * sum_ns / 720);
  EXPECT_LE(reference.least_ns, reference.p10_ns);
  EXPECT_LE(reference.p10_ns, reference.median_ns);
  EXPECT_LE(reference.median_ns, reference.p90_ns);
  EXPECT_LE(reference.p90_ns, reference.most_ns);
  EXPECT_EQ(reference.mean_ns, random_reference(shares, workload(matrix).value(), 5000, 3).mean_ns);
}

TEST(References, QuantilesByNearestRank) {
  // All placements of one message between neighbours of a 3-ring cost the same: every quantile is that cost.
  const RoutedShares shares = RoutedShares::of(full_ring(3)).value();
  const Workload work = workload(pattern::Matrix{2, {{0, 1, 256, 1}}}).value();
  const RandomReference reference = random_reference(shares, work, 7, 1);
  for (const double time_ns : {reference.least_ns, reference.p10_ns, reference.median_ns, reference.p90_ns}) {
    EXPECT_DOUBLE_EQ(time_ns, 10.0);
  }
  EXPECT_DOUBLE_EQ(reference.mean_ns, 10.0);
  EXPECT_EQ(reference.samples, 7);
}

}  // namespace
}  // namespace corewise::place
