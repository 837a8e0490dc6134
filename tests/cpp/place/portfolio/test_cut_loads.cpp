// Cut loads: never above any placement's cost, against enumeration and random placements; and met where a pattern
// fits its machine, which proves it at any size.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "../machines.hpp"
#include "base/rng.hpp"
#include "place/portfolio/cut_loads.hpp"
#include "place/references.hpp"
#include "place/search.hpp"

namespace corewise::place {
namespace {

double busiest_ns(const RoutedShares& shares, const Evaluation& found) {
  double most = 0;
  for (int link = 0; link < shares.links(); ++link) {
    most = std::max(most, shares.time_ns(found.load_parts[static_cast<std::size_t>(link)], link));
  }
  return most;
}

TEST(CutLoads, NoOptimumIsBelow) {
  Rng rng(61);
  for (const char* text : {"mesh:3x2", "pack:2 core:3", "torus:3x3", "pack:2 l3:2 core:2"}) {
    const machine::Machine made = machine::from_synthetic(text).value();
    const RoutedShares shares = RoutedShares::of(made).value();
    const CutLoads cuts(made, shares);
    for (int k = 0; k < 10; ++k) {
      const pattern::Matrix matrix = testing::random_matrix(6, 1 + k % 4, 50, rng);
      SearchOptions options;
      options.method = Method::exhaustive;
      const SearchResult best = search(made, matrix, options).value();
      const double bound = cuts.least_bottleneck_ns(workload(matrix).value());
      EXPECT_LE(bound, best.evaluation.bottleneck_ns * (1 + 1e-9)) << text;
      EXPECT_GT(bound, 0.2 * best.evaluation.bottleneck_ns) << text;
    }
  }
}

TEST(CutLoads, NoPlacementOfManyPhasesIsBelow) {
  Rng rng(62);
  const machine::Machine made = machine::from_synthetic("pack:2 l3:2 core:6").value();
  const RoutedShares shares = RoutedShares::of(made).value();
  const CutLoads cuts(made, shares);
  pattern::Pattern first{"first", 20, {{"a", testing::random_matrix(20, 6, 1000, rng).entries}}};
  first.phases.push_back({"b", testing::random_matrix(20, 3, 9000, rng).entries});
  const std::vector<pattern::Pattern> both{first,
                                           {"second", 20, {{"c", testing::random_matrix(20, 9, 10, rng).entries}}}};
  const Workload work = workload(both, std::vector<double>{1, 2.5}).value();
  const double bottleneck = cuts.least_bottleneck_ns(work);
  EXPECT_GT(bottleneck, 0);
  const Workload plain = workload(first).value();
  const double busiest = cuts.least_busiest_link_ns(plain);
  EXPECT_GT(busiest, 0);
  for (int k = 0; k < 300; ++k) {
    const machine::Placement placement = random_placement(20, 24, rng);
    ASSERT_LE(bottleneck, evaluate(shares, work, placement.unit_of_rank).bottleneck_ns);
    ASSERT_LE(busiest, busiest_ns(shares, evaluate(shares, plain, placement.unit_of_rank)));
  }
}

TEST(CutLoads, WhereItIsMetTheAnswerIsProvenAtAnySize) {
  // All-to-all in groups as large as a chiplet, ranks scrambled: a core's own link decides, and nothing else can.
  const machine::Machine made = machine::from_synthetic("pack:2 l3:8 core:8").value();
  Rng rng(63);
  const std::vector<int> name = random_placement(128, 128, rng).unit_of_rank;
  pattern::Matrix matrix{128, {}};
  for (int a = 0; a < 128; ++a) {
    for (int b = a / 8 * 8; b < a / 8 * 8 + 8; ++b) {
      if (a != b)
        matrix.entries.push_back({name[static_cast<std::size_t>(a)], name[static_cast<std::size_t>(b)], 4096, 1});
    }
  }
  const SearchResult found = search(made, matrix).value();
  EXPECT_TRUE(found.proven_optimal) << found.statement;
  EXPECT_EQ(found.gap(found.cost), 0);
  EXPECT_EQ(found.evaluation.load_bytes(found.evaluation.phases[0].link), 7 * 4096);
  EXPECT_NE(found.statement.find("cuts of the machine"), std::string::npos);
  SearchOptions crowded;
  crowded.proposals = 1;
  const SearchResult other = search(made, testing::random_matrix(128, 4, 9, rng), crowded).value();
  EXPECT_FALSE(other.proven_optimal);
  EXPECT_GT(other.bound, 0);
  EXPECT_LT(other.bound, other.cost);
}

}  // namespace
}  // namespace corewise::place
