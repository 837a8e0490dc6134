// Weighted distance: inputs and their errors, trees, the cost by moves, proofs against brute force and published
// optima, symmetry of matrices.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/rng.hpp"
#include "distance_instances.hpp"
#include "place/distance/branch.hpp"
#include "place/distance/cost.hpp"
#include "place/distance/search.hpp"
#include "place/distance/symmetry.hpp"
#include "place/machines.hpp"
#include "place/references.hpp"

namespace corewise::place {
namespace {

using testing::random_matrix;

Distances random_distances(int units, int largest, Rng& rng) {
  Distances distances{units, std::vector<double>(static_cast<std::size_t>(units * units), 0)};
  for (int a = 0; a < units; ++a) {
    for (int b = 0; b < a; ++b) {
      const auto value = static_cast<double>(rng.below(static_cast<std::uint64_t>(largest) + 1));
      distances.at[static_cast<std::size_t>(a * units + b)] = value;
      distances.at[static_cast<std::size_t>(b * units + a)] = value;
    }
  }
  return distances;
}

double least_by_brute_force(const PairTraffic& traffic, const Distances& distances) {
  double least = std::numeric_limits<double>::infinity();
  testing::for_every_placement(distances.units, traffic.ranks, [&](const auto& placement) {
    least = std::min(least, weighted_distance(traffic, distances, placement));
  });
  return least;
}

bool is_valid(const std::vector<int>& unit_of_rank, int ranks, int units) {
  const std::set<int> used(unit_of_rank.begin(), unit_of_rank.end());
  return static_cast<int>(unit_of_rank.size()) == ranks && static_cast<int>(used.size()) == ranks &&
         *used.begin() >= 0 && *used.rbegin() < units;
}

DistanceResult prove(const PairTraffic& traffic, const Distances& distances) {
  DistanceOptions options;
  options.method = Method::branch_and_bound;
  return search_distance(traffic, distances, options).value();
}

TEST(Distance, CountsUnorderedPairsWithBothDirections) {
  // Ranks 0 and 1 exchange 10 + 5 bytes, rank 2 sends 7 to rank 0; messages to oneself and empty ones do not count.
  const pattern::Matrix matrix{3, {{0, 0, 99, 1}, {0, 1, 10, 1}, {1, 0, 5, 1}, {1, 2, 0, 3}, {2, 0, 7, 1}}};
  const PairTraffic traffic = traffic_of(matrix).value();
  const Distances distances{3, {0, 2, 3, 2, 0, 4, 3, 4, 0}};
  EXPECT_EQ(weighted_distance(traffic, distances, std::vector<int>{0, 1, 2}), 15 * 2 + 7 * 3);
  EXPECT_EQ(weighted_distance(traffic, distances, std::vector<int>{2, 1, 0}), 15 * 4 + 7 * 3);
  EXPECT_EQ(traffic.peers.size(), 4u);
}

TEST(Distance, RefusesWhatBreaksTheContract) {
  EXPECT_EQ(check(Distances{2, {0, 1, 2, 0}}, "d").message(),
            "d: field 'distances[0][1]': found 1, allowed: 2 as in the other direction");
  EXPECT_EQ(check(Distances{2, {0, -1, -1, 0}}).message(),
            "field 'distances[0][1]': found -1, allowed: 0 or more, finite");
  EXPECT_EQ(check(Distances{1, {3}}).message(), "field 'distances[0][0]': found 3, allowed: 0 on the diagonal");
  EXPECT_FALSE(check(Distances{2, {0, 1, 1}}).ok());
  EXPECT_FALSE(check(Distances{0, {}}).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check(Distances{2, {0, nan, nan, 0}}).ok());
  EXPECT_FALSE(traffic_of(pattern::Matrix{2, {{0, 1, std::uint64_t{1} << 61, 1}}}).ok());
  // Totals of 64 bits would wrap round to nothing.
  const pattern::Message half{0, 1, std::uint64_t{1} << 63, 1};
  EXPECT_FALSE(traffic_of(pattern::Matrix{3, {half, {0, 2, std::uint64_t{1} << 63, 1}}}).ok());
  EXPECT_FALSE(traffic_of(pattern::Pattern{"p", 2, {{"", {half}}, {"", {half}}}}).ok());
  const PairTraffic three = traffic_of(pattern::Matrix{3, {}}).value();
  EXPECT_EQ(search_distance(three, Distances{2, {0, 1, 1, 0}}).status().message(),
            "field 'ranks': found 3, allowed: 1..2");
}

TEST(Distance, TreeTextIsLeafFirst) {
  const Distances distances = tree_distances("2:3:2", "1:10:100").value();
  EXPECT_EQ(distances.units, 12);
  EXPECT_EQ(distances(0, 0), 0);
  EXPECT_EQ(distances(0, 1), 1);
  EXPECT_EQ(distances(0, 2), 10);
  EXPECT_EQ(distances(1, 5), 10);
  EXPECT_EQ(distances(5, 6), 100);
  EXPECT_TRUE(check(distances).ok());
}

TEST(Distance, TreeTextErrors) {
  EXPECT_FALSE(tree_distances("", "1").ok());
  EXPECT_FALSE(tree_distances("4:0", "1:10").ok());
  EXPECT_FALSE(tree_distances("4:x", "1:10").ok());
  EXPECT_FALSE(tree_distances("4096:4096", "1:10").ok());
  EXPECT_FALSE(tree_distances("4:4", "1").ok());
  EXPECT_EQ(
      tree_distances("4:4", "10:1").status().message(),
      "field 'distances': found '10:1', allowed: 2 numbers of 0 or more, leaf first, none below the one before");
}

TEST(Distance, TreeOfAMatrixWithShuffledUnitsAndUnequalGroups) {
  // Groups of 3, 2 and 1 units, shuffled.
  const std::vector<int> group{0, 1, 0, 2, 1, 0};
  Distances distances{6, {}};
  for (int a = 0; a < 6; ++a) {
    for (int b = 0; b < 6; ++b) {
      const bool together = group[static_cast<std::size_t>(a)] == group[static_cast<std::size_t>(b)];
      distances.at.push_back(a == b ? 0 : together ? 2 : 7);
    }
  }
  const Tree tree = Tree::from_distances(distances).value();
  EXPECT_EQ(tree.levels(), 2);
  EXPECT_EQ(tree.nodes()[0].children.size(), 3u);
  EXPECT_EQ(tree.matrix().at, distances.at);
  const Distances ring{4, {0, 1, 2, 1, 1, 0, 1, 2, 2, 1, 0, 1, 1, 2, 1, 0}};
  EXPECT_FALSE(Tree::from_distances(ring).ok());
  EXPECT_EQ(Tree::from_distances(Distances{1, {0}}).value().units(), 1);
  const Distances zero{3, std::vector<double>(9, 0)};
  EXPECT_EQ(Tree::from_distances(zero).value().matrix().at, zero.at);
}

TEST(Distance, OfAMachineByLatencyAndByHops) {
  const machine::Machine ring = testing::full_ring(6);
  const Distances hops = distances_of(ring, DistanceKind::hops);
  EXPECT_EQ(hops(0, 1), 1);
  EXPECT_EQ(hops(0, 3), 3);
  EXPECT_EQ(hops(0, 5), 1);
  EXPECT_TRUE(check(hops).ok());
  const Distances latency = distances_of(ring);
  EXPECT_EQ(latency(0, 2), ring.links[0].latency_ns * 2);
}

TEST(DistanceCost, FollowsMovesExactly) {
  Rng rng(31);
  for (const int ranks : {1, 2, 5, 9}) {
    const PairTraffic traffic = traffic_of(random_matrix(ranks, 4, 100, rng)).value();
    const Distances distances = random_distances(9, 20, rng);
    DistanceCost cost(traffic, distances);
    cost.assign(random_placement(ranks, 9, rng).unit_of_rank);
    for (int move = 0; move < 200; ++move) {
      const int rank = static_cast<int>(rng.below(static_cast<std::uint64_t>(ranks)));
      cost.relocate(rank, static_cast<int>(rng.below(9)));
      ASSERT_EQ(cost.score().primary, weighted_distance(traffic, distances, cost.assignment()));
      const std::vector<int> now(cost.assignment().begin(), cost.assignment().end());
      ASSERT_TRUE(is_valid(now, ranks, 9));
    }
  }
}

TEST(DistanceCost, FractionsComeBackBitForBit) {
  Rng rng(32);
  const PairTraffic traffic = traffic_of(random_matrix(6, 4, 100, rng)).value();
  Distances distances = random_distances(6, 9, rng);
  for (double& value : distances.at) value *= 0.1;
  DistanceCost cost(traffic, distances);
  const std::vector<int> start = random_placement(6, 6, rng).unit_of_rank;
  cost.assign(start);
  const Score before = cost.score();
  EXPECT_NEAR(before.primary, weighted_distance(traffic, distances, start), 1e-6 * before.primary);
  cost.relocate(0, start[3]);
  cost.relocate(0, start[0]);
  EXPECT_EQ(cost.score(), before);
}

TEST(DistanceSymmetry, OrbitsOfAGridAndOfATree) {
  const Distances grid = testing::nug12.distances();
  MatrixSymmetry of_grid(12, std::vector<std::int64_t>(grid.at.begin(), grid.at.end()));
  // A 3x4 grid turns and mirrors: corners, the two kinds of edge cells, the inner cells.
  EXPECT_EQ(of_grid.orbits_fixing(0).least, (std::vector<int>{0, 1, 1, 0, 4, 5, 5, 4, 0, 1, 1, 0}));
  EXPECT_TRUE(of_grid.orbits_fixing(0b1).trivial);
  const Distances tree = tree_distances("2:3", "1:10").value();
  MatrixSymmetry of_tree(6, std::vector<std::int64_t>(tree.at.begin(), tree.at.end()));
  EXPECT_EQ(of_tree.orbits_fixing(0).least, (std::vector<int>{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(of_tree.orbits_fixing(0b1).least, (std::vector<int>{0, 1, 2, 2, 2, 2}));
}

TEST(DistanceAssignment, LinearAssignmentAgainstEveryPermutation) {
  Rng rng(33);
  LinearAssignment assignment;
  for (int k = 0; k < 200; ++k) {
    const int size = 1 + static_cast<int>(rng.below(6));
    const auto n = static_cast<std::size_t>(size);
    std::vector<std::int64_t> costs(n * n);
    for (std::int64_t& cost : costs)
      cost = rng.below(5) == 0 ? forbidden_cost : static_cast<std::int64_t>(rng.below(30));
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::int64_t least = forbidden_cost;
    do {
      std::int64_t sum = 0;
      for (std::size_t row = 0; row < n && sum < forbidden_cost; ++row) {
        sum += costs[row * n + static_cast<std::size_t>(order[row])];
      }
      least = std::min(least, sum);
    } while (std::next_permutation(order.begin(), order.end()));
    std::vector<std::int64_t> price(n);
    std::vector<std::int64_t> row_price(n);
    for (std::int64_t& entry : price) entry = static_cast<std::int64_t>(rng.below(20)) - 10;
    const std::int64_t found = assignment.solve(size, costs.data(), price.data(), row_price.data());
    ASSERT_EQ(found, least);
    for (std::size_t at = 0; at < n * n && found < forbidden_cost; ++at) {
      ASSERT_GE(costs[at] - row_price[at / n] - price[at % n], 0);
    }
  }
}

TEST(DistanceProof, AgreesWithBruteForce) {
  Rng rng(34);
  for (int k = 0; k < 60; ++k) {
    const int units = 1 + static_cast<int>(rng.below(7));
    const int ranks = 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(units)));
    const PairTraffic traffic = traffic_of(random_matrix(ranks, 1 + k % 4, 50, rng)).value();
    const Distances distances = random_distances(units, 1 + k % 6, rng);
    const DistanceResult found = prove(traffic, distances);
    ASSERT_TRUE(found.proven_optimal);
    ASSERT_TRUE(is_valid(found.placement.unit_of_rank, ranks, units));
    ASSERT_EQ(found.cost, least_by_brute_force(traffic, distances)) << ranks << " ranks, " << units << " units";
    ASSERT_EQ(found.bound, found.cost);
  }
}

TEST(DistanceProof, FindsTheOptimumFromABadStart) {
  // Without a good start the walk itself must improve: symmetry and bars may not lose the optimum.
  Rng rng(35);
  for (int k = 0; k < 8; ++k) {
    const bool is_tree = k % 2 == 0;
    const PairTraffic traffic = traffic_of(random_matrix(is_tree ? 7 : 8, 3, 20, rng)).value();
    const Distances distances = is_tree ? tree_distances("2:2:2", "1:3:9").value()
                                        : distances_of(testing::full_ring(8), DistanceKind::hops);
    const AssignmentProblem problem = AssignmentProblem::of(traffic, distances).value();
    std::vector<int> start(8);
    std::iota(start.begin(), start.end(), 0);
    const BranchResult found = branch_and_bound(problem, start, {});
    ASSERT_TRUE(found.proven);
    ASSERT_EQ(static_cast<double>(found.cost) * problem.unit_of_cost, least_by_brute_force(traffic, distances));
  }
}

TEST(DistanceProof, SizesOneTwoThreeFiveEight) {
  Rng rng(36);
  for (const int size : {1, 2, 3, 5, 8}) {
    const PairTraffic traffic = traffic_of(random_matrix(size, 3, 9, rng)).value();
    const Distances distances = random_distances(size, 4, rng);
    EXPECT_EQ(prove(traffic, distances).cost, least_by_brute_force(traffic, distances)) << size;
    const PairTraffic silent = traffic_of(pattern::Matrix{size, {}}).value();
    const DistanceResult nothing = prove(silent, distances);
    EXPECT_TRUE(nothing.proven_optimal);
    EXPECT_EQ(nothing.cost, 0);
  }
}

TEST(DistanceProof, FractionsOfDistance) {
  Rng rng(37);
  const PairTraffic traffic = traffic_of(random_matrix(6, 3, 9, rng)).value();
  Distances distances = random_distances(6, 40, rng);
  for (double& value : distances.at) value /= 4;
  const DistanceResult found = prove(traffic, distances);
  EXPECT_TRUE(found.proven_optimal);
  EXPECT_EQ(found.cost, least_by_brute_force(traffic, distances));
  for (double& value : distances.at) value /= 3;
  DistanceOptions options;
  options.method = Method::branch_and_bound;
  EXPECT_FALSE(search_distance(traffic, distances, options).ok());
  EXPECT_TRUE(search_distance(traffic, distances).ok());
  // Together too fine for 64 bits, whichever comes first.
  for (const double large : {1e15, 1e-6}) {
    const double small = 1e9 / large;
    EXPECT_FALSE(AssignmentProblem::of(traffic_of(pattern::Matrix{2, {{0, 1, 1, 1}}}).value(),
                                       Distances{3, {0, large, small, large, 0, small, small, small, 0}})
                     .has_value());
  }
}

TEST(DistanceProof, Nugent12And14And15) {
  for (const testing::Nugent* instance : {&testing::nug12, &testing::nug14, &testing::nug15}) {
    const DistanceResult found = prove(traffic_of(instance->matrix()).value(), instance->distances());
    EXPECT_TRUE(found.proven_optimal);
    EXPECT_EQ(found.cost, instance->optimum);
  }
}

TEST(DistanceProof, Nugent16b) {
  const DistanceResult found = prove(traffic_of(testing::nug16b.matrix()).value(), testing::nug16b.distances());
  EXPECT_TRUE(found.proven_optimal);
  EXPECT_EQ(found.cost, testing::nug16b.optimum);
}

TEST(DistanceProof, SaysWhatItKnowsWhenItIsStopped) {
  const PairTraffic traffic = traffic_of(testing::nug18.matrix()).value();
  DistanceOptions options;
  options.method = Method::branch_and_bound;
  options.nodes = 500;
  const DistanceResult found = search_distance(traffic, testing::nug18.distances(), options).value();
  EXPECT_FALSE(found.proven_optimal);
  EXPECT_LE(found.bound, testing::nug18.optimum);
  EXPECT_GT(found.bound, 0.8 * testing::nug18.optimum);
  EXPECT_GE(found.cost, testing::nug18.optimum);
  EXPECT_TRUE(is_valid(found.placement.unit_of_rank, 18, 18));
  int asked = 0;
  options.nodes = 5'000'000;
  options.should_stop = [&] { return ++asked == 3; };
  EXPECT_FALSE(search_distance(traffic, testing::nug18.distances(), options).value().proven_optimal);
  EXPECT_EQ(asked, 3);
}

TEST(DistanceSearch, ChoosesByMachineAndSize) {
  Rng rng(38);
  const PairTraffic twenty = traffic_of(random_matrix(20, 3, 50, rng)).value();
  const DistanceResult on_tree = search_distance(twenty, tree_distances("4:6", "1:10").value()).value();
  EXPECT_EQ(on_tree.method, Method::multilevel);
  EXPECT_LE(on_tree.bound, on_tree.cost);
  EXPECT_TRUE(is_valid(on_tree.placement.unit_of_rank, 20, 24));
  const Distances ring = distances_of(testing::full_ring(20), DistanceKind::hops);
  const DistanceResult on_ring = search_distance(twenty, ring).value();
  EXPECT_EQ(on_ring.method, Method::local);
  EXPECT_LE(on_ring.bound, on_ring.cost);
  EXPECT_TRUE(is_valid(on_ring.placement.unit_of_rank, 20, 20));
  DistanceOptions options;
  options.method = Method::multilevel;
  EXPECT_FALSE(search_distance(twenty, ring, options).ok());
}

TEST(DistanceSearch, AChainOnAChainIsProvenByTheSimpleBound) {
  // Pairs on pairs: every rank's only peer is on its nearest unit.
  pattern::Matrix matrix{64, {}};
  for (int rank = 0; rank < 64; rank += 2) matrix.entries.push_back({rank, 63 - rank, 7, 1});
  const DistanceResult found =
      search_distance(traffic_of(matrix).value(), tree_distances("2:32", "1:10").value()).value();
  EXPECT_TRUE(found.proven_optimal);
  EXPECT_EQ(found.cost, 32 * 7);
}

}  // namespace
}  // namespace corewise::place
