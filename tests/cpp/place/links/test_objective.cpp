// Loads, bottlenecks and hop-bytes against numbers worked out by hand and against the plain evaluation; merging;
// incremental loads against fresh ones.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "place/links/link_load_cost.hpp"
#include "place/links/objective.hpp"
#include "place/machines.hpp"
#include "place/references.hpp"

namespace corewise::place {
namespace {

using testing::cell_ring;
using testing::full_ring;
using testing::plain_cost;
using testing::random_matrix;
using testing::Tie;

pattern::Matrix matrix_of(int ranks, std::vector<pattern::Message> entries) {
  return {ranks, std::move(entries)};
}

TEST(Objective, HalfWayTransferIsSplitOverBothDirections) {
  const machine::Machine machine = full_ring(8);
  const auto result = evaluate(machine, matrix_of(2, {{0, 1, 101, 1}}), machine::Placement{{0, 4}});
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Evaluation& evaluation = result.value();
  EXPECT_EQ(evaluation.parts_per_byte, 2u);
  // Clockwise links 0 to 3 and counter-clockwise links over stops 7 to 4: 50.5 bytes each, exactly.
  for (const int link : {0, 1, 2, 3, 8 + 7, 8 + 6, 8 + 5, 8 + 4}) {
    EXPECT_EQ(evaluation.load_parts[static_cast<std::size_t>(link)], 101u) << link;
    EXPECT_EQ(evaluation.load_bytes(link), 50.5) << link;
  }
  for (const int link : {4, 5, 6, 7, 8, 9, 10, 11}) EXPECT_EQ(evaluation.load_bytes(link), 0.0) << link;
  EXPECT_DOUBLE_EQ(evaluation.bottleneck_ns, 50.5 / 25.6);
  EXPECT_EQ(evaluation.phases.at(0).link, 0);
  EXPECT_EQ(evaluation.phases.at(0).bytes, 50.5);
  EXPECT_EQ(evaluation.hop_bytes, 404u);
}

TEST(Objective, SharedLinkAddsUp) {
  // 0>2 crosses clockwise links 0 and 1, 1>3 crosses 1 and 2: link 1 carries both.
  const machine::Machine machine = full_ring(8);
  const auto result =
      evaluate(machine, matrix_of(4, {{0, 2, 256, 1}, {1, 3, 512, 7}, {2, 2, 99999, 1}, {3, 0, 0, 1}}),
               machine::Placement{{0, 1, 2, 3}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().phases.at(0).link, 1);
  EXPECT_EQ(result.value().phases.at(0).bytes, 768.0);
  EXPECT_DOUBLE_EQ(result.value().bottleneck_ns, 30.0);
  EXPECT_EQ(result.value().hop_bytes, 2u * 256 + 2u * 512);
}

TEST(Objective, SlowLinkDecidesBeforeBusyLink) {
  machine::Machine machine = full_ring(8);
  machine.links[4].bandwidth_gb_per_s = 1.0;
  const auto result =
      evaluate(machine, matrix_of(4, {{0, 1, 2560, 1}, {2, 3, 200, 1}}), machine::Placement{{0, 1, 4, 5}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().phases.at(0).link, 4);
  EXPECT_DOUBLE_EQ(result.value().bottleneck_ns, 200.0);
}

TEST(Objective, PhasesAddTheirBottlenecks) {
  pattern::Pattern pattern;
  pattern.ranks = 3;
  pattern.phases = {{"a", {{0, 1, 256, 1}}}, {"empty", {}}, {"b", {{0, 1, 128, 1}, {0, 2, 512, 1}}}};
  const auto result = evaluate(full_ring(8), pattern, machine::Placement{{0, 1, 2}});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.value().phases.size(), 3u);
  EXPECT_DOUBLE_EQ(result.value().phases[0].time_ns, 10.0);
  EXPECT_EQ(result.value().phases[1].link, -1);
  EXPECT_DOUBLE_EQ(result.value().phases[2].time_ns, 25.0);
  EXPECT_DOUBLE_EQ(result.value().bottleneck_ns, 35.0);
  EXPECT_EQ(result.value().load_bytes(0), 256.0 + 128 + 512);
}

TEST(Objective, EqualsPlainEvaluationOnRandomPatterns) {
  Rng rng(7);
  for (const machine::Machine& machine : {full_ring(8), full_ring(8, Tie::clockwise), full_ring(9), cell_ring()}) {
    SCOPED_TRACE(machine.name);
    for (int k = 0; k < 50; ++k) {
      const pattern::Matrix matrix = random_matrix(7, 4, 1000, rng);
      const auto placement = random_placement(7, static_cast<int>(machine.units.size()), rng);
      const auto result = evaluate(machine, matrix, placement);
      ASSERT_TRUE(result.ok());
      const testing::PlainCost plain = plain_cost(machine, matrix, placement.unit_of_rank);
      EXPECT_DOUBLE_EQ(result.value().bottleneck_ns, plain.bottleneck_ns);
      EXPECT_DOUBLE_EQ(static_cast<double>(result.value().hop_bytes), plain.hop_bytes);
    }
  }
}

TEST(Objective, UserErrorsNameTheField) {
  const machine::Machine machine = full_ring(8);
  const auto nine = evaluate(machine, matrix_of(9, {}), machine::Placement{{0, 1, 2, 3, 4, 5, 6, 7, 8}});
  ASSERT_FALSE(nine.ok());
  EXPECT_EQ(nine.status().code(), Code::invalid_input);
  EXPECT_EQ(nine.status().message(),
            "field 'ranks': found 9, allowed: at most 8 (one rank per unit of the machine)");
  EXPECT_FALSE(evaluate(machine, matrix_of(0, {}), machine::Placement{}).ok());
  const auto stray = evaluate(machine, matrix_of(2, {{0, 2, 1, 1}}), machine::Placement{{0, 1}});
  ASSERT_FALSE(stray.ok());
  EXPECT_EQ(stray.status().message(), "field 'matrix.entries': found rank 2, allowed: ranks 0 to 1");
  EXPECT_FALSE(evaluate(machine, matrix_of(2, {{0, -1, 1, 1}}), machine::Placement{{0, 1}}).ok());
  EXPECT_FALSE(evaluate(machine, matrix_of(2, {}), machine::Placement{{0, 1, 2}}).ok());
  EXPECT_FALSE(evaluate(machine, matrix_of(2, {}), machine::Placement{{3, 3}}).ok());
  const std::uint64_t huge = std::uint64_t{1} << 63U;
  EXPECT_FALSE(evaluate(machine, matrix_of(2, {{0, 1, huge, 1}}), machine::Placement{{0, 1}}).ok());
  EXPECT_FALSE(
      evaluate(machine, matrix_of(2, {{0, 1, huge, 1}, {0, 1, huge, 1}}), machine::Placement{{0, 1}}).ok());
}

TEST(Merging, ChainsThroughStopsWithoutUnitsBecomeOneLink) {
  // 12 links a direction, two chains of three each become one: 8 a direction are left.
  const RoutedShares merged = RoutedShares::of(cell_ring()).value().merged();
  EXPECT_EQ(merged.links(), 16);
  EXPECT_EQ(merged.hops(0, 1), 3);  // hops stay those of the ring as built
}

TEST(Merging, KeepsTheLeastBandwidthAndEveryBottleneck) {
  machine::Machine machine = cell_ring();
  machine.links[11].bandwidth_gb_per_s = 3.0;  // MIC > PPE, within the chain from SPE0 to SPE1
  const RoutedShares shares = RoutedShares::of(machine).value();
  const RoutedShares merged = shares.merged();
  EXPECT_FALSE(merged.has_uniform_bandwidth());
  Rng rng(3);
  for (int k = 0; k < 50; ++k) {
    const Workload work = workload(random_matrix(8, 3, 100, rng)).value();
    const auto placement = random_placement(8, 8, rng);
    EXPECT_EQ(evaluate(shares, work, placement.unit_of_rank).bottleneck_ns,
              evaluate(merged, work, placement.unit_of_rank).bottleneck_ns);
  }
}

TEST(LinkLoadCost, FollowsEveryMoveExactly) {
  Rng rng(11);
  pattern::Pattern pattern;
  pattern.ranks = 6;
  for (int phase = 0; phase < 3; ++phase) {
    pattern.phases.push_back({"", random_matrix(6, 3, 1000, rng).entries});
  }
  for (const machine::Machine& machine : {full_ring(8), cell_ring(), testing::star(7)}) {
    const RoutedShares shares = RoutedShares::of(machine).value();
    const Workload work = workload(pattern).value();
    LinkLoadCost cost(shares, work);
    for (int k = 0; k < 300; ++k) {
      const auto rank = static_cast<int>(rng.below(6));
      cost.relocate(rank, static_cast<int>(rng.below(machine.units.size())));
      const Evaluation fresh = evaluate(shares, work, cost.assignment());
      ASSERT_EQ(cost.score().primary, fresh.bottleneck_ns);
      ASSERT_EQ(cost.score().secondary, static_cast<double>(fresh.hop_bytes));
      const machine::Placement now{{cost.assignment().begin(), cost.assignment().end()}};
      ASSERT_TRUE(machine::check(now, machine).ok());
    }
  }
}

TEST(LinkLoadCost, MovingBackUndoes) {
  Rng rng(12);
  LinkLoadCost cost(RoutedShares::of(full_ring(8)).value(), workload(random_matrix(8, 3, 9, rng)).value());
  const Score before = cost.score();
  cost.relocate(2, 5);
  EXPECT_EQ(cost.assignment()[5], 2);
  cost.relocate(2, 2);
  EXPECT_EQ(cost.score(), before);
  EXPECT_EQ(cost.assignment()[5], 5);
}

}  // namespace
}  // namespace corewise::place
