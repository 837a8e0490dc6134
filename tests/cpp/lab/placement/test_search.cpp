// Contended time as a cost: against the runs themselves, against brute force without any group, and which symmetry
// a search by time may use. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "effort.hpp"
#include "lab/cell_pattern.hpp"
#include "lab/placement/cost.hpp"
#include "place/search.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::lab {
namespace {

using pattern::Message;
using pattern::Pattern;

machine::Machine cell_be() {
  const std::string text = R"({"format": "corewise-machine", "version": 1, "name": "cell",
    "interconnect": {"kind": "ring", "rings_per_direction": 2, "ring_bandwidth": "25.6 GB/s",
      "hop_latency": "0.625 ns", "ties": "split",
      "stops": ["PPE", "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1", "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"],
      "units": ["SPE0", "SPE1", "SPE2", "SPE3", "SPE4", "SPE5", "SPE6", "SPE7"]},
    "simulation": {"model": "cell"}})";
  auto made = machine::from_json(text, "cell");
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

machine::Machine synthetic(const std::string& text) {
  auto made = machine::from_synthetic(text);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

/// Both ways round, other sizes on every edge: no two ranks are alike.
Pattern uneven_ring(int ranks, std::uint64_t bytes) {
  Pattern pattern{"ring", ranks, {{"p", {}}}};
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    const auto more = static_cast<std::uint64_t>(rank) * 512;
    pattern.phases[0].messages.push_back({rank, next, bytes + more, 1});
    pattern.phases[0].messages.push_back({next, rank, bytes, 1});
  }
  return pattern;
}

Pattern random_pattern(int ranks, std::uint64_t seed) {
  Rng rng(seed);
  Pattern pattern{"random", ranks, {{"p", {}}, {"q", {}}}};
  for (pattern::Phase& phase : pattern.phases) {
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (from != to && rng.below(3) == 0) phase.messages.push_back({from, to, 1024 * (1 + rng.below(8)), 1});
      }
    }
  }
  return pattern;
}

template <class Visit>
void for_every_placement(int units, int ranks, const Visit& visit) {
  std::vector<int> placement(static_cast<std::size_t>(ranks), 0);
  std::vector<char> used(static_cast<std::size_t>(units), 0);
  const auto place = [&](const auto& self, int rank) -> void {
    if (rank == ranks) {
      visit(placement);
      return;
    }
    for (int unit = 0; unit < units; ++unit) {
      if (used[static_cast<std::size_t>(unit)] != 0) continue;
      used[static_cast<std::size_t>(unit)] = 1;
      placement[static_cast<std::size_t>(rank)] = unit;
      self(self, rank + 1);
      used[static_cast<std::size_t>(unit)] = 0;
    }
  };
  place(place, 0);
}

/// The run itself, without the cost.
double run_time(const machine::Machine& machine, const Pattern& pattern, const std::vector<int>& units, bool flow) {
  sim::PatternOptions how;
  how.granularity = flow ? sim::Granularity::flow : sim::Granularity::packet;
  const auto result = machine.model == "cell" && !flow ? run_pattern_on_cell(machine, pattern, {units}, how)
                                                       : sim::run_pattern(machine, pattern, {units}, how);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.value().total_ns;
}

ContendedTime cost_of(const machine::Machine& machine, std::vector<WeightedPattern> patterns,
                      TimeOptions options = {}) {
  options.cell = [](const machine::Machine& cell, const Pattern& pattern, const machine::Placement& placement,
                    const sim::PatternOptions& how) { return run_pattern_on_cell(cell, pattern, placement, how); };
  auto made = ContendedTime::of(machine, std::move(patterns), options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

TimeOptions by(TimeModel model) {
  TimeOptions options;
  options.model = model;
  return options;
}

Result<place::SearchResult> try_search(const machine::Machine& machine, const Pattern& pattern,
                                       const TimeOptions& time, place::SearchOptions options = {},
                                       std::uint64_t evaluations = 50'000) {
  auto cost = given_cost(cost_of(machine, {{pattern, 1}}, time), evaluations);
  if (!cost.ok()) return cost.status();
  options.objective = place::Objective::given;
  options.given = std::move(cost).value();
  return place::search(machine, pattern, options);
}

place::SearchResult search(const machine::Machine& machine, const Pattern& pattern, TimeModel model,
                           const place::SearchOptions& options = {}, std::uint64_t evaluations = 50'000) {
  auto found = try_search(machine, pattern, by(model), options, evaluations);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return std::move(found).value();
}

struct Truth {
  double best = std::numeric_limits<double>::infinity();
  double worst = 0;
  std::vector<int> first_best;
  std::uint64_t placements = 0;
};

Truth brute_force(const machine::Machine& machine, const Pattern& pattern, bool flow) {
  Truth truth;
  for_every_placement(static_cast<int>(machine.units.size()), pattern.ranks, [&](const std::vector<int>& units) {
    const double time = run_time(machine, pattern, units, flow);
    ++truth.placements;
    if (time < truth.best) truth.first_best = units;
    truth.best = std::min(truth.best, time);
    truth.worst = std::max(truth.worst, time);
  });
  return truth;
}

TEST(PlacementCost, IsTheTimeOfTheRunOnEveryModel) {
  const std::vector<int> units = {3, 0, 5, 1, 7};
  const Pattern pattern = uneven_ring(5, 4096);
  for (const bool flow : {true, false}) {
    for (const machine::Machine& machine : {cell_be(), synthetic("ring:8"), synthetic("mesh:4x2")}) {
      ContendedTime cost = cost_of(machine, {{pattern, 1}}, by(flow ? TimeModel::flow : TimeModel::simulated));
      EXPECT_EQ(cost.time_ns(units).value(), run_time(machine, pattern, units, flow)) << machine.name << flow;
    }
  }
}

TEST(PlacementCost, SeveralPatternsAddUpByWeight) {
  const std::vector<int> units = {3, 0, 5, 1};
  const machine::Machine machine = synthetic("ring:8");
  const Pattern first = uneven_ring(4, 4096);
  const Pattern second = random_pattern(4, 3);
  ContendedTime cost = cost_of(machine, {{first, 2}, {second, 0.5}}, by(TimeModel::flow));
  EXPECT_DOUBLE_EQ(cost.time_ns(units).value(),
                   2 * run_time(machine, first, units, true) + 0.5 * run_time(machine, second, units, true));
  EXPECT_EQ(cost.awaited(units).value().time, cost.time_ns(units).value());
}

TEST(PlacementCost, WaitsForTheLastMessageOfEachPhaseTheLongestFirst) {
  Pattern pattern;
  pattern.ranks = 6;
  pattern.phases.push_back({"short", {{0, 1, 4096, 1}, {2, 3, 1024, 1}}});
  pattern.phases.push_back({"long", {{1, 2, 2048, 1}, {4, 5, 65536, 1}, {5, 4, 1024, 1}}});
  pattern.phases.push_back({"the same, shorter", {{4, 5, 16384, 1}, {0, 1, 1024, 1}}});
  const std::vector<int> units = {3, 0, 5, 1, 7, 2};
  const std::vector<std::pair<int, int>> expected = {{4, 5}, {0, 1}};
  for (const machine::Machine& machine : {cell_be(), synthetic("mesh:4x2")}) {
    for (const TimeModel model : {TimeModel::flow, TimeModel::simulated}) {
      ContendedTime cost = cost_of(machine, {{pattern, 1}}, by(model));
      EXPECT_EQ(cost.awaited(units).value().last, expected) << machine.name << name_of(model);
      EXPECT_FALSE(cost.awaited(std::vector<int>{0, 1, 2}).ok());
    }
  }
}

TEST(PlacementCost, JitterIsDrawnBySeedAndPlacement) {
  for (const machine::Machine& machine : {cell_be(), synthetic("mesh:4x2")}) {
    const Pattern pattern = uneven_ring(6, 16384);
    const std::vector<int> units = {3, 0, 5, 1, 7, 2};
    const auto timed = [&](std::uint64_t seed, double jitter) {
      TimeOptions options;
      options.jitter = jitter;
      options.seed = seed;
      return cost_of(machine, {{pattern, 1}}, options).time_ns(units).value();
    };
    EXPECT_EQ(timed(1, 0), timed(2, 0)) << machine.name;
    EXPECT_EQ(timed(1, 1), timed(1, 1)) << machine.name;
    EXPECT_NE(timed(1, 1), timed(2, 1)) << machine.name;
    // Drawn anew for each placement, not carried over from the one before.
    TimeOptions options;
    options.jitter = 1;
    ContendedTime cost = cost_of(machine, {{pattern, 1}}, options);
    const double first = cost.time_ns(units).value();
    EXPECT_TRUE(cost.time_ns(std::vector<int>{0, 1, 2, 3, 4, 5}).ok());
    EXPECT_EQ(cost.time_ns(units).value(), first) << machine.name;
  }
}

TEST(PlacementCost, RefusesWhatItCannotRun) {
  const machine::Machine machine = synthetic("ring:8");
  const auto refused = [&](std::vector<WeightedPattern> patterns, const TimeOptions& options = {}) {
    return ContendedTime::of(machine, std::move(patterns), options).status().message();
  };
  EXPECT_NE(refused({}).find("patterns"), std::string::npos);
  EXPECT_NE(refused({{uneven_ring(4, 64), 1}, {uneven_ring(5, 64), 1}}).find("share one placement"),
            std::string::npos);
  EXPECT_NE(refused({{uneven_ring(4, 64), -1}}).find("weight"), std::string::npos);
  EXPECT_FALSE(refused({{uneven_ring(9, 64), 1}}).empty());
  const auto cell = ContendedTime::of(cell_be(), {{uneven_ring(4, 64), 1}}, {});
  EXPECT_NE(cell.status().message().find("without its simulator"), std::string::npos);
  EXPECT_TRUE(ContendedTime::of(cell_be(), {{uneven_ring(4, 64), 1}}, by(TimeModel::flow)).ok());
  TimeOptions options;
  options.jitter = -1;
  EXPECT_NE(refused({{uneven_ring(4, 64), 1}}, options).find("jitter"), std::string::npos);
  ContendedTime cost = cost_of(machine, {{uneven_ring(4, 64), 1}});
  EXPECT_FALSE(cost.time_ns(std::vector<int>{0, 1, 2, 2}).ok());
  EXPECT_FALSE(cost.time_ns(std::vector<int>{0, 1, 2, 8}).ok());
}

TEST(PlacementSearch, ExhaustiveIsBruteForceWithoutAnyGroup) {
  struct Case {
    machine::Machine machine;
    Pattern pattern;
  };
  const Case cases[] = {{synthetic("ring:6"), uneven_ring(4, 4096)},
                        {synthetic("ring:5"), random_pattern(5, 7)},
                        {synthetic("mesh:3x2"), random_pattern(4, 8)},
                        {synthetic("pack:2 core:3"), random_pattern(4, 9)},
                        {cell_be(), uneven_ring(3, 4096)}};
  for (const Case& each : cases) {
    if (test::kSanitized && each.machine.name == cases[2].machine.name) continue;
    for (const bool flow : {true, false}) {
      const Truth truth = brute_force(each.machine, each.pattern, flow);
      const place::SearchResult found =
          search(each.machine, each.pattern, flow ? TimeModel::flow : TimeModel::simulated);
      EXPECT_TRUE(found.proven_optimal) << each.machine.name;
      // One tick of a picosecond is the rounding that symmetric placements may differ by.
      EXPECT_NEAR(found.cost, truth.best, flow ? 0.002 : 0) << each.machine.name << flow;
      ASSERT_TRUE(found.worst.has_value());
      EXPECT_NEAR(found.worst->score.primary, truth.worst, flow ? 0.002 : 0) << each.machine.name << flow;
      EXPECT_EQ(run_time(each.machine, each.pattern, found.placement.unit_of_rank, flow), found.cost);
      EXPECT_NE(found.statement.find(std::to_string(truth.placements)), std::string::npos) << found.statement;
      if (!flow) {
        EXPECT_EQ(found.placement.unit_of_rank, truth.first_best) << each.machine.name;
      }
    }
  }
}

/// Largest difference of times inside orbits of the machine's unmerged group, over random placements.
double largest_difference(const machine::Machine& machine, const Pattern& pattern, TimeModel model) {
  place::Searcher searcher = place::Searcher::of(machine).value();
  const place::Symmetry& symmetry = searcher.unmerged_symmetry();
  EXPECT_GT(symmetry.order(), 1U) << machine.name;
  ContendedTime cost = cost_of(machine, {{pattern, 1}}, by(model));
  Rng rng(5);
  double largest = 0;
  std::vector<int> order(machine.units.size());
  std::iota(order.begin(), order.end(), 0);
  for (int sample = 0; sample < 12; ++sample) {
    rng.shuffle(std::span(order));
    const std::vector<int> units(order.begin(), order.begin() + pattern.ranks);
    const double time = cost.time_ns(units).value();
    for (const place::UnitPermutation& element : symmetry.elements()) {
      std::vector<int> image;
      for (const int unit : units) image.push_back(element[static_cast<std::size_t>(unit)]);
      largest = std::max(largest, std::abs(cost.time_ns(image).value() - time));
    }
  }
  return largest;
}

TEST(PlacementSearch, ByFlowSymmetricPlacementsTakeEquallyLong) {
  for (const char* text : {"ring:8", "mesh:4x2", "mesh:3x3", "torus:3x3", "pack:2 core:4"}) {
    for (const std::uint64_t seed : {11U, 12U}) {
      EXPECT_LE(largest_difference(synthetic(text), random_pattern(6, seed), TimeModel::flow), 0.002) << text;
    }
  }
}

TEST(PlacementSearch, BySimulationSymmetricPlacementsDoNot) {
  // Arbiters and command queues decide ties by number: no group may be used there.
  EXPECT_GT(largest_difference(synthetic("ring:8"), random_pattern(6, 11), TimeModel::simulated), 0.01);
  EXPECT_GT(largest_difference(cell_be(), random_pattern(6, 11), TimeModel::simulated), 0.01);
}

TEST(PlacementSearch, LocalSearchIsNoSlowerThanItsStarts) {
  const machine::Machine machine = synthetic("mesh:4x4");
  const Pattern pattern = random_pattern(12, 21);
  ContendedTime cost = cost_of(machine, {{pattern, 1}}, by(TimeModel::flow));
  place::SearchOptions options;
  options.starts.push_back({"backwards", {{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4}}});
  const place::SearchResult found = search(machine, pattern, TimeModel::flow, options, 400);
  EXPECT_FALSE(found.proven_optimal);
  EXPECT_EQ(found.method, place::Method::local);
  EXPECT_NE(found.statement.find("not proven"), std::string::npos);
  EXPECT_TRUE(machine::check(found.placement, machine).ok());
  EXPECT_LE(found.evaluated, 403U);
  EXPECT_EQ(cost.time_ns(found.placement.unit_of_rank).value(), found.cost);
  for (const auto& start : {options.starts[0].placement, machine::identity_placement(12, machine).value()}) {
    EXPECT_GT(cost.time_ns(start.unit_of_rank).value(), found.cost);
  }
  const place::SearchResult again = search(machine, pattern, TimeModel::flow, options, 400);
  EXPECT_EQ(again.placement.unit_of_rank, found.placement.unit_of_rank);
  EXPECT_EQ(again.evaluated, found.evaluated);
}

TEST(PlacementSearch, ByFlowNothingIsQuickerThanItsBusiestLink) {
  // What bounded_by_loads promises: phases summed, ties split, links of different speed.
  for (const char* text : {"ring:8", "mesh:3x2 core:2", "torus:4x3", "pack:2 l3:2 core:3"}) {
    const machine::Machine machine = synthetic(text);
    const place::RoutedShares shares = place::RoutedShares::of(machine).value();
    Pattern pattern = random_pattern(8, 41);
    pattern.phases.push_back(random_pattern(8, 42).phases.front());
    ContendedTime cost = cost_of(machine, {{pattern, 1}}, by(TimeModel::flow));
    const place::Workload work = place::workload(pattern).value();
    Rng rng(43);
    for (int k = 0; k < 20; ++k) {
      const auto placement = place::random_placement(8, shares.units(), rng);
      const place::Evaluation loads = place::evaluate(shares, work, placement.unit_of_rank);
      const double time_ns = cost.time_ns(placement.unit_of_rank).value();
      for (int link = 0; link < shares.links(); ++link) {
        ASSERT_LE(shares.time_ns(loads.load_parts[static_cast<std::size_t>(link)], link), time_ns * (1 + 1e-9))
            << text;
      }
    }
  }
}

TEST(PlacementSearch, ManyRanksByFlowAreNoSlowerThanTheirStarts) {
  const machine::Machine machine = synthetic("mesh:5x4");
  const Pattern pattern = random_pattern(20, 51);
  ContendedTime cost = cost_of(machine, {{pattern, 1}}, by(TimeModel::flow));
  place::SearchOptions options;
  options.proposals = 100'000;
  Rng rng(52);
  for (int k = 0; k < 3; ++k) options.starts.push_back({"random", place::random_placement(20, 20, rng)});
  const place::SearchResult found = search(machine, pattern, TimeModel::flow, options, 400);
  EXPECT_EQ(found.method, place::Method::portfolio);
  EXPECT_FALSE(found.origin.empty());
  EXPECT_EQ(cost.time_ns(found.placement.unit_of_rank).value(), found.cost);
  for (const auto& start : options.starts) {
    EXPECT_GT(cost.time_ns(start.placement.unit_of_rank).value(), found.cost);
  }
}

TEST(PlacementSearch, StopsWhenAskedAndSaysSo) {
  const machine::Machine machine = synthetic("ring:8");
  for (const place::Method method : {place::Method::exhaustive, place::Method::local}) {
    int asked = 0;
    place::SearchOptions options;
    options.method = method;
    options.should_stop = [&asked] { return ++asked > 20; };
    const place::SearchResult found = search(machine, random_pattern(4, 31), TimeModel::simulated, options, 2000);
    EXPECT_FALSE(found.proven_optimal);
    EXPECT_NE(found.statement.find("stopped"), std::string::npos) << found.statement;
    EXPECT_EQ(found.evaluated, 20U);
    EXPECT_TRUE(std::isfinite(found.cost));
  }
}

TEST(PlacementSearch, RefusesWhatHasNoOneTime) {
  const machine::Machine machine = synthetic("mesh:4x4");
  const auto refused = [&](const Pattern& pattern, const TimeOptions& time, const place::SearchOptions& options) {
    return try_search(machine, pattern, time, options, 1000).status().message();
  };
  TimeOptions jittered;
  jittered.jitter = 1;
  EXPECT_NE(refused(uneven_ring(4, 64), jittered, {}).find("jitter"), std::string::npos);
  place::SearchOptions options;
  options.method = place::Method::exhaustive;
  EXPECT_NE(refused(uneven_ring(12, 64), by(TimeModel::simulated), options).find("more than 1000 placements"),
            std::string::npos);
  options.method = place::Method::multilevel;
  EXPECT_NE(refused(uneven_ring(4, 64), by(TimeModel::flow), options).find("'multilevel' with objective flow"),
            std::string::npos);
  options.method = place::Method::automatic;
  options.starts.push_back({"short", {{0, 1}}});
  EXPECT_NE(refused(uneven_ring(4, 64), by(TimeModel::flow), options).find("starts[0]"), std::string::npos);
}

}  // namespace
}  // namespace corewise::lab
