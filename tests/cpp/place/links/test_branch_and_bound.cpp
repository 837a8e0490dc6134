// Branch and bound and its bounds against the plain evaluation of every placement: random machines' tie rules,
// phases, weights, fewer ranks than units; symmetries of patterns; what a closed tree says.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "place/links/assignment_bounds.hpp"
#include "place/links/branch_and_bound.hpp"
#include "place/links/placing_order.hpp"
#include "place/machines.hpp"
#include "place/search.hpp"

namespace corewise::place {
namespace {

using testing::for_every_placement;
using testing::full_ring;
using testing::random_matrix;
using testing::Tie;

/// Random, or built to have symmetries of its own: equal messages round a ring, to all, to opposite ranks.
pattern::Pattern random_pattern(int ranks, Rng& rng) {
  pattern::Pattern made{"random", ranks, {}};
  const std::uint64_t phases = 1 + rng.below(3);
  for (std::uint64_t phase = 0; phase < phases; ++phase) {
    std::vector<pattern::Message> messages;
    const std::uint64_t kind = rng.below(5);
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        const bool sends = kind == 0   ? to == (from + 1) % ranks
                           : kind == 1 ? true
                           : kind == 2 ? (from ^ 1) == to
                           : kind == 3 ? from == 0
                                       : false;
        if (from != to && sends) messages.push_back({from, to, 12, 1});
      }
    }
    if (kind == 4) messages = random_matrix(ranks, 2, 6, rng).entries;
    made.phases.push_back({"", std::move(messages)});
  }
  return made;
}

machine::Machine random_machine(Rng& rng) {
  switch (rng.below(6)) {
    case 0:
      return full_ring(6, Tie::by_source_parity);
    case 1:
      return full_ring(6, Tie::split);
    case 2:
      return full_ring(5, Tie::clockwise);
    case 3:
      return testing::ring(9, {0, 1, 3, 4, 7, 7});
    case 4:
      return testing::star(5);
    default: {
      machine::Machine slow = testing::ring(7, {6, 1, 2, 5, 3});
      slow.links[2].bandwidth_gb_per_s = 7;
      slow.links[9].bandwidth_gb_per_s = 50;
      return slow;
    }
  }
}

struct Instance {
  machine::Machine machine;
  RoutedShares shares;
  Workload work;
  double least_ns = std::numeric_limits<double>::infinity();
};

Instance random_instance(Rng& rng) {
  machine::Machine machine = random_machine(rng);
  const int units = static_cast<int>(machine.units.size());
  const int ranks = 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(units)));
  std::vector<pattern::Pattern> patterns{random_pattern(ranks, rng)};
  std::vector<double> weights{1};
  if (rng.below(2) == 0) {
    patterns.push_back(random_pattern(ranks, rng));
    weights = {0.5, 3.25};
  }
  Instance made{machine, RoutedShares::of(machine).value(), workload(patterns, weights).value()};
  for_every_placement(units, ranks, [&](const std::vector<int>& unit_of_rank) {
    double cost = 0;  // from the route table, no code of the room
    std::size_t phase = 0;
    for (std::size_t k = 0; k < patterns.size(); ++k) {
      for (const pattern::Phase& each : patterns[k].phases) {
        const pattern::Matrix matrix{ranks, each.messages};
        cost += weights[k] * testing::plain_cost(machine, matrix, unit_of_rank).bottleneck_ns;
        ++phase;
      }
    }
    made.least_ns = std::min(made.least_ns, cost);
  });
  return made;
}

machine::Placement identity(int ranks) {
  machine::Placement placement;
  for (int rank = 0; rank < ranks; ++rank) placement.unit_of_rank.push_back(rank);
  return placement;
}

TEST(BranchAndBound, FindsTheLeastCostOfRandomInstances) {
  Rng rng(601);
  for (int k = 0; k < 600; ++k) {
    const Instance made = random_instance(rng);
    BranchAndBound tree(made.machine, made.shares, Symmetry(made.shares), made.work);
    const BranchAndBoundResult found = tree.minimise(identity(made.work.ranks), {});
    ASSERT_TRUE(found.closed) << k;
    const double found_ns = evaluate(made.shares, made.work, found.best.unit_of_rank).bottleneck_ns;
    ASSERT_NEAR(found_ns, made.least_ns, 1e-9 * made.least_ns) << k;
    ASSERT_TRUE(machine::check(found.best, made.machine).ok());
    ASSERT_LE(tree.root_ns(), made.least_ns * (1 + 1e-9)) << k;
  }
}

TEST(BranchAndBound, ATreeClosesAtTheOptimumAndNotAbove) {
  Rng rng(602);
  int trees = 0;
  for (int k = 0; k < 200; ++k) {
    const Instance made = random_instance(rng);
    if (made.least_ns <= 0) continue;
    BranchAndBound tree(made.machine, made.shares, Symmetry(made.shares), made.work);
    const auto closed = tree.close(made.least_ns * (1 - 1e-12), 1'000'000);
    ASSERT_TRUE(closed.has_value()) << k;
    EXPECT_FALSE(closed->letters.empty());
    EXPECT_FALSE(tree.close(made.least_ns * 1.001, 1'000'000).has_value()) << k;
    if (closed->letters.size() > 1) {
      const auto shorter = tree.close(made.least_ns * (1 - 1e-12), closed->letters.size() - 1);
      if (shorter) {
        EXPECT_LT(shorter->letters.size(), closed->letters.size());
      }
      ++trees;
    }
  }
  EXPECT_GT(trees, 50);
}

TEST(BranchAndBound, ABudgetGivesAValidBound) {
  Rng rng(603);
  int open = 0;
  for (int k = 0; k < 200; ++k) {
    const Instance made = random_instance(rng);
    BranchAndBound tree(made.machine, made.shares, Symmetry(made.shares), made.work);
    const BranchAndBoundResult found = tree.minimise(identity(made.work.ranks), {12, {}});
    const double found_ns = evaluate(made.shares, made.work, found.best.unit_of_rank).bottleneck_ns;
    ASSERT_LE(found.bound_ns, made.least_ns * (1 + 1e-9)) << k;
    ASSERT_GE(found_ns, made.least_ns * (1 - 1e-9));
    open += found.closed ? 0 : 1;
  }
  EXPECT_GT(open, 10);
}

TEST(BranchAndBound, SplitByACutItFindsTheSame) {
  Rng rng(609);
  int split = 0;
  for (int k = 0; k < 400; ++k) {
    const Instance made = random_instance(rng);
    BranchAndBound tree(made.machine, made.shares, Symmetry(made.shares), made.work);
    BranchAndBoundOptions options;
    options.plain_nodes = 0;
    const BranchAndBoundResult found = tree.minimise(identity(made.work.ranks), options);
    ASSERT_TRUE(found.closed) << k;
    const double found_ns = evaluate(made.shares, made.work, found.best.unit_of_rank).bottleneck_ns;
    ASSERT_NEAR(found_ns, made.least_ns, 1e-9 * made.least_ns) << k;
    if (made.least_ns <= 0) continue;
    const auto closed = tree.close(made.least_ns * (1 - 1e-12), 1'000'000, 0);
    ASSERT_TRUE(closed.has_value()) << k;
    split += closed->split >= 0 ? 1 : 0;
    EXPECT_FALSE(tree.close(made.least_ns * 1.001, 1'000'000, 0).has_value()) << k;
  }
  EXPECT_GT(split, 50);
}

TEST(BranchAndBound, StopsWhenAsked) {
  Rng rng(604);
  const machine::Machine machine = full_ring(16);
  const RoutedShares shares = RoutedShares::of(machine).value();
  const Workload work = workload(random_matrix(16, 4, 50, rng)).value();
  BranchAndBound tree(machine, shares, Symmetry(shares), work);
  int asked = 0;
  const BranchAndBoundResult found =
      tree.minimise(identity(16), {std::uint64_t{1} << 40U, [&asked] { return ++asked > 20; }});
  EXPECT_FALSE(found.closed);
  EXPECT_LT(found.nodes, 40U * 1024U);
  EXPECT_GT(found.bound_ns, 0);
}

TEST(BranchAndBound, UsableSymmetriesAreSymmetries) {
  for (const machine::Machine& machine : {full_ring(8), testing::star(9), testing::cell_ring()}) {
    const RoutedShares shares = RoutedShares::of(machine).value();
    const Symmetry symmetry(shares);
    const std::vector<UnitPermutation> usable = usable_symmetries(symmetry);
    EXPECT_GT(usable.size(), 1U);
    for (const UnitPermutation& each : usable) EXPECT_TRUE(symmetry.contains(each));
  }
}

TEST(PatternSymmetry, GeneratorsAreSymmetriesAndChainsAreTransitive) {
  Rng rng(605);
  int found = 0;
  for (int k = 0; k < 300; ++k) {
    const int ranks = 2 + static_cast<int>(rng.below(7));
    const Workload work = workload(random_pattern(ranks, rng)).value();
    std::vector<int> order(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) order[static_cast<std::size_t>(r)] = r;
    rng.shuffle(std::span(order));
    const PatternSymmetry symmetry = pattern_symmetry(work, order);
    for (const auto& [level, image] : symmetry.generators) {
      EXPECT_TRUE(is_pattern_symmetry(work, image));
      for (int position = 0; position < level; ++position) {
        const int fixed = order[static_cast<std::size_t>(position)];
        EXPECT_EQ(image[static_cast<std::size_t>(fixed)], fixed);
      }
      ++found;
    }
    for (const auto& [a, b] : symmetry.before) {
      EXPECT_LT(std::find(order.begin(), order.end(), a), std::find(order.begin(), order.end(), b));
    }
  }
  EXPECT_GT(found, 300);
}

TEST(PatternSymmetry, ARingHasItsDihedralGroupAndAllToAllAll) {
  std::vector<pattern::Message> ring;
  std::vector<pattern::Message> all;
  for (int from = 0; from < 6; ++from) {
    ring.push_back({from, (from + 1) % 6, 5, 1});
    ring.push_back({(from + 1) % 6, from, 5, 1});
    for (int to = 0; to < 6; ++to) {
      if (to != from) all.push_back({from, to, 5, 1});
    }
  }
  const std::vector<int> order{0, 1, 2, 3, 4, 5};
  // Orbits: 0 moves to all six, then 1 only to 5 and itself.
  EXPECT_EQ(pattern_symmetry(workload(pattern::Matrix{6, ring}).value(), order).before.size(), 6U);
  EXPECT_EQ(pattern_symmetry(workload(pattern::Matrix{6, all}).value(), order).before.size(), 15U);
  EXPECT_FALSE(is_pattern_symmetry(workload(pattern::Matrix{6, ring}).value(), {1, 0, 2, 3, 4, 5}));
}

TEST(PlacingOrder, APhaseThatCostsNothingYetComesBeforeHeavierTalkers) {
  Workload cube;
  cube.ranks = 8;
  for (const int dimension : {1, 2, 4}) {
    cube.phases.emplace_back();
    for (int rank = 0; rank < 8; ++rank) cube.phases.back().push_back({rank, rank ^ dimension, 5});
  }
  EXPECT_EQ(placing_order(cube, {}), (std::vector<int>{0, 1, 2, 4, 3, 5, 6, 7}));
  // As one phase: 3 talks with two of the first three, 4 with one.
  for (int phase = 1; phase < 3; ++phase) {
    const auto& more = cube.phases[static_cast<std::size_t>(phase)];
    cube.phases[0].insert(cube.phases[0].end(), more.begin(), more.end());
  }
  cube.phases.resize(1);
  EXPECT_EQ(placing_order(cube, {}), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(PatternSymmetry, PhasesOfOneWeightMayTradePlaces) {
  Workload cube;
  cube.ranks = 8;
  for (const int dimension : {1, 2, 4}) {
    cube.phases.emplace_back();
    for (int rank = 0; rank < 8; ++rank) cube.phases.back().push_back({rank, rank ^ dimension, 5});
  }
  const std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
  const RankPermutation exchanged{0, 2, 1, 3, 4, 6, 5, 7};
  // 0 moves to all eight; with 0 fixed 1 to 1, 2, 4, and with 1 fixed, too, 2 to 2, 4.
  EXPECT_EQ(pattern_symmetry(cube, order).before.size(), 7U + 2 + 1);
  EXPECT_TRUE(is_pattern_symmetry(cube, exchanged));
  cube.weights = {1, 2, 3};
  EXPECT_EQ(pattern_symmetry(cube, order).before.size(), 7U);
  EXPECT_FALSE(is_pattern_symmetry(cube, exchanged));
  cube.weights = {2, 2, 1};
  EXPECT_EQ(pattern_symmetry(cube, order).before.size(), 7U + 1);
  EXPECT_TRUE(is_pattern_symmetry(cube, exchanged));
  for (Traffic& entry : cube.phases[0]) entry.bytes = 6;
  EXPECT_EQ(pattern_symmetry(cube, order).before.size(), 7U);
  EXPECT_FALSE(is_pattern_symmetry(cube, exchanged));
}

TEST(BoundCut, TablesOfPhasesAreBelowEveryCompletion) {
  Rng rng(607);
  int raised = 0;
  for (int k = 0; k < 60; ++k) {
    const Instance made = random_instance(rng);
    std::vector<int> order = identity(made.work.ranks).unit_of_rank;
    rng.shuffle(std::span(order));
    std::vector<double> floors;
    std::vector<Workload> alone;
    for (const auto& phase : made.work.phases) {
      floors.push_back(floor_ns(made.shares, phase));
      alone.push_back({made.work.ranks, {phase}, {1}});
    }
    CutTables tables(find_cuts(made.machine), made.work, order, made.shares.units(), floors);
    // For all kinds of cuts, the first one, none.
    const std::size_t table_bytes = (std::size_t{2} << static_cast<unsigned>(made.work.ranks)) * alone.size() * 8;
    const std::array<std::size_t, 3> most_bytes{std::size_t{1} << 30U, table_bytes, table_bytes - 1};
    tables.measure_phases(made.shares.units(), most_bytes[static_cast<std::size_t>(k) % 3]);
    for_every_placement(made.shares.units(), made.work.ranks, [&](const std::vector<int>& unit_of_rank) {
      for (std::size_t cut = 0; cut < tables.cuts().size(); ++cut) {
        std::uint32_t inside = 0;
        for (int placed = 0; placed <= made.work.ranks; ++placed) {
          std::vector<double> least(alone.size(), 0);
          tables.raise_phases(cut, placed, inside, least);
          for (std::size_t phase = 0; phase < alone.size(); ++phase) {
            const double cost = evaluate(made.shares, alone[phase], unit_of_rank).bottleneck_ns;
            ASSERT_LE(least[phase], cost * (1 + 1e-12));
            raised += least[phase] > floors[phase] ? 1 : 0;
            ASSERT_TRUE(k % 3 < 2 || least[phase] == 0);
          }
          if (placed == made.work.ranks) break;
          const int unit = unit_of_rank[static_cast<std::size_t>(order[static_cast<std::size_t>(placed)])];
          const bool within = ((tables.cuts()[cut].units >> static_cast<unsigned>(unit)) & 1U) != 0;
          inside |= (within ? 1U : 0U) << static_cast<unsigned>(placed);
        }
      }
    });
  }
  EXPECT_GT(raised, 1000);
}

TEST(BoundCut, TablesAreBelowEveryCompletion) {
  Rng rng(606);
  for (int k = 0; k < 60; ++k) {
    const Instance made = random_instance(rng);
    std::vector<int> order = identity(made.work.ranks).unit_of_rank;
    rng.shuffle(std::span(order));
    std::vector<double> floors;
    for (const auto& phase : made.work.phases) floors.push_back(floor_ns(made.shares, phase));
    const CutTables tables(find_cuts(made.machine), made.work, order, made.shares.units(), floors);
    for_every_placement(made.shares.units(), made.work.ranks, [&](const std::vector<int>& unit_of_rank) {
      const double cost = evaluate(made.shares, made.work, unit_of_rank).bottleneck_ns * (1 + 1e-12);
      for (std::size_t cut = 0; cut < tables.cuts().size(); ++cut) {
        std::uint32_t inside = 0;
        for (int placed = 0; placed < made.work.ranks; ++placed) {
          ASSERT_LE(tables.least_ns(cut, placed, inside), cost);
          const int unit = unit_of_rank[static_cast<std::size_t>(order[static_cast<std::size_t>(placed)])];
          const bool within = ((tables.cuts()[cut].units >> static_cast<unsigned>(unit)) & 1U) != 0;
          inside |= (within ? 1U : 0U) << static_cast<unsigned>(placed);
        }
        ASSERT_LE(tables.least_ns(cut, made.work.ranks, inside), cost);
      }
    });
  }
}

// Sums of doubles taken away again would leave 128 of the 97 bytes.
TEST(BoundCut, ASmallRestOfLargeTrafficIsExact) {
  const machine::Machine machine = testing::ring(4, {0, 0, 2});
  const RoutedShares shares = RoutedShares::of(machine).value();
  const pattern::Pattern pattern{"large", 3, {{"", {{1, 0, std::uint64_t{1} << 58U, 1}, {1, 2, 97, 1}}}}};
  const Workload work = workload(pattern).value();
  const double least_ns = evaluate(shares, work, identity(3).unit_of_rank).bottleneck_ns;
  EXPECT_DOUBLE_EQ(least_ns, 97 / 2.0 / machine.links[0].bandwidth_gb_per_s);
  const CutTables tables(find_cuts(machine), work, {0, 1, 2}, shares.units(), {0});
  EXPECT_GT(tables.root_ns(), least_ns * 0.9);
  EXPECT_LE(tables.root_ns(), least_ns * (1 + 1e-12));
}

// The quotient's rounding is larger than any fixed slack: a step too many of 10^8 is still a bound that is wrong.
TEST(BoundCut, ManyWholeStepsAreNotRoundedUp) {
  Cut cut;
  cut.stops = {0};
  cut.units = 1;
  cut.units_inside = 1;
  cut.capacity_out = cut.capacity_in = 5;
  cut.links_out = cut.links_in = 5;
  cut.quantum = 1.0 / 3;
  constexpr std::uint64_t bytes = 166716940;
  const pattern::Pattern pattern{"many steps", 3, {{"", {{0, 1, bytes - 1, 1}, {0, 2, 1, 1}}}}};
  const CutTables tables({cut}, workload(pattern).value(), {0, 1, 2}, 3, {0});
  EXPECT_NEAR(tables.set_ns(0, 1), bytes / 5.0, 1e-12 * bytes);
  EXPECT_NEAR(tables.phases_ns(0, 1).front(), bytes / 5.0, 1e-12 * bytes);
}

TEST(BoundCut, ARingIsCutIntoArcs) {
  const std::vector<Cut> cuts = find_cuts(full_ring(8));
  std::set<std::uint64_t> arcs;
  for (const Cut& cut : cuts) {
    EXPECT_DOUBLE_EQ(cut.capacity_out, 2 * 25.6);
    EXPECT_EQ(cut.links_out, 2);
    EXPECT_DOUBLE_EQ(cut.quantum, 0.5);
    arcs.insert(cut.units);
  }
  EXPECT_EQ(arcs.count(0b1111), 1U);
  EXPECT_EQ(arcs.count(0b1), 1U);
}

TEST(BoundAssignment, SaysWhetherEveryRankGetsAUnit) {
  EXPECT_TRUE(has_assignment(std::vector<std::uint64_t>{0b011, 0b001, 0b110}));
  EXPECT_FALSE(has_assignment(std::vector<std::uint64_t>{0b011, 0b001, 0b010}));
  EXPECT_FALSE(has_assignment(std::vector<std::uint64_t>{0b1, 0}));
  EXPECT_TRUE(has_assignment(std::vector<std::uint64_t>{std::uint64_t{1} << 63U}));
}

TEST(Search, SeveralPatternsShareAPlacementByWeight) {
  Rng rng(607);
  const machine::Machine machine = full_ring(6);
  const pattern::Pattern first = pattern::as_pattern(random_matrix(6, 2, 9, rng), "first");
  const pattern::Pattern second = pattern::as_pattern(random_matrix(6, 3, 9, rng), "second");
  const std::vector<pattern::Pattern> both{first, second};
  const std::vector<double> weights{2, 0.5};
  Searcher searcher = Searcher::of(machine).value();
  double least = std::numeric_limits<double>::infinity();
  for_every_placement(6, 6, [&](const std::vector<int>& unit_of_rank) {
    least =
        std::min(least, 2 * testing::plain_cost(machine, pattern::sum(first), unit_of_rank).bottleneck_ns +
                            0.5 * testing::plain_cost(machine, pattern::sum(second), unit_of_rank).bottleneck_ns);
  });
  for (const Method method : {Method::exhaustive, Method::branch_and_bound}) {
    SearchOptions options;
    options.method = method;
    const auto found = searcher.search(both, weights, options);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_TRUE(found.value().proven_optimal);
    EXPECT_NEAR(found.value().evaluation.bottleneck_ns, least, 1e-9 * least);
    EXPECT_NEAR(found.value().bound, least, 1e-9 * least);
    EXPECT_EQ(found.value().gap(found.value().evaluation.bottleneck_ns), 0);
  }
  EXPECT_FALSE(searcher.search(both, std::vector<double>{1, -1}, {}).ok());
  EXPECT_FALSE(searcher.search(both, std::vector<double>{1}, {}).ok());
  SearchOptions hops;
  hops.objective = Objective::hop_bytes;
  EXPECT_FALSE(searcher.search(both, weights, hops).ok());
}

TEST(Search, StartsAreNeverMadeWorse) {
  Rng rng(608);
  const machine::Machine machine = full_ring(20);
  const pattern::Matrix matrix = random_matrix(18, 3, 9, rng);
  Searcher searcher = Searcher::of(machine).value();
  const SearchResult good = searcher.search(matrix, {}).value();
  SearchOptions options;
  options.local_evaluations = 10;
  options.starts = {{"good", good.placement}};
  EXPECT_LE(searcher.search(matrix, options).value().evaluation.bottleneck_ns, good.evaluation.bottleneck_ns);
  options.starts = {{"short", {{0, 1, 2}}}};
  EXPECT_FALSE(searcher.search(matrix, options).ok());
}

TEST(Symmetry, UnmergedStopsBreakWhatMergedOnesAllow) {
  // Merged, the lone unit-less stop does not count for link loads; its longer way counts for time.
  const machine::Machine machine = testing::ring(5, {0, 1, 2, 3});
  Searcher searcher = Searcher::of(machine).value();
  EXPECT_EQ(unmerged_shares(full_ring(8)).value().links(), 16);
  Searcher whole = Searcher::of(full_ring(8)).value();
  EXPECT_EQ(whole.symmetry().order(), whole.unmerged_symmetry().order());
  EXPECT_LE(searcher.unmerged_symmetry().order(), searcher.symmetry().order());
  const auto all = searcher.unmerged_representatives(4, 1000);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->covered, 24U);
  // One slow link inside a chain is seen only unmerged.
  machine::Machine chain = testing::ring(8, {0, 2, 4, 6});
  EXPECT_EQ(Searcher::of(chain).value().unmerged_symmetry().order(), 8U);
  chain.links[1].latency_ns = 100;
  EXPECT_EQ(Searcher::of(chain).value().symmetry().order(), 8U);
  EXPECT_LT(Searcher::of(chain).value().unmerged_symmetry().order(), 8U);
}

}  // namespace
}  // namespace corewise::place
