// Limits: against the rules as one would say them, placement by placement; and searches within them against all
// allowed placements. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "machines.hpp"
#include "place/limits.hpp"
#include "place/search.hpp"

namespace corewise::place {
namespace {

using testing::for_every_placement;
using testing::full_ring;
using testing::plain_cost;
using testing::random_matrix;
using testing::star;

/// Consecutive units are the hardware threads of one core; the last core may have fewer.
machine::Machine with_threads(machine::Machine machine, int threads) {
  for (std::size_t unit = 0; unit < machine.units.size(); ++unit) {
    machine.units[unit].domains = {"package0", "core" + std::to_string(unit / static_cast<std::size_t>(threads))};
  }
  return machine;
}

/// As the rules are told to users, sharing no code: nobody could move to a core that has two ranks fewer.
bool is_allowed(const machine::Machine& machine, const LimitRules& rules, const std::vector<int>& unit_of_rank) {
  const std::size_t units = machine.units.size();
  std::vector<int> rank_on(units, -1);
  for (std::size_t rank = 0; rank < unit_of_rank.size(); ++rank) {
    rank_on[static_cast<std::size_t>(unit_of_rank[rank])] = static_cast<int>(rank);
  }
  std::vector<char> fixed(unit_of_rank.size(), 0);
  for (const auto& [rank, unit] : rules.fixed) {
    if (unit_of_rank[static_cast<std::size_t>(rank)] != unit) return false;
    fixed[static_cast<std::size_t>(rank)] = 1;
  }
  for (const int unit : rules.kept_free) {
    if (rank_on[static_cast<std::size_t>(unit)] >= 0) return false;
  }
  if (rules.share_cores) return true;
  const auto core = [&](std::size_t unit) {
    const auto& domains = machine.units[unit].domains;
    return domains.empty() ? "unit" + std::to_string(unit) : domains.back();
  };
  const auto ranks_with = [&](std::size_t unit) {
    int count = 0;
    for (std::size_t other = 0; other < units; ++other) count += core(other) == core(unit) && rank_on[other] >= 0;
    return count;
  };
  for (std::size_t from = 0; from < units; ++from) {
    if (rank_on[from] < 0 || fixed[static_cast<std::size_t>(rank_on[from])] != 0) continue;
    for (std::size_t to = 0; to < units; ++to) {
      const bool free = std::count(rules.kept_free.begin(), rules.kept_free.end(), static_cast<int>(to)) == 0;
      if (rank_on[to] < 0 && free && ranks_with(from) >= ranks_with(to) + 2) return false;
    }
  }
  return true;
}

/// Some fixed ranks and some units kept free, as many as leave room.
LimitRules random_rules(int ranks, int units, Rng& rng) {
  std::vector<int> order(static_cast<std::size_t>(units));
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(std::span(order));
  LimitRules rules;
  const auto free = rng.below(static_cast<std::uint64_t>(units - ranks) + 1);
  const auto fixed = rng.below(static_cast<std::uint64_t>(ranks) + 1);
  for (std::uint64_t k = 0; k < free; ++k) rules.kept_free.push_back(order[static_cast<std::size_t>(k)]);
  for (std::uint64_t k = 0; k < fixed; ++k) {
    rules.fixed.emplace_back(static_cast<int>(k), order[static_cast<std::size_t>(free + k)]);
  }
  rules.share_cores = rng.below(3) == 0;
  return rules;
}

TEST(Limits, HoldWhatTheRulesSay) {
  Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    const int units = 6;
    const machine::Machine node = with_threads(star(units), 1 + static_cast<int>(rng.below(3)));
    const int ranks = 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(units)));
    const LimitRules rules = random_rules(ranks, units, rng);
    const Limits limits = Limits::of(node, ranks, rules).value();
    std::vector<std::vector<int>> expected;
    for_every_placement(units, ranks, [&](const std::vector<int>& placed) {
      if (is_allowed(node, rules, placed)) expected.push_back(placed);
      ASSERT_EQ(limits.hold(placed), is_allowed(node, rules, placed));
      const machine::Placement repaired = limits.repaired({placed});
      ASSERT_TRUE(is_allowed(node, rules, repaired.unit_of_rank));
      if (is_allowed(node, rules, placed)) {
        ASSERT_EQ(repaired.unit_of_rank, placed);
      }
    });
    std::vector<std::vector<int>> visited;
    ASSERT_TRUE(limits.for_each([&](std::span<const machine::UnitId> placed) {
      visited.emplace_back(placed.begin(), placed.end());
      return true;
    }));
    std::sort(visited.begin(), visited.end());
    ASSERT_EQ(visited, expected);
    ASSERT_EQ(limits.leaves_a_choice(), expected.size() > 1);
    ASSERT_TRUE(is_allowed(node, rules, limits.in_order().unit_of_rank));
  }
}

TEST(Limits, AMoveIsAllowedWhereItsResultIs) {
  Rng rng(12);
  for (int round = 0; round < 60; ++round) {
    const machine::Machine node = with_threads(star(8), 2);
    const int ranks = 2 + static_cast<int>(rng.below(6));
    const LimitRules rules = random_rules(ranks, 8, rng);
    const Limits limits = Limits::of(node, ranks, rules).value();
    const std::vector<int> placed = limits.repaired(random_placement(ranks, 8, rng)).unit_of_rank;
    const auto rank_on = [&](int unit) {
      const auto found = std::find(placed.begin(), placed.end(), unit);
      return found == placed.end() ? -1 : static_cast<int>(found - placed.begin());
    };
    for (int rank = 0; rank < ranks; ++rank) {
      for (int unit = 0; unit < 8; ++unit) {
        std::vector<int> after = placed;
        if (const int other = rank_on(unit); other >= 0) after[static_cast<std::size_t>(other)] = placed[rank];
        after[static_cast<std::size_t>(rank)] = unit;
        EXPECT_EQ(limits.allows(rank, placed[static_cast<std::size_t>(rank)], unit, rank_on),
                  is_allowed(node, rules, after));
      }
    }
  }
}

TEST(Limits, RefusesWhatCannotBeKept) {
  const machine::Machine node = star(4);
  const auto refused = [&](const LimitRules& rules) { return !Limits::of(node, 3, rules).ok(); };
  EXPECT_TRUE(refused({{{3, 0}}, {}, false}));          // no such rank
  EXPECT_TRUE(refused({{{0, 4}}, {}, false}));          // no such unit
  EXPECT_TRUE(refused({{{0, 1}, {0, 2}}, {}, false}));  // twice
  EXPECT_TRUE(refused({{{0, 1}, {1, 1}}, {}, false}));  // two ranks
  EXPECT_TRUE(refused({{{0, 1}}, {1}, false}));         // kept free
  EXPECT_TRUE(refused({{}, {0, 1}, false}));            // too few units
  EXPECT_TRUE(refused({{}, {-1}, false}));
  EXPECT_FALSE(refused({{{0, 1}}, {0}, false}));
  EXPECT_FALSE(Limits::of(node, 3, {}).value().any());
}

TEST(Limits, ASymmetryThatKeepsThemTakesAllowedToAllowed) {
  const machine::Machine node = with_threads(star(6), 2);
  const LimitRules rules{{{0, 2}}, {5}, false};
  const Limits limits = Limits::of(node, 3, rules).value();
  std::vector<int> image(6);
  std::iota(image.begin(), image.end(), 0);
  int kept = 0;
  do {
    if (!limits.kept_by(image)) continue;
    ++kept;
    for_every_placement(6, 3, [&](const std::vector<int>& placed) {
      std::vector<int> moved;
      for (const int unit : placed) moved.push_back(image[static_cast<std::size_t>(unit)]);
      if (placed[0] == 2) {
        ASSERT_EQ(is_allowed(node, rules, placed), is_allowed(node, rules, moved));
      }
    });
  } while (std::next_permutation(image.begin(), image.end()));
  // Only the threads of the core that has neither the fixed rank nor the free unit change places.
  EXPECT_EQ(kept, 2);
}

struct Least {
  double bottleneck_ns = std::numeric_limits<double>::infinity();
  double hop_bytes = std::numeric_limits<double>::infinity();
};

Least least(const machine::Machine& node, const pattern::Matrix& matrix, const LimitRules& rules) {
  Least found;
  for_every_placement(static_cast<int>(node.units.size()), matrix.ranks, [&](const std::vector<int>& placed) {
    if (!is_allowed(node, rules, placed)) return;
    const auto cost = plain_cost(node, matrix, placed);
    found.bottleneck_ns = std::min(found.bottleneck_ns, cost.bottleneck_ns);
    found.hop_bytes = std::min(found.hop_bytes, cost.hop_bytes);
  });
  return found;
}

TEST(LimitedSearch, ProvesTheBestOfAllAllowedPlacements) {
  Rng rng(13);
  for (int round = 0; round < 40; ++round) {
    const int units = 7;
    const machine::Machine plain = round % 2 == 0 ? full_ring(units) : star(units);
    const machine::Machine node = with_threads(plain, 1 + static_cast<int>(rng.below(3)));
    const int ranks = 2 + static_cast<int>(rng.below(5));
    const pattern::Matrix matrix = random_matrix(ranks, 3, 9, rng);
    const LimitRules rules = random_rules(ranks, units, rng);
    const Least expected = least(node, matrix, rules);
    SearchOptions options;
    options.limits = Limits::of(node, ranks, rules).value();
    options.find_worst = true;
    options.local_evaluations = 3'000;
    options.starts = {{"somewhere", random_placement(ranks, units, rng)}};
    for (const Method method : {Method::automatic, Method::exhaustive, Method::branch_and_bound}) {
      options.objective = Objective::bottleneck;
      options.method = method;
      const SearchResult found = search(node, matrix, options).value();
      EXPECT_TRUE(found.proven_optimal) << found.statement;
      EXPECT_DOUBLE_EQ(found.cost, expected.bottleneck_ns) << found.statement;
      EXPECT_TRUE(is_allowed(node, rules, found.placement.unit_of_rank));
      EXPECT_TRUE(is_allowed(node, rules, found.worst->placement.unit_of_rank));
      if (method == Method::branch_and_bound) continue;
      options.objective = Objective::hop_bytes;
      const SearchResult by_hops = search(node, matrix, options).value();
      EXPECT_TRUE(by_hops.proven_optimal);
      EXPECT_DOUBLE_EQ(by_hops.cost, expected.hop_bytes);
    }
  }
}

TEST(LimitedSearch, EveryHeuristicStaysWithin) {
  Rng rng(14);
  for (int round = 0; round < 12; ++round) {
    const machine::Machine node = with_threads(star(24), 2);
    const int ranks = 6 + static_cast<int>(rng.below(17));
    const pattern::Matrix matrix = random_matrix(ranks, 3, 1000, rng);
    const LimitRules rules = random_rules(ranks, 24, rng);
    SearchOptions options;
    options.limits = Limits::of(node, ranks, rules).value();
    options.proposals = 60'000;
    options.local_evaluations = 5'000;
    for (const Method method : {Method::portfolio, Method::local}) {
      options.method = method;
      options.objective = Objective::bottleneck;
      EXPECT_TRUE(is_allowed(node, rules, search(node, matrix, options).value().placement.unit_of_rank));
    }
    options.objective = Objective::distance;
    EXPECT_TRUE(is_allowed(node, rules, search(node, matrix, options).value().placement.unit_of_rank));
    options.method = Method::multilevel;
    EXPECT_EQ(search(node, matrix, options).ok(), !options.limits.any());
  }
}

TEST(LimitedSearch, AGivenCostIsProvenWithin) {
  Rng rng(15);
  const machine::Machine node = with_threads(full_ring(6), 2);
  const pattern::Matrix matrix = random_matrix(3, 2, 50, rng);
  const LimitRules rules{{{1, 4}}, {0}, false};
  SearchOptions options;
  options.objective = Objective::given;
  options.given.name = "units";
  options.given.of = [](Assignment placed) {
    double sum = 0;
    for (std::size_t rank = 0; rank < placed.size(); ++rank) sum += static_cast<double>((rank + 1) * placed[rank]);
    return Result<double>(sum);
  };
  options.limits = Limits::of(node, 3, rules).value();
  double expected = std::numeric_limits<double>::infinity();
  for_every_placement(6, 3, [&](const std::vector<int>& placed) {
    if (is_allowed(node, rules, placed)) expected = std::min(expected, options.given.of(placed).value());
  });
  const SearchResult found = search(node, matrix, options).value();
  EXPECT_EQ(found.cost, expected);
  EXPECT_TRUE(found.proven_optimal) << found.statement;
}

}  // namespace
}  // namespace corewise::place
