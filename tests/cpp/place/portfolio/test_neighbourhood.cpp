// Neighbourhood: which units are alike, against the symmetries of the machine; who is near; the blocks of a tree.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "../machines.hpp"
#include "place/portfolio/annealing.hpp"
#include "place/portfolio/neighbourhood.hpp"
#include "place/portfolio/pair_annealing.hpp"
#include "place/portfolio/smooth_loads.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::place {
namespace {

machine::Machine synthetic(const char* description) {
  return machine::from_synthetic(description).value();
}

RoutedShares merged(const machine::Machine& made) {
  return RoutedShares::of(made).value().merged();
}

TEST(Neighbourhood, BlocksAreTheLevelsOfATree) {
  const Neighbourhood near = Neighbourhood::of(merged(synthetic("pack:2 l3:3 core:4")));
  ASSERT_EQ(near.blocks.size(), 2U);
  EXPECT_EQ(near.blocks[0].size(), 6U);
  EXPECT_EQ(near.blocks[0][1], (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(near.blocks[1].size(), 2U);
}

TEST(Neighbourhood, CoresOfACacheAreAlikeAndThoseOfTheNextCachesNear) {
  const Neighbourhood near = Neighbourhood::of(merged(synthetic("pack:2 l3:3 core:4")));
  EXPECT_EQ(near.alike[5], (std::vector<int>{4, 6, 7}));
  ASSERT_EQ(near.near[5].size(), 20U);
  EXPECT_EQ(std::vector(near.near[5].begin(), near.near[5].begin() + 8),
            (std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11}));
}

TEST(Neighbourhood, TwelveClassesAreNear) {
  const Neighbourhood pairs = Neighbourhood::of(merged(synthetic("mesh:8x8 core:2")));
  EXPECT_EQ(pairs.near[40].size(), 24U);
  const Neighbourhood alone = Neighbourhood::of(merged(synthetic("mesh:8x8")));
  EXPECT_EQ(alone.near[20].size(), 12U);
  EXPECT_TRUE(alone.alike[20].empty());
}

TEST(Neighbourhood, AlikeIsWhatTheSymmetriesSay) {
  using testing::ring;
  int alike = 0;
  for (const machine::Machine& made :
       {synthetic("pack:2 l3:2 core:3"), synthetic("mesh:3x2 core:2"), synthetic("torus:3x3"), synthetic("mesh:3"),
        synthetic("ring:5 core:3"), synthetic("core:7"), testing::full_ring(8), ring(6, {0, 0, 1, 2, 2, 5}),
        ring(6, {0, 0, 1, 2, 2, 5}, testing::Tie::by_source_parity)}) {
    const RoutedShares shares = merged(made);
    const Neighbourhood near = Neighbourhood::of(shares);
    const Symmetry symmetry(shares);
    for (int one = 0; one < shares.units(); ++one) {
      for (int other = 0; other < one; ++other) {
        UnitPermutation trade(static_cast<std::size_t>(shares.units()));
        std::iota(trade.begin(), trade.end(), 0);
        std::swap(trade[static_cast<std::size_t>(one)], trade[static_cast<std::size_t>(other)]);
        EXPECT_EQ(near.are_alike(one, other), symmetry.contains(trade)) << made.name << ' ' << one << ' ' << other;
        alike += near.are_alike(one, other) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(alike, 50);
}

TEST(Neighbourhood, ACoreWithAFasterLinkIsLikeNoOther) {
  const RoutedShares slow = merged(synthetic("pack:2 l3:2 core:3"));
  EXPECT_EQ(Neighbourhood::of(slow).alike[4], (std::vector<int>{3, 5}));
  std::vector<double> bandwidths;
  for (int link = 0; link < slow.links(); ++link) bandwidths.push_back(slow.bandwidth_gb_per_s(link));
  const auto crosses = [&](int from, int to, int link) {
    return std::ranges::any_of(slow.shares(from, to), [&](const Share& share) { return share.link == link; });
  };
  for (int link = 0; link < slow.links(); ++link) {
    if (crosses(4, 0, link) && crosses(4, 5, link)) bandwidths[static_cast<std::size_t>(link)] *= 2;
  }
  const Neighbourhood after = Neighbourhood::of(slow.with_bandwidths(bandwidths));
  EXPECT_TRUE(after.alike[4].empty());
  EXPECT_EQ(after.alike[3], (std::vector<int>{5}));
}

TEST(Neighbourhood, UnderLimitsNoneAreAlike) {
  LimitRules rules;
  rules.fixed = {{0, 3}};
  const machine::Machine node = synthetic("pack:2 l3:2 core:3");
  const Neighbourhood near = Neighbourhood::of(merged(node), Limits::of(node, 12, rules).value());
  for (const auto& same : near.alike) EXPECT_TRUE(same.empty());
  EXPECT_EQ(near.near[0].size(), 11U);
}

TEST(Neighbourhood, MovesAimBesideAndNear) {
  const Neighbourhood near = Neighbourhood::of(merged(synthetic("pack:2 l3:3 core:4")));
  Rng rng(1);
  int beside = 0;
  for (int k = 0; k < 1000; ++k) {
    beside += &near.aims(5, true, rng) == &near.alike[5] ? 1 : 0;
    EXPECT_EQ(&near.aims(5, false, rng), &near.near[5]);
  }
  EXPECT_GT(beside, 400);
  EXPECT_LT(beside, 600);
}

TEST(Neighbourhood, SharedLinksAreThoseOfManyUnits) {
  // Of a ring both directions between neighbours; every core has links of its own.
  EXPECT_DOUBLE_EQ(Neighbourhood::of(merged(synthetic("ring:6 core:4"))).units_per_shared_link, 24 / 12.0);
  EXPECT_DOUBLE_EQ(Neighbourhood::of(merged(synthetic("core:7"))).units_per_shared_link, 0);
}

TEST(Annealing, UnitsThatAreAlikeAreSwappedForJudgesAlone) {
  const RoutedShares shares = merged(synthetic("pack:2 l3:3 core:4"));
  Rng rng(1);
  const Workload work = workload(testing::random_matrix(24, 3, 1000, rng)).value();
  const Neighbourhood near = Neighbourhood::of(shares);
  SmoothLoads loads(shares, work);
  Annealing annealing(loads, near, rng, {});
  EXPECT_FALSE(annealing.propose_swap(5, 6));
  EXPECT_TRUE(annealing.propose_swap(5, 8));
  const std::vector<int> before(loads.assignment().begin(), loads.assignment().end());
  int of_no_load = 0;
  for (int k = 0; k < 1000; ++k) {
    if (!annealing.draw_single()) continue;
    const std::vector<int> after = annealing.placement().unit_of_rank;
    const auto moved = std::ranges::mismatch(before, after);
    if (near.are_alike(*moved.in1, *moved.in2)) {
      EXPECT_DOUBLE_EQ(annealing.proposed(), loads.smooth());
      ++of_no_load;
    }
  }
  EXPECT_GT(of_no_load, 0);
}

TEST(Annealing, WhereAllUnitsAreAlikeItEndsWhereItBegan) {
  const RoutedShares shares = merged(synthetic("core:7"));
  Rng rng(1);
  const Workload work = workload(testing::random_matrix(7, 3, 1000, rng)).value();
  const Neighbourhood near = Neighbourhood::of(shares);
  EXPECT_EQ(near.alike[0].size(), 6U);
  SmoothLoads loads(shares, work);
  const double before = loads.smooth();
  Annealing annealing(loads, near, rng, {});
  for (int k = 0; k < 100; ++k) annealing.step();
  EXPECT_TRUE(std::ranges::is_sorted(loads.assignment()));
  annealing.cool({5000});
  annealing.descend(5000);
  EXPECT_DOUBLE_EQ(loads.smooth(), before);
  PairAnnealing pairs = PairAnnealing::work_of(shares, work, near);
  const double work_before = pairs.sum();
  EXPECT_GT(pairs.cool(5000, 0.5, rng, {}), 4000U);
  EXPECT_DOUBLE_EQ(pairs.sum(), work_before);
}

}  // namespace
}  // namespace corewise::place
