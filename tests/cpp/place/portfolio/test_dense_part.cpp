// The dense part of a pattern: found where heavy ranks exchange most of it among themselves, and nowhere else; the
// portfolio that begins with it.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "machine/machine.hpp"
#include "place/limits.hpp"
#include "place/portfolio/dense_part.hpp"
#include "place/portfolio/portfolio.hpp"
#include "place/references.hpp"

namespace corewise::place {
namespace {

/// A ring of 40 ranks; ranks 7, 11, 20 and 33 exchange 50 times as much with each other.
Workload ring_with_a_clique() {
  Workload work;
  work.ranks = 40;
  work.phases.resize(1);
  for (int rank = 0; rank < 40; ++rank) work.phases[0].push_back({rank, (rank + 1) % 40, 100});
  for (const int from : {7, 11, 20, 33}) {
    for (const int to : {7, 11, 20, 33}) {
      if (from != to) work.phases[0].push_back({from, to, 5000});
    }
  }
  return work;
}

TEST(DensePart, IsTheHeavyRanksAndTheirMessages) {
  const DensePart part = DensePart::of(ring_with_a_clique());
  EXPECT_EQ(part.ranks, (std::vector<int>{7, 11, 20, 33}));
  EXPECT_EQ(part.work.ranks, 4);
  ASSERT_EQ(part.work.phases.size(), 1U);
  EXPECT_EQ(part.work.phases[0].size(), 12U);
  EXPECT_EQ(part.work.total_bytes(), 12U * 5000);
}

TEST(DensePart, IsNotThereWhereHeavyRanksTalkToOthersOrAllAreAlike) {
  Workload ring;
  ring.ranks = 40;
  ring.phases.resize(1);
  for (int rank = 0; rank < 40; ++rank) ring.phases[0].push_back({rank, (rank + 1) % 40, 100});
  EXPECT_TRUE(DensePart::of(ring).ranks.empty());
  Workload stars = ring;
  for (const int centre : {0, 10, 20, 30}) {
    for (int leaf = 2; leaf < 8; ++leaf) stars.phases[0].push_back({centre, centre + leaf, 5000});
  }
  EXPECT_TRUE(DensePart::of(stars).ranks.empty());
  EXPECT_TRUE(DensePart::of({9, {{{0, 1, 100}}}}).ranks.empty());
}

TEST(DensePart, APortfolioThatSpreadsItKeepsLimits) {
  const machine::Machine made = machine::from_synthetic("torus:7x6").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  const Limits limits = Limits::of(made, 40, {{{7, 0}, {20, 41}}, {3}, false}).value();
  PortfolioOptions options;
  options.limits = limits;
  options.starts = {{"rank order", limits.in_order()}};
  options.proposals = 2;  // the start, and one round, which is the dense part's
  const PortfolioResult found = search_portfolio(shares, ring_with_a_clique(), options).value();
  EXPECT_TRUE(limits.hold(found.best.unit_of_rank));
  EXPECT_EQ(found.best.unit_of_rank,
            search_portfolio(shares, ring_with_a_clique(), options).value().best.unit_of_rank);
  options.proposals = 10'000;
  const PortfolioResult later = search_portfolio(shares, ring_with_a_clique(), options).value();
  EXPECT_TRUE(limits.hold(later.best.unit_of_rank));
  EXPECT_EQ(later.origin, "dense part first");
}

TEST(DensePart, HasNoRoundWhereManyUnitsShareALink) {
  const auto begins_with_it = [](const char* description) {
    const RoutedShares shares = RoutedShares::of(machine::from_synthetic(description).value()).value();
    PortfolioOptions options;
    options.starts = {{"rank order", {std::vector<machine::UnitId>(40)}}};
    std::iota(options.starts[0].placement.unit_of_rank.begin(), options.starts[0].placement.unit_of_rank.end(), 0);
    options.proposals = 2;  // the start, and one round
    options.leaders = 100;
    const PortfolioResult found = search_portfolio(shares, ring_with_a_clique(), options).value();
    EXPECT_EQ(found.rounds, 1U);
    return std::ranges::any_of(found.leaders,
                               [](const NamedStart& each) { return each.name == "dense part first"; });
  };
  EXPECT_TRUE(begins_with_it("torus:7x6"));
  EXPECT_TRUE(begins_with_it("ring:5 core:8"));    // four
  EXPECT_FALSE(begins_with_it("ring:4 core:10"));  // five
}

}  // namespace
}  // namespace corewise::place
