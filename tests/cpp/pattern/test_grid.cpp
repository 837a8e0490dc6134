// Grids and factorisations against brute force over all tuples.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "pattern/grid.hpp"

namespace cp = corewise::pattern;

namespace {

/// Every tuple of `axes` factors of at least `least`, in lexicographic order, by trying all numbers.
std::vector<std::vector<int>> all_tuples(int ranks, int axes, int least) {
  if (axes == 1) return ranks >= least ? std::vector<std::vector<int>>{{ranks}} : std::vector<std::vector<int>>{};
  std::vector<std::vector<int>> all;
  for (int first = least; first <= ranks; ++first) {
    if (ranks % first != 0) continue;
    for (auto rest : all_tuples(ranks / first, axes - 1, least)) {
      rest.insert(rest.begin(), first);
      all.push_back(rest);
    }
  }
  return all;
}

}  // namespace

TEST(Grid, BalancedDimsAreTheSmallestSortedTuple) {
  for (int ranks = 1; ranks <= 200; ++ranks) {
    for (int axes = 1; axes <= 3; ++axes) {
      auto tuples = all_tuples(ranks, axes, 1);
      for (auto& tuple : tuples) std::sort(tuple.rbegin(), tuple.rend());
      EXPECT_EQ(cp::balanced_dims(ranks, axes), *std::min_element(tuples.begin(), tuples.end())) << ranks;
    }
  }
  EXPECT_EQ(cp::balanced_dims(8, 3), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(cp::balanced_dims(12, 2), (std::vector<int>{4, 3}));
  EXPECT_EQ(cp::balanced_dims(7, 3), (std::vector<int>{7, 1, 1}));
  EXPECT_EQ(cp::balanced_dims(36, 3), (std::vector<int>{4, 3, 3}));
}

TEST(Grid, FilledDimsKeepWhatIsGiven) {
  EXPECT_EQ(cp::filled_dims(24, {0, 3, 0}), (std::vector<int>{4, 3, 2}));
  EXPECT_EQ(cp::filled_dims(24, {4, 6}), (std::vector<int>{4, 6}));
  EXPECT_TRUE(cp::filled_dims(24, {5, 0}).empty());
  EXPECT_TRUE(cp::filled_dims(24, {4, 5}).empty());
  EXPECT_TRUE(cp::filled_dims(24, {4, 3}).empty());
}

TEST(Grid, OrderedFactorisationsAreAllOfThem) {
  for (int ranks = 1; ranks <= 128; ++ranks) {
    for (int axes = 1; axes <= 3; ++axes) {
      EXPECT_EQ(cp::ordered_factorisations(ranks, axes), all_tuples(ranks, axes, 2)) << ranks << " " << axes;
    }
  }
}

TEST(Grid, LastAxisRunsFastest) {
  const cp::Grid grid{{2, 3, 4}};
  EXPECT_EQ(grid.ranks(), 24);
  EXPECT_EQ(grid.coordinates(1), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(grid.coordinates(23), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(grid.rank({1, 0, 2}), 14);
  for (int rank = 0; rank < grid.ranks(); ++rank) EXPECT_EQ(grid.rank(grid.coordinates(rank)), rank);
  EXPECT_EQ(cp::dims_text(grid.dims), "2x3x4");
}
