// The front of the room: the choice of method, the honesty of its label, references, errors.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "machines.hpp"
#include "place/search.hpp"

namespace corewise::place {
namespace {

using testing::full_ring;
using testing::random_matrix;

TEST(Search, EightRanksAreProven) {
  Rng rng(31);
  const machine::Machine machine = full_ring(8);
  const pattern::Matrix matrix = random_matrix(8, 3, 10, rng);
  SearchOptions options;
  options.find_worst = true;
  const auto result = search(machine, matrix, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const SearchResult& found = result.value();
  EXPECT_TRUE(found.proven_optimal);
  EXPECT_EQ(found.method, Method::exhaustive);
  EXPECT_EQ(found.statement, "optimal: 2520 placements evaluated, covering all 40320 by a group of 16");
  ASSERT_TRUE(found.worst.has_value());
  EXPECT_TRUE(found.worst->proven);
  EXPECT_EQ(found.evaluation.bottleneck_ns,
            testing::plain_cost(machine, matrix, found.placement.unit_of_rank).bottleneck_ns);
  EXPECT_GE(found.worst->score.primary, found.evaluation.bottleneck_ns);
  options.find_worst = false;
  const auto pruned = search(machine, matrix, options);
  EXPECT_EQ(pruned.value().placement.unit_of_rank, found.placement.unit_of_rank);
  EXPECT_FALSE(pruned.value().worst.has_value());
}

TEST(Search, MoreRanksAreNotProvenAndSaySo) {
  Rng rng(32);
  const machine::Machine machine = full_ring(12);
  const pattern::Matrix matrix = random_matrix(12, 3, 10, rng);
  SearchOptions options;
  options.find_worst = true;
  options.local_evaluations = 20'000;
  options.method = Method::local;
  const auto result = search(machine, matrix, options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result.value().proven_optimal);
  EXPECT_GT(result.value().bound, 0);
  EXPECT_LE(result.value().bound, result.value().evaluation.bottleneck_ns);
  EXPECT_EQ(result.value().method, Method::local);
  EXPECT_EQ(result.value().statement, "not proven: best of 20000 placements of a local search");
  EXPECT_FALSE(result.value().worst->proven);
  std::vector<int> identity(12);
  for (int rank = 0; rank < 12; ++rank) identity[static_cast<std::size_t>(rank)] = rank;
  const double identity_ns = testing::plain_cost(machine, matrix, identity).bottleneck_ns;
  EXPECT_LE(result.value().evaluation.bottleneck_ns, identity_ns);
  EXPECT_GE(result.value().worst->score.primary, identity_ns);
  EXPECT_TRUE(machine::check(result.value().placement, machine).ok());
}

TEST(Search, FewRanksOnManyUnitsAreBoundedWhereTheyAreTooManyToEnumerate) {
  const pattern::Matrix matrix{8, {{0, 7, 10, 1}}};
  const auto result = search(full_ring(24), matrix);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().method, Method::branch_and_bound);
  EXPECT_TRUE(result.value().proven_optimal);
  SearchOptions options;
  options.method = Method::exhaustive;
  const auto refused = search(full_ring(24), matrix, options);
  EXPECT_NE(refused.status().message().find("more than 2000000 placements"), std::string::npos);
}

TEST(Search, PhasesAreJudgedOneAfterAnother) {
  // In order, a half-way transfer alone costs 5 ns (split) and one to a neighbour 10 ns: 15 is least. Summed, the
  // halves share a link with the other message, and both ranks do better beside rank 0: 10.
  const pattern::Pattern pattern{"", 3, {{"a", {{0, 1, 256, 1}}}, {"b", {{0, 2, 256, 1}}}}};
  const machine::Machine machine = full_ring(4);
  const auto phased = search(machine, pattern);
  ASSERT_TRUE(phased.ok());
  EXPECT_TRUE(phased.value().proven_optimal);
  EXPECT_DOUBLE_EQ(phased.value().evaluation.bottleneck_ns, 15.0);
  EXPECT_EQ(phased.value().placement.unit_of_rank, (std::vector<int>{0, 1, 2}));
  const auto summed = search(machine, pattern::sum(pattern));
  EXPECT_DOUBLE_EQ(summed.value().evaluation.bottleneck_ns, 10.0);
  EXPECT_EQ(summed.value().placement.unit_of_rank, (std::vector<int>{0, 1, 3}));
}

TEST(Search, MoreRanksThanUnitsIsOneClearError) {
  const auto result = search(full_ring(8), pattern::Matrix{9, {}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::invalid_input);
  EXPECT_EQ(result.status().message(),
            "field 'ranks': found 9, allowed: at most 8 (one rank per unit of the machine)");
}

TEST(Searcher, IsReusableForManyPatterns) {
  Rng rng(33);
  auto searcher = Searcher::of(full_ring(8));
  ASSERT_TRUE(searcher.ok());
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const pattern::Matrix matrix = random_matrix(ranks, 2, 10, rng);
    const auto reused = searcher.value().search(matrix);
    const auto fresh = search(full_ring(8), matrix);
    ASSERT_TRUE(reused.ok());
    EXPECT_EQ(reused.value().placement.unit_of_rank, fresh.value().placement.unit_of_rank);
    EXPECT_TRUE(reused.value().proven_optimal);
  }
  EXPECT_EQ(searcher.value().symmetry().order(), 16u);
}

}  // namespace
}  // namespace corewise::place
