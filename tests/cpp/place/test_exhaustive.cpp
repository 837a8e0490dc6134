// Enumeration against all placements without symmetry, over random patterns and machines with and without
// symmetry; the trap of a symmetry that is assumed; the accounting of the proof.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "effort.hpp"
#include "machines.hpp"
#include "place/exhaustive.hpp"

namespace corewise::place {
namespace {

using testing::cell_ring;
using testing::for_every_placement;
using testing::full_ring;
using testing::plain_cost;
using testing::PlainCost;
using testing::random_matrix;
using testing::Tie;

struct Truth {
  std::vector<int> best, worst;
  PlainCost best_cost, worst_cost;
  std::uint64_t optimal_count = 0;
};

/// `cost` of every placement, in lexicographic order.
template <class Cost>
Truth full_enumeration(int units, int ranks, const Cost& cost) {
  Truth truth;
  for_every_placement(units, ranks, [&](const std::vector<int>& placement) {
    const PlainCost now = cost(placement);
    if (truth.best.empty() || now < truth.best_cost) {
      truth.best = placement;
      truth.best_cost = now;
      truth.optimal_count = 0;
    }
    if (now == truth.best_cost) ++truth.optimal_count;
    if (truth.worst.empty() || now > truth.worst_cost) {
      truth.worst = placement;
      truth.worst_cost = now;
    }
  });
  return truth;
}

LinkLoadEnumeration enumeration_of(const machine::Machine& machine, int ranks) {
  const RoutedShares shares = RoutedShares::of(machine).value();
  const Symmetry symmetry(shares);
  return {shares, symmetry, *representatives(symmetry, ranks, 1'000'000)};
}

void expect_best(const ExhaustiveResult& found, const Truth& truth) {
  EXPECT_EQ(found.best.unit_of_rank, truth.best);
  EXPECT_EQ(found.best_score.primary, truth.best_cost.bottleneck_ns);
  EXPECT_EQ(found.best_score.secondary, truth.best_cost.hop_bytes);
  EXPECT_EQ(found.optimal_count, truth.optimal_count);
  EXPECT_EQ(found.optimal.front().unit_of_rank, truth.best);
}

void expect_truth(const LinkLoadEnumeration& enumeration, const Workload& work, const Truth& truth) {
  const ExhaustiveResult complete = enumeration.run(work);
  expect_best(complete, truth);
  ASSERT_TRUE(complete.worst.has_value());
  EXPECT_EQ(complete.worst->unit_of_rank, truth.worst);
  EXPECT_EQ(complete.worst_score.primary, truth.worst_cost.bottleneck_ns);
  EXPECT_EQ(complete.excluded, 0u);
  ExhaustiveOptions best_only;
  best_only.find_worst = false;
  const ExhaustiveResult pruned = enumeration.run(work, best_only);
  expect_best(pruned, truth);
  EXPECT_FALSE(pruned.worst.has_value());
  EXPECT_EQ(pruned.evaluated + pruned.excluded, complete.evaluated);
}

void expect_truth_on_random_patterns(const machine::Machine& machine, int ranks, int patterns,
                                     std::uint64_t most_bytes) {
  SCOPED_TRACE(machine.name + " " + std::to_string(ranks) + " ranks, bytes to " + std::to_string(most_bytes));
  const LinkLoadEnumeration enumeration = enumeration_of(machine, ranks);
  Rng rng(2024);
  for (int k = 0; k < patterns; ++k) {
    const pattern::Matrix matrix = random_matrix(ranks, 3, most_bytes, rng);
    const Truth truth = full_enumeration(static_cast<int>(machine.units.size()), ranks, [&](const auto& placement) {
      return plain_cost(machine, matrix, placement);
    });
    expect_truth(enumeration, workload(matrix).value(), truth);
  }
}

TEST(Exhaustive, EightRanksAgainstAllPlacements) {
  expect_truth_on_random_patterns(full_ring(8), 8, test::effort(12, 2), 10);
  expect_truth_on_random_patterns(full_ring(8, Tie::clockwise), 8, test::effort(6, 1), 10);
  expect_truth_on_random_patterns(full_ring(8, Tie::by_source_parity), 8, test::effort(12, 2), 10);
  expect_truth_on_random_patterns(cell_ring(), 8, test::effort(8, 2), 10);
}

TEST(Exhaustive, EveryWidthOfLoad) {
  // 16-bit, float, double lanes, and past 53 bits the sparse kernel (hop-bytes would round in the plain cost
  // there, so only up to double here).
  for (const std::uint64_t most_bytes : {100ULL, 100'000ULL, 1'000'000'000'000ULL}) {
    expect_truth_on_random_patterns(full_ring(6), 6, 8, most_bytes);
  }
}

TEST(Exhaustive, PastDoublePrecisionStaysExact) {
  // Two placements differ by one byte in 2^60: only integer loads can tell.
  const std::uint64_t big = std::uint64_t{1} << 60U;
  const pattern::Matrix matrix{4, {{0, 1, big, 1}, {0, 2, big + 1, 1}, {3, 0, 3, 1}}};
  const ExhaustiveResult found = enumeration_of(full_ring(4), 4).run(workload(matrix).value());
  EXPECT_EQ(found.evaluated, 3u);
  const Evaluation best =
      evaluate(RoutedShares::of(full_ring(4)).value(), workload(matrix).value(), found.best.unit_of_rank);
  EXPECT_EQ(best.hop_bytes, 2 * big + 1 + 2 * 3);
}

TEST(Exhaustive, FewerRanksThanUnits) {
  for (const int ranks : {1, 2, 3, 5}) {
    expect_truth_on_random_patterns(full_ring(8), ranks, 6, 10);
    expect_truth_on_random_patterns(cell_ring(), ranks, 4, 10);
    expect_truth_on_random_patterns(testing::star(6), ranks, 4, 10);
  }
}

TEST(Exhaustive, MachinesWithoutSymmetryOrWithUnequalLinks) {
  Rng rng(5);
  for (int k = 0; k < 4; ++k) {
    machine::Machine machine = k < 2 ? full_ring(7) : testing::ring(10, {0, 1, 4, 5, 7, 9});
    for (machine::Link& link : machine.links) link.bandwidth_gb_per_s = static_cast<double>(1 + rng.below(8));
    expect_truth_on_random_patterns(machine, 6, 6, 50);
  }
}

TEST(Exhaustive, OrderedPhases) {
  Rng rng(6);
  const machine::Machine machine = full_ring(6);
  const LinkLoadEnumeration enumeration = enumeration_of(machine, 6);
  for (int k = 0; k < 8; ++k) {
    // A bandwidth of 1 would make sums exact anyway; here they agree because both add in the order of phases.
    pattern::Pattern pattern{"", 6, {}};
    std::vector<pattern::Matrix> phases;
    for (int phase = 0; phase < 3; ++phase) {
      phases.push_back(random_matrix(6, 2, 10, rng));
      pattern.phases.push_back({"", phases.back().entries});
    }
    const Truth truth = full_enumeration(6, 6, [&](const auto& placement) {
      PlainCost sum;
      for (const auto& matrix : phases) {
        const PlainCost one = plain_cost(machine, matrix, placement);
        sum.bottleneck_ns += one.bottleneck_ns;
        sum.hop_bytes += one.hop_bytes;
      }
      return sum;
    });
    expect_truth(enumeration, workload(pattern).value(), truth);
  }
}

TEST(Exhaustive, EmptyPatternMakesEveryPlacementOptimal) {
  const ExhaustiveResult found = enumeration_of(full_ring(8), 8).run(workload(pattern::Matrix{8, {}}).value());
  EXPECT_EQ(found.best.unit_of_rank, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(found.optimal_count, 40320u);
  EXPECT_EQ(found.optimal.size(), 16u);
}

TEST(Exhaustive, AssumedSymmetryMissesTheOptimumAndComputedDoesNot) {
  // The trap: 8!/16 placements are enough on a ring that splits ties, not where the source decides the direction.
  const RoutedShares by_parity = RoutedShares::of(full_ring(8, Tie::by_source_parity)).value();
  const Symmetry assumed(RoutedShares::of(full_ring(8)).value());
  const LinkLoadEnumeration naive(by_parity, assumed, *representatives(assumed, 8, 100'000));
  const Symmetry computed(by_parity);
  const LinkLoadEnumeration sound(by_parity, computed, *representatives(computed, 8, 100'000));
  const Symmetry none(RoutedShares::of([] {
                        machine::Machine machine = full_ring(8);
                        machine.links[0].bandwidth_gb_per_s = 20;
                        return machine;
                      }())
                          .value());
  const LinkLoadEnumeration full(by_parity, none, *representatives(none, 8, 100'000));
  Rng rng(1);
  int missed = 0;
  for (int k = 0; k < 100; ++k) {
    const Workload work = workload(random_matrix(8, 3, 10, rng)).value();
    const ExhaustiveResult truth = full.run(work);
    ASSERT_EQ(truth.evaluated, 40320u);
    EXPECT_EQ(sound.run(work).best_score, truth.best_score);
    EXPECT_EQ(sound.run(work).best.unit_of_rank, truth.best.unit_of_rank);
    missed += naive.run(work).best_score.primary > truth.best_score.primary ? 1 : 0;
  }
  EXPECT_GT(missed, 0);
}

TEST(Exhaustive, ProofStatementCounts) {
  Rng rng(4);
  const LinkLoadEnumeration enumeration = enumeration_of(full_ring(8), 8);
  const ExhaustiveResult found = enumeration.run(workload(random_matrix(8, 3, 10, rng)).value());
  EXPECT_EQ(proof_statement(found), "optimal: 2520 placements evaluated, covering all 40320 by a group of 16");
}

TEST(Exhaustive, AnyCostFunction) {
  // A cost that only knows the units: ranks 0 and 1 far apart in number, then rank 2 low.
  const CostFunction cost = [](Assignment unit_of_rank) {
    return Score{-std::abs(static_cast<double>(unit_of_rank[0] - unit_of_rank[1])),
                 static_cast<double>(unit_of_rank[2])};
  };
  const ExhaustiveResult found = exhaustive(cost, all_placements(6, 3), 1);
  EXPECT_EQ(found.best.unit_of_rank, (std::vector<int>{0, 5, 1}));
  EXPECT_EQ(found.optimal_count, 2u);  // and {5, 0, 1}
  EXPECT_EQ(found.evaluated, 120u);
  EXPECT_EQ(found.worst_score, (Score{-1, 5}));
}

}  // namespace
}  // namespace corewise::place
