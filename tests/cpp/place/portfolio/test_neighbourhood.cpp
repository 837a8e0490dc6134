// Neighbourhood: which units are alike, against the symmetries of the machine; who is near; the blocks of a tree.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/neighbourhood.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "../machines.hpp"
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
       {synthetic("pack:2 l3:2 core:3"), synthetic("mesh:3x2 core:2"), synthetic("torus:3x3"),
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

TEST(Neighbourhood, WhereLimitsTellUnitsApartNoneAreAlike) {
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

}  // namespace
}  // namespace corewise::place
