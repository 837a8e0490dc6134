// Annealing: what clusters of ranks that move as one find, which single ranks do not; that every move leaves a
// placement and its loads; and when it ends.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "../machines.hpp"
#include "base/rng.hpp"
#include "place/limits.hpp"
#include "place/portfolio/annealing.hpp"
#include "place/portfolio/neighbourhood.hpp"
#include "place/portfolio/smooth_loads.hpp"

namespace corewise::place {
namespace {

constexpr int cluster = 4;
constexpr int chiplet = 8;

/// Clusters of four ranks that all talk to each other; of each two clusters every rank talks to one of the other's,
/// a tenth as much.
Workload pairs_of_clusters(int clusters) {
  Workload work;
  work.ranks = clusters * cluster;
  std::vector<Traffic>& messages = work.phases.emplace_back();
  for (int from = 0; from < work.ranks; ++from) {
    for (int to = 0; to < work.ranks; ++to) {
      const bool together = from / cluster == to / cluster;
      const bool partners = from / cluster / 2 == to / cluster / 2 && from % cluster == to % cluster;
      if (from != to && (together || partners)) messages.push_back({from, to, together ? 1000U : 100U});
    }
  }
  return work;
}

/// The bytes between chiplets.
std::uint64_t far_bytes(const Workload& work, Assignment units) {
  std::uint64_t bytes = 0;
  for (const Traffic& each : work.phases.front()) {
    const auto chiplet_of = [&](int rank) { return units[static_cast<std::size_t>(rank)] / chiplet; };
    if (chiplet_of(each.from) != chiplet_of(each.to)) bytes += each.bytes;
  }
  return bytes;
}

/// What is left between chiplets when annealing that accepts nothing worse has begun with cluster c on chiplet
/// c modulo four: so no cluster is with its partner.
std::uint64_t left_by_cold_annealing(int clusters, const Limits& limits = {}) {
  const RoutedShares shares = RoutedShares::of(machine::from_synthetic("ring:4 core:8").value()).value().merged();
  const Workload work = pairs_of_clusters(clusters);
  const Neighbourhood near = Neighbourhood::of(shares, limits);
  SmoothLoads loads(shares, work);
  std::vector<machine::UnitId> units;
  for (int rank = 0; rank < work.ranks; ++rank) {
    const int number = rank / cluster;
    units.push_back(number % 4 * chiplet + number / 4 * cluster + rank % cluster);
  }
  loads.assign(units);
  loads.set_power(0);  // the work of all links: the less of it, the more pairs are together
  EXPECT_EQ(far_bytes(work, loads.assignment()), static_cast<std::uint64_t>(clusters) * cluster * 100);
  Rng rng(1);
  Annealing annealing(loads, near, rng, {});
  annealing.cool({.proposals = 40'000, .hot = 1e-12, .cold = 1e-12});
  const std::set<int> used(loads.assignment().begin(), loads.assignment().end());
  EXPECT_EQ(static_cast<int>(used.size()), work.ranks);
  return far_bytes(work, loads.assignment());
}

TEST(Annealing, AClusterOfRanksMovesAsOne) {
  EXPECT_EQ(left_by_cold_annealing(8), 0U);
}

TEST(Annealing, AClusterMovesToUnitsThatAreFree) {
  EXPECT_EQ(left_by_cold_annealing(6), 0U);
}

/// Under limits no units are alike: single ranks would leave their cluster, and whole chiplets bring no partners
/// together.
TEST(Annealing, UnderLimitsNoClusterMoves) {
  const machine::Machine ring = machine::from_synthetic("ring:4 core:8").value();
  const Limits limits = Limits::of(ring, 32, {.fixed = {{0, 0}}}).value();
  EXPECT_EQ(left_by_cold_annealing(8, limits), 32U * 100);
}

/// Classes of one unit, of five and of eight, and units that are free.
TEST(Annealing, EveryMoveLeavesAPlacementAndItsLoads) {
  const std::vector<int> stops{0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
  const RoutedShares shares = RoutedShares::of(testing::ring(4, stops)).value().merged();
  const Neighbourhood near = Neighbourhood::of(shares);
  ASSERT_EQ(near.most_alike, 8U);
  EXPECT_TRUE(near.has_large_classes());
  const Workload work = pairs_of_clusters(5);
  SmoothLoads loads(shares, work);
  Rng rng(2);
  Annealing annealing(loads, near, rng, {});
  SmoothLoads fresh(shares, work);
  bool clusters = false;  // some: more than two ranks trade places, and fewer than two chiplets hold
  for (int step = 0; step < 3000; ++step) {
    const std::vector<int> before(loads.assignment().begin(), loads.assignment().end());
    annealing.step();
    int moved = 0;
    for (int rank = 0; rank < work.ranks; ++rank) {
      const int unit = loads.assignment()[static_cast<std::size_t>(rank)];
      ASSERT_EQ(loads.rank_on(unit), rank);
      moved += unit != before[static_cast<std::size_t>(rank)] ? 1 : 0;
    }
    clusters = clusters || (moved > 2 && moved <= chiplet);
    fresh.assign(loads.assignment());
    ASSERT_NEAR(loads.smooth(), fresh.smooth(), 1e-9 * fresh.smooth());
    ASSERT_EQ(loads.bottleneck_ns(), fresh.bottleneck_ns());
  }
  EXPECT_TRUE(clusters);
}

TEST(Annealing, EndsEarlyWhereNothingIsAccepted) {
  // Ranks of a ring in their order: whatever moves, lengthens a route.
  const RoutedShares shares = RoutedShares::of(testing::full_ring(16)).value().merged();
  Workload work;
  work.ranks = 16;
  work.phases.emplace_back();
  for (int rank = 0; rank < 16; ++rank) work.phases.front().push_back({rank, (rank + 1) % 16, 1000});
  const Neighbourhood near = Neighbourhood::of(shares);
  const auto proposals_at = [&](double hot) {
    Rng rng(17);
    SmoothLoads loads(shares, work);
    Annealing annealing(loads, near, rng, {});
    annealing.cool({80'000, hot, hot / 2, false, 1e9});
    return annealing.proposals();
  };
  EXPECT_EQ(proposals_at(1e-9), 10'000U);  // an eighth
  EXPECT_EQ(proposals_at(1), 80'000U);
}

}  // namespace
}  // namespace corewise::place
