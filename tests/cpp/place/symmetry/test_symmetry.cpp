// The symmetry group against brute force: over every permutation of units, exactly those reported keep bottleneck
// and hop-bytes of random placed patterns. Representatives against all placements, orbit by orbit.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "place/machines.hpp"
#include "place/references.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::place {
namespace {

using testing::cell_ring;
using testing::for_every_placement;
using testing::full_ring;
using testing::plain_cost;
using testing::star;
using testing::Tie;

Symmetry symmetry_of(const machine::Machine& machine) {
  return Symmetry(RoutedShares::of(machine).value());
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

struct Probe {
  pattern::Matrix matrix;
  std::vector<int> unit_of_rank;
  testing::PlainCost cost;
};

/// Sparse patterns tell links apart by single messages, dense ones by sums.
std::vector<Probe> probes(const machine::Machine& machine, int count) {
  Rng rng(99);
  const int units = static_cast<int>(machine.units.size());
  std::vector<Probe> made;
  for (int k = 0; k < count; ++k) {
    Probe probe;
    probe.matrix = testing::random_matrix(units, 1 + k % 7, 1000, rng);
    probe.unit_of_rank = random_placement(units, units, rng).unit_of_rank;
    probe.cost = plain_cost(machine, probe.matrix, probe.unit_of_rank);
    made.push_back(probe);
  }
  return made;
}

bool keeps(const machine::Machine& machine, const Probe& probe, const std::vector<int>& permutation) {
  std::vector<int> moved;
  for (const int unit : probe.unit_of_rank) moved.push_back(permutation[static_cast<std::size_t>(unit)]);
  const testing::PlainCost cost = plain_cost(machine, probe.matrix, moved);
  return near(cost.bottleneck_ns, probe.cost.bottleneck_ns) && near(cost.hop_bytes, probe.cost.hop_bytes);
}

/// All permutations that no probe can tell from the identity.
std::set<std::vector<int>> brute_force_group(const machine::Machine& machine) {
  const std::vector<Probe> all = probes(machine, 60);
  std::set<std::vector<int>> group;
  const int units = static_cast<int>(machine.units.size());
  for_every_placement(units, units, [&](const std::vector<int>& permutation) {
    for (const Probe& probe : all) {
      if (!keeps(machine, probe, permutation)) return;
    }
    group.insert(permutation);
  });
  return group;
}

void expect_group_is_brute_force(const machine::Machine& machine) {
  SCOPED_TRACE(machine.name);
  const Symmetry symmetry = symmetry_of(machine);
  const std::set<std::vector<int>> expected = brute_force_group(machine);
  EXPECT_EQ(symmetry.order(), expected.size());
  EXPECT_EQ(std::set<std::vector<int>>(symmetry.elements().begin(), symmetry.elements().end()), expected);
  for (const auto& element : expected) EXPECT_TRUE(symmetry.contains(element));
}

TEST(Symmetry, RingWithSplitTiesHasAllSixteen) {
  EXPECT_EQ(symmetry_of(full_ring(8)).order(), 16u);
  expect_group_is_brute_force(full_ring(8));
}

TEST(Symmetry, RingWithClockwiseTiesHasRotationsOnly) {
  const Symmetry symmetry = symmetry_of(full_ring(8, Tie::clockwise));
  EXPECT_EQ(symmetry.order(), 8u);
  for (const UnitPermutation& element : symmetry.elements()) {
    for (int unit = 0; unit < 8; ++unit)
      EXPECT_EQ(element[static_cast<std::size_t>(unit)], (unit + element[0]) % 8);
  }
  expect_group_is_brute_force(full_ring(8, Tie::clockwise));
}

TEST(Symmetry, RingWithTiesBySourceParityHasFewer) {
  EXPECT_LT(symmetry_of(full_ring(8, Tie::by_source_parity)).order(), 16u);
  expect_group_is_brute_force(full_ring(8, Tie::by_source_parity));
}

TEST(Symmetry, CellRingAgainstBruteForce) {
  expect_group_is_brute_force(cell_ring());
  // Half a turn and two reflections of the 12-stop ring map the SPEs onto themselves.
  EXPECT_EQ(symmetry_of(cell_ring()).order(), 4u);
}

TEST(Symmetry, OneSlowerLinkLeavesOnlyWhatFixesIt) {
  machine::Machine machine = full_ring(8);
  machine.links[0].bandwidth_gb_per_s = 20;
  expect_group_is_brute_force(machine);
  EXPECT_EQ(symmetry_of(machine).order(), 1u);
  EXPECT_TRUE(symmetry_of(machine).generators().empty());
}

TEST(Symmetry, PartlyPopulatedRingAndOddRing) {
  expect_group_is_brute_force(testing::ring(10, {0, 1, 4, 5, 7, 9}));
  expect_group_is_brute_force(full_ring(7));
}

TEST(Symmetry, InterchangeableUnits) {
  EXPECT_EQ(symmetry_of(star(5)).order(), 120u);
  expect_group_is_brute_force(star(5));
  const Symmetry sixteen = symmetry_of(star(16));
  EXPECT_EQ(sixteen.order(), 20922789888000u);  // 16!
  EXPECT_TRUE(sixteen.elements().empty());
  for (const UnitPermutation& generator : sixteen.generators()) EXPECT_TRUE(sixteen.contains(generator));
  EXPECT_EQ(symmetry_of(star(24)).order(), ~std::uint64_t{0});
}

TEST(Symmetry, LargerRings) {
  EXPECT_EQ(symmetry_of(full_ring(16)).order(), 32u);
  EXPECT_EQ(symmetry_of(full_ring(15)).order(), 30u);
}

TEST(Symmetry, ContainsRejectsWhatIsNone) {
  const Symmetry symmetry = symmetry_of(full_ring(8));
  EXPECT_TRUE(symmetry.contains({1, 2, 3, 4, 5, 6, 7, 0}));
  EXPECT_FALSE(symmetry.contains({1, 0, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(symmetry.contains({0, 0, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(symmetry.contains({0, 1}));
}

TEST(Symmetry, OrbitsOfStabilisers) {
  const Symmetry symmetry = symmetry_of(full_ring(8));
  EXPECT_EQ(symmetry.orbits_fixing({}), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0}));
  const std::vector<int> zero{0};
  EXPECT_EQ(symmetry.orbits_fixing(zero), (std::vector<int>{0, 1, 2, 3, 4, 3, 2, 1}));
  const std::vector<int> zero_and_one{0, 1};
  EXPECT_EQ(symmetry.orbits_fixing(zero_and_one), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

std::vector<int> least_image(const std::vector<int>& placement, const std::set<std::vector<int>>& group) {
  std::vector<int> least = placement;
  for (const auto& element : group) {
    std::vector<int> image;
    for (const int unit : placement) image.push_back(element[static_cast<std::size_t>(unit)]);
    least = std::min(least, image);
  }
  return least;
}

/// Every completion of every start, with the orbit size it claims.
std::map<std::vector<int>, std::uint64_t> expand(const Representatives& all) {
  std::map<std::vector<int>, std::uint64_t> placements;
  for (const auto& start : all.starts) {
    for_every_placement(all.units, all.ranks, [&](const std::vector<int>& placement) {
      if (std::equal(start.units.begin(), start.units.end(), placement.begin())) {
        EXPECT_TRUE(placements.emplace(placement, start.orbit_size).second);
      }
    });
  }
  return placements;
}

TEST(Representatives, AreTheLeastOfEachOrbitWithItsSize) {
  for (const machine::Machine& machine :
       {full_ring(6), full_ring(6, Tie::by_source_parity), star(5), testing::ring(10, {0, 1, 4, 5, 7, 9})}) {
    SCOPED_TRACE(machine.name);
    const std::set<std::vector<int>> group = brute_force_group(machine);
    const int units = static_cast<int>(machine.units.size());
    for (int ranks = 1; ranks <= units; ++ranks) {
      std::map<std::vector<int>, std::uint64_t> expected;
      for_every_placement(units, ranks, [&](const auto& placement) { ++expected[least_image(placement, group)]; });
      const auto all = representatives(symmetry_of(machine), ranks, 1'000'000);
      ASSERT_TRUE(all.has_value());
      EXPECT_EQ(expand(*all), expected);
      EXPECT_EQ(all->count, expected.size());
    }
  }
}

TEST(Representatives, CountsOfTheHeadlineMachines) {
  EXPECT_EQ(representatives(symmetry_of(full_ring(8)), 8, 100'000)->count, 2520u);
  EXPECT_EQ(representatives(symmetry_of(full_ring(8, Tie::clockwise)), 8, 100'000)->count, 5040u);
  EXPECT_EQ(representatives(symmetry_of(cell_ring()), 8, 100'000)->count, 10080u);
  EXPECT_EQ(representatives(symmetry_of(star(32)), 8, 100'000)->count, 1u);
}

TEST(Representatives, RefusesMoreThanTheLimit) {
  EXPECT_FALSE(representatives(symmetry_of(full_ring(8)), 8, 2519).has_value());
  EXPECT_TRUE(representatives(symmetry_of(full_ring(8)), 8, 2520).has_value());
  EXPECT_FALSE(representatives(symmetry_of(full_ring(16)), 8, 1'000'000).has_value());
}

}  // namespace
}  // namespace corewise::place
