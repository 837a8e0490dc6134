// Placement cost: runs the patterns of a placement and adds up their times. See cost.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/placement/cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/rng.hpp"
#include "machine/placement.hpp"
#include "sim/networks/network.hpp"

namespace corewise::lab {
namespace {

constexpr double kMostJitter = 100;
constexpr double kMostWeight = 1e12;
/// Flows end at whole ticks, after a latency of whole ticks.
constexpr double kRounding = 2 * sim::kPicosecondInNs;
constexpr std::string_view kCell = "cell";
constexpr std::string_view kJitterSeed = "jitter_seed";
/// What a [simulation] table holds exactly.
constexpr std::uint64_t kSeedBits = (1ULL << 53U) - 1;

/// Of one run of one placement: another run, or another placement, draws other numbers.
std::uint64_t seed_of(std::uint64_t seed, place::Assignment unit_of_rank) {
  std::uint64_t state = seed;
  std::uint64_t mixed = splitmix64(state);
  for (const machine::UnitId unit : unit_of_rank) {
    state = mixed ^ static_cast<std::uint64_t>(unit);
    mixed = splitmix64(state);
  }
  return mixed;
}

/// Of a route between units that do not share a stop, as the networks round it.
double shortest_latency_ns(const machine::Machine& machine) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& alternatives : machine.route_table) {
    for (const machine::Route& route : alternatives) {
      double latency_ns = 0;
      for (const machine::LinkId link : route.links) {
        latency_ns += std::round(machine.links[static_cast<std::size_t>(link)].latency_ns / sim::kPicosecondInNs) *
                      sim::kPicosecondInNs;
      }
      if (!route.links.empty()) shortest = std::min(shortest, latency_ns);
    }
  }
  return std::isfinite(shortest) ? shortest : 0;
}

constexpr auto ends_earlier = [](const sim::TransferResult& a, const sim::TransferResult& b) {
  return a.end_ns < b.end_ns;
};

constexpr auto starts_earlier = [](const sim::TransferResult& a, const sim::TransferResult& b) {
  return a.start_ns < b.start_ns;
};

}  // namespace

std::string_view name_of(TimeModel model) {
  return model == TimeModel::flow ? "flow" : "simulated";
}

bool on_whole_cell(const machine::Machine& machine, TimeModel model) {
  return model == TimeModel::simulated && machine.model == kCell;
}

ContendedTime::ContendedTime(machine::Machine machine, std::vector<WeightedPattern> patterns,
                             const TimeOptions& options)
    : machine_(std::move(machine)), patterns_(std::move(patterns)), options_(options) {
  for (const machine::Link& link : machine_.links) latency_ns_.push_back(link.latency_ns);
}

Result<ContendedTime> ContendedTime::of(machine::Machine machine, std::vector<WeightedPattern> patterns,
                                        const TimeOptions& options) {
  ContendedTime made(std::move(machine), std::move(patterns), options);
  if (Status status = made.check(); !status.ok()) return status;
  return made;
}

Status ContendedTime::check() const {
  if (on_cell() && options_.cell == nullptr) {
    return bad_field(machine_.name, "model", "a whole Cell without its simulator", "flow");
  }
  if (patterns_.empty()) return bad_field("", "patterns", "none", "one or more");
  if (!(options_.jitter >= 0 && options_.jitter <= kMostJitter)) {
    return bad_field("", "jitter", std::to_string(options_.jitter), "0 to 100");
  }
  for (const WeightedPattern& each : patterns_) {
    if (!(each.weight >= 0 && each.weight <= kMostWeight)) {
      return bad_field(each.pattern.name, "weight", std::to_string(each.weight), "0 to 1e12");
    }
    if (each.pattern.ranks != ranks()) {
      return bad_field(each.pattern.name, "ranks", std::to_string(each.pattern.ranks),
                       std::to_string(ranks()) + ", as the first pattern has: they share one placement");
    }
    const auto identity = machine::identity_placement(ranks(), machine_);
    if (!identity.ok()) return identity.status();
    sim::PatternOptions how;
    how.separation = options_.separation;
    how.repetitions = options_.repetitions;
    if (Status status = sim::check_run(machine_, each.pattern, identity.value(), how); !status.ok()) return status;
  }
  return {};
}

void ContendedTime::draw(place::Assignment unit_of_rank) {
  if (options_.jitter <= 0) return;
  const std::uint64_t seed = seed_of(options_.seed, unit_of_rank);
  if (on_cell()) {
    std::erase_if(machine_.parameters, [](const machine::Parameter& each) { return each.name == kJitterSeed; });
    machine_.parameters.push_back({std::string(kJitterSeed), static_cast<double>((seed & kSeedBits) | 1U)});
    return;
  }
  Rng rng(seed);
  for (std::size_t link = 0; link < latency_ns_.size(); ++link) {
    machine_.links[link].latency_ns = latency_ns_[link] * (1 + options_.jitter * rng.uniform());
  }
}

Result<sim::PatternResult> ContendedTime::run(const pattern::Pattern& pattern,
                                              const machine::Placement& placement) const {
  sim::PatternOptions how;
  how.granularity = options_.model == TimeModel::flow ? sim::Granularity::flow : sim::Granularity::packet;
  how.separation = options_.separation;
  how.repetitions = options_.repetitions;
  return on_cell() ? options_.cell(machine_, pattern, placement, how)
                   : sim::run_pattern(machine_, pattern, placement, how);
}

Result<double> ContendedTime::time_ns(place::Assignment unit_of_rank) {
  const Result<place::Awaited> found = awaited(unit_of_rank);
  if (!found.ok()) return found.status();
  return found.value().time;
}

Result<place::Awaited> ContendedTime::awaited(place::Assignment unit_of_rank) {
  const machine::Placement placement{{unit_of_rank.begin(), unit_of_rank.end()}};
  if (Status status = machine::check(placement, machine_); !status.ok()) return status;
  draw(unit_of_rank);
  place::Awaited all;
  std::vector<std::pair<double, std::pair<int, int>>> last;  // by minus the phase's time
  for (const WeightedPattern& each : patterns_) {
    const Result<sim::PatternResult> found = run(each.pattern, placement);
    if (!found.ok()) return found.status();
    all.time += each.weight * found.value().total_ns;
    const auto& transfers = found.value().transfers;
    for (auto next = transfers.begin(); next != transfers.end();) {
      const auto end = std::find_if(next, transfers.end(), [&](const sim::TransferResult& other) {
        return other.phase != next->phase || other.repetition != next->repetition;
      });
      const auto latest = std::max_element(next, end, ends_earlier);
      const auto first = std::min_element(next, end, starts_earlier);
      last.push_back({-each.weight * (latest->end_ns - first->start_ns), {latest->from, latest->to}});
      next = end;
    }
  }
  std::sort(last.begin(), last.end());
  std::set<std::pair<int, int>> met;
  for (const auto& [time, message] : last) {
    if (met.insert(message).second) all.last.push_back(message);
  }
  return all;
}

Result<std::vector<WeightedPattern>> weighted(const std::vector<pattern::Pattern>& patterns,
                                              const std::vector<double>& weights) {
  if (!weights.empty() && weights.size() != patterns.size()) {
    return bad_field("", "weights", std::to_string(weights.size()) + " numbers",
                     std::to_string(patterns.size()) + ", one per pattern");
  }
  std::vector<WeightedPattern> all;
  for (std::size_t at = 0; at < patterns.size(); ++at)
    all.push_back({patterns[at], weights.empty() ? 1 : weights[at]});
  return all;
}

Result<place::GivenCost> given_cost(ContendedTime time, std::uint64_t evaluations) {
  if (time.jitter() != 0) {
    return bad_field("", "jitter", std::to_string(time.jitter()), "0: a search needs one time each");
  }
  place::GivenCost cost;
  cost.name = name_of(time.model());
  cost.concurrent = true;  // without jitter nothing is drawn
  cost.symmetric = cost.bounded_by_loads = time.model() == TimeModel::flow;
  cost.evaluations = evaluations;
  double weights = 0;
  for (const WeightedPattern& each : time.patterns()) weights += each.weight;
  cost.delay = weights * shortest_latency_ns(time.machine());
  cost.resolution = weights * kRounding;
  const auto kept = std::make_shared<ContendedTime>(std::move(time));
  cost.of = [kept](place::Assignment unit_of_rank) { return kept->time_ns(unit_of_rank); };
  cost.awaited = [kept](place::Assignment unit_of_rank) { return kept->awaited(unit_of_rank); };
  return cost;
}

}  // namespace corewise::lab
