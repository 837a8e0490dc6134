// Multilevel mapping: always a valid placement, deterministic, the best known cost on regular halos, never worse
// than the better of identity and what one swap can improve. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>

#include "base/rng.hpp"
#include "place/distance/multilevel.hpp"
#include "place/distance/multilevel_graph.hpp"
#include "place/distance/search.hpp"
#include "place/machines.hpp"
#include "place/references.hpp"

namespace corewise::place {
namespace {

/// 27-point halo on an open grid: face 1024, edge 32, corner 1 byte each way between neighbours; the sum of both
/// ways is split so that J counts 1024, 32 and 1 per pair, as in the literature's tables.
pattern::Matrix halo(int nx, int ny, int nz) {
  pattern::Matrix matrix{nx * ny * nz, {}};
  const auto name = [&](int x, int y, int z) { return (x * ny + y) * nz + z; };
  for (int rank = 0; rank < matrix.ranks; ++rank) {
    const int x = rank / (ny * nz);
    const int y = rank / nz % ny;
    const int z = rank % nz;
    for (int step = 0; step < 27; ++step) {
      const int dx = step / 9 - 1;
      const int dy = step / 3 % 3 - 1;
      const int dz = step % 3 - 1;
      const bool inside = x + dx >= 0 && x + dx < nx && y + dy >= 0 && y + dy < ny && z + dz >= 0 && z + dz < nz;
      if (!inside || name(x + dx, y + dy, z + dz) <= rank) continue;
      const int away = std::abs(dx) + std::abs(dy) + std::abs(dz);
      const std::uint64_t bytes = away == 1 ? 1024 : away == 2 ? 32 : 1;
      matrix.entries.push_back({rank, name(x + dx, y + dy, z + dz), bytes, 1});
    }
  }
  return matrix;
}

bool is_valid(const std::vector<int>& unit_of_rank, int ranks, int units) {
  const std::set<int> used(unit_of_rank.begin(), unit_of_rank.end());
  return static_cast<int>(unit_of_rank.size()) == ranks && static_cast<int>(used.size()) == ranks &&
         *used.begin() >= 0 && *used.rbegin() < units;
}

MultilevelResult mapped(const pattern::Matrix& matrix, const Tree& tree, std::uint64_t seed = 1, int effort = 1) {
  const PairTraffic traffic = traffic_of(matrix).value();
  MultilevelResult result = multilevel(traffic, tree, {seed, effort}).value();
  EXPECT_TRUE(is_valid(result.placement.unit_of_rank, matrix.ranks, tree.units()));
  EXPECT_EQ(result.cost, weighted_distance(traffic, tree.matrix(), result.placement.unit_of_rank));
  return result;
}

TEST(Multilevel, ThousandRanksAtTheBestKnownCost) {
  // The best that Scotch, SharedMap and annealing found (shared research note): 91694960.
  const Tree tree = Tree::from_text("4:8:32", "1:10:100").value();
  EXPECT_LE(mapped(halo(16, 8, 8), tree).cost, 91694960);
}

TEST(Multilevel, SmallerHalosAtTheBestKnownCost) {
  EXPECT_LE(mapped(halo(4, 2, 2), Tree::from_text("4:4", "1:10").value()).cost, 147320);
  EXPECT_LE(mapped(halo(4, 4, 4), Tree::from_text("4:8:2", "1:10:100").value()).cost, 2561760);
  EXPECT_LE(mapped(halo(8, 8, 4), Tree::from_text("4:8:8", "1:10:100").value()).cost, 17456240);
  EXPECT_LE(mapped(halo(12, 8, 5), Tree::from_text("4:6:20", "1:10:100").value()).cost, 41712000);
}

TEST(Multilevel, MoreEffortIsNoWorseOnAHaloThatDoesNotFit) {
  const Tree tree = Tree::from_text("4:6:9", "1:10:100").value();
  const pattern::Matrix matrix = halo(6, 6, 6);
  const double once = mapped(matrix, tree).cost;
  EXPECT_LE(mapped(matrix, tree, 1, 4).cost, once);
  EXPECT_LT(once, 0.7 * 26347856);  // identity
}

TEST(Multilevel, ValidForEverySizeAndShape) {
  Rng rng(41);
  const Tree tree = Tree::from_text("2:3:2", "1:10:100").value();
  for (const int ranks : {1, 2, 3, 5, 7, 11, 12}) {
    for (int effort = 1; effort <= 2; ++effort) {
      mapped(testing::random_matrix(ranks, 3, 100, rng), tree, 1, effort);
      EXPECT_EQ(mapped(pattern::Matrix{ranks, {}}, tree, 1, effort).cost, 0);
    }
  }
  EXPECT_EQ(mapped(pattern::Matrix{1, {{0, 0, 5, 1}}}, Tree::from_text("1", "1").value()).cost, 0);
  EXPECT_EQ(mapped(pattern::Matrix{2, {{0, 1, 5, 1}}}, Tree::from_text("1:1:2", "1:2:3").value()).cost, 15);
}

TEST(Multilevel, DisconnectedPartsEachFitTheirNode) {
  // Eight cliques of four, ranks dealt out: every clique must end up on one group of four units.
  pattern::Matrix matrix{32, {}};
  for (int a = 0; a < 32; ++a) {
    for (int b = a + 8; b < 32; b += 8) matrix.entries.push_back({a, b, 10, 1});
  }
  EXPECT_EQ(mapped(matrix, Tree::from_text("4:8", "1:10").value()).cost, 8 * 6 * 10);
}

TEST(Multilevel, FewRanksShareOneNode) {
  // Six ranks, nodes of eight: an all-to-all of so few ranks belongs on one node.
  pattern::Matrix matrix{6, {}};
  for (int a = 0; a < 6; ++a) {
    for (int b = a + 1; b < 6; ++b) matrix.entries.push_back({a, b, 1, 1});
  }
  EXPECT_EQ(mapped(matrix, Tree::from_text("8:4", "1:100").value()).cost, 15);
}

TEST(Multilevel, AllToAllCostsTheSameEverywhere) {
  pattern::Matrix matrix{48, {}};
  for (int a = 0; a < 48; ++a) {
    for (int b = a + 1; b < 48; ++b) matrix.entries.push_back({a, b, 3, 1});
  }
  const Tree tree = Tree::from_text("4:6:2", "1:10:100").value();
  const double expected = 3.0 * (48 * 3 / 2 * 1 + 48 * 20 / 2 * 10 + 24 * 24 * 100);
  EXPECT_EQ(mapped(matrix, tree).cost, expected);
}

TEST(Multilevel, UnequalGroups) {
  // Groups of 5 and 4 units in one node, 8 in the other; cliques of 8, 5 and 4 fit exactly.
  const std::vector<int> group{0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2};
  const std::vector<int> clique{2, 0, 1, 2, 0, 2, 2, 1, 0, 2, 2, 0, 1, 2, 0, 2, 1};
  Distances distances{17, {}};
  pattern::Matrix matrix{17, {}};
  for (int a = 0; a < 17; ++a) {
    for (int b = 0; b < 17; ++b) {
      const auto row = static_cast<std::size_t>(a);
      const auto column = static_cast<std::size_t>(b);
      const bool one_node = (group[row] == 2) == (group[column] == 2);
      distances.at.push_back(a == b ? 0 : group[row] == group[column] ? 1 : one_node ? 10 : 100);
      if (a < b && clique[row] == clique[column]) matrix.entries.push_back({a, b, 1, 1});
    }
  }
  EXPECT_EQ(mapped(matrix, Tree::from_distances(distances).value(), 1, 4).cost, 28 + 10 + 6);
}

TEST(Multilevel, SameInputSameResult) {
  Rng rng(42);
  const pattern::Matrix matrix = testing::random_matrix(60, 4, 100, rng);
  const Tree tree = Tree::from_text("4:4:4", "1:10:100").value();
  EXPECT_EQ(mapped(matrix, tree, 7, 2).placement.unit_of_rank, mapped(matrix, tree, 7, 2).placement.unit_of_rank);
}

TEST(Multilevel, SeldomFarFromTheProvenOptimum) {
  Rng rng(43);
  const Tree tree = Tree::from_text("2:2:2", "1:10:100").value();
  double found = 0;
  double least = 0;
  for (int k = 0; k < 10; ++k) {
    const pattern::Matrix matrix = testing::random_matrix(8, 3, 10, rng);
    found += mapped(matrix, tree, 1, 4).cost;
    DistanceOptions options;
    options.method = Method::branch_and_bound;
    const DistanceResult proven = search_distance(traffic_of(matrix).value(), tree.matrix(), options).value();
    ASSERT_TRUE(proven.proven_optimal);
    least += proven.cost;
  }
  EXPECT_GE(found, least);
  EXPECT_LE(found, 1.02 * least);
}

TEST(Multilevel, MoreRanksThanUnitsIsAnError) {
  const Tree tree = Tree::from_text("2:2", "1:10").value();
  const PairTraffic traffic = traffic_of(pattern::Matrix{5, {}}).value();
  EXPECT_EQ(multilevel(traffic, tree).status().message(), "field 'ranks': found 5, allowed: 1..4");
}

TEST(MultilevelGraph, BisectionIsExactAndRefinementNeverLoses) {
  Rng rng(44);
  for (int k = 0; k < 40; ++k) {
    const int vertices = 2 + static_cast<int>(rng.below(120));
    const PairTraffic traffic = traffic_of(testing::random_matrix(vertices, 2, 9, rng)).value();
    SplitGraph graph;
    graph.vertex_weight.assign(static_cast<std::size_t>(vertices), 1);
    for (int v = 0; v < vertices; ++v) {
      for (const PairTraffic::Peer& peer : traffic.peers_of(v)) graph.edges.push_back({peer.rank, peer.bytes});
      graph.first.push_back(static_cast<int>(graph.edges.size()));
    }
    const int weight0 = static_cast<int>(rng.below(static_cast<std::uint64_t>(vertices) + 1));
    Sides sides = bisect(graph, weight0, {}, rng);
    ASSERT_EQ(std::count(sides.begin(), sides.end(), 0), weight0);
    rng.shuffle(std::span(sides));
    const std::int64_t before = cut_of(graph, sides);
    const std::int64_t gained = refine(graph, weight0, sides);
    ASSERT_GE(gained, 0);
    ASSERT_EQ(cut_of(graph, sides), before - gained);
    ASSERT_EQ(std::count(sides.begin(), sides.end(), 0), weight0);
  }
}

}  // namespace
}  // namespace corewise::place
