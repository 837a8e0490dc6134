// Placement search by time: starts, enumeration or local search over a memory of times. See search.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/placement/search.hpp"

#include <limits>
#include <map>
#include <span>
#include <utility>

#include "place/exhaustive.hpp"
#include "place/links/objective.hpp"
#include "place/local_search.hpp"
#include "place/references.hpp"
#include "place/search.hpp"

namespace corewise::lab {
namespace {

using machine::Placement;
using place::Assignment;
using place::Score;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Times by placement; after a stop or an error every placement not yet timed takes for ever.
class Memory {
 public:
  Memory(ContendedTime& cost, const std::function<bool()>& should_stop) : cost_(cost), should_stop_(should_stop) {}

  double time_ns(Assignment unit_of_rank) {
    const std::vector<machine::UnitId> key(unit_of_rank.begin(), unit_of_rank.end());
    const auto known = times_.find(key);
    if (known != times_.end()) return known->second;
    if (stopped_ || !status_.ok()) return kNever;
    if (should_stop_ && should_stop_()) {
      stopped_ = true;
      return kNever;
    }
    const Result<double> time = cost_.time_ns(unit_of_rank);
    if (!time.ok()) status_ = time.status();
    return times_.emplace(key, time.ok() ? time.value() : kNever).first->second;
  }

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t timed() const { return times_.size(); }

 private:
  ContendedTime& cost_;
  const std::function<bool()>& should_stop_;
  std::map<std::vector<machine::UnitId>, double> times_;
  bool stopped_ = false;
  Status status_;
};

/// The whole placement is timed after every move: a time has no parts that a move leaves alone.
class WholeCost final : public place::IncrementalCost {
 public:
  WholeCost(Memory& memory, int ranks, int units)
      : memory_(memory),
        unit_of_rank_(static_cast<std::size_t>(ranks), 0),
        rank_of_unit_(static_cast<std::size_t>(units), -1) {}

  [[nodiscard]] int ranks() const override { return static_cast<int>(unit_of_rank_.size()); }
  [[nodiscard]] int units() const override { return static_cast<int>(rank_of_unit_.size()); }
  [[nodiscard]] Assignment assignment() const override { return unit_of_rank_; }

  void assign(Assignment unit_of_rank) override {
    unit_of_rank_.assign(unit_of_rank.begin(), unit_of_rank.end());
    rank_of_unit_.assign(rank_of_unit_.size(), -1);
    for (int rank = 0; rank < ranks(); ++rank) rank_on(unit_of_rank_[static_cast<std::size_t>(rank)]) = rank;
  }

  void relocate(int rank, machine::UnitId unit) override {
    const machine::UnitId left = unit_of_rank_[static_cast<std::size_t>(rank)];
    if (left == unit) return;
    const int other = rank_on(unit);
    rank_on(left) = other;
    if (other >= 0) unit_of_rank_[static_cast<std::size_t>(other)] = left;
    rank_on(unit) = rank;
    unit_of_rank_[static_cast<std::size_t>(rank)] = unit;
  }

  [[nodiscard]] Score score() override { return {memory_.time_ns(unit_of_rank_), 0}; }

 private:
  int& rank_on(machine::UnitId unit) { return rank_of_unit_[static_cast<std::size_t>(unit)]; }

  Memory& memory_;
  std::vector<machine::UnitId> unit_of_rank_;
  std::vector<int> rank_of_unit_;
};

/// units! / (units - ranks)!, or nothing where that is more than `limit`.
std::optional<std::uint64_t> placements(int units, int ranks, std::uint64_t limit) {
  std::uint64_t count = 1;
  for (int k = 0; k < ranks; ++k) {
    const auto choices = static_cast<std::uint64_t>(units - k);
    if (count > limit / choices) return std::nullopt;
    count *= choices;
  }
  return count;
}

/// What an enumeration looks at, and by which group it covers the rest.
struct Orbits {
  place::Representatives representatives;
  std::uint64_t order = 1;
};

std::optional<Orbits> orbits(const ContendedTime& cost, std::uint64_t limit) {
  if (cost.model() == TimeModel::flow) {
    Result<place::Searcher> searcher = place::Searcher::of(cost.machine());
    if (!searcher.ok()) return std::nullopt;
    auto chosen = searcher.value().unmerged_representatives(cost.ranks(), limit);
    if (!chosen) return std::nullopt;
    return Orbits{std::move(*chosen), searcher.value().unmerged_symmetry().order()};
  }
  if (!placements(cost.units(), cost.ranks(), limit)) return std::nullopt;
  return Orbits{place::all_placements(cost.units(), cost.ranks()), 1};
}

/// All phases of all patterns, one after the other, for the greedy start.
Result<place::Workload> all_work(const std::vector<WeightedPattern>& patterns) {
  Result<place::Workload> all = place::workload(patterns.front().pattern);
  for (std::size_t more = 1; more < patterns.size() && all.ok(); ++more) {
    Result<place::Workload> next = place::workload(patterns[more].pattern);
    if (!next.ok()) return next.status();
    for (auto& phase : next.value().phases) all.value().phases.push_back(std::move(phase));
  }
  return all;
}

Result<std::vector<NamedStart>> all_starts(const ContendedTime& cost, const TimeSearchOptions& options) {
  std::vector<NamedStart> starts;
  const auto identity = machine::identity_placement(cost.ranks(), cost.machine());
  if (!identity.ok()) return identity.status();
  starts.push_back({"identity", identity.value()});
  const auto work = all_work(cost.patterns());
  if (!work.ok()) return work.status();
  const auto shares = place::RoutedShares::of(cost.machine());
  if (!shares.ok()) return shares.status();
  if (Status status = place::check_fits(shares.value(), work.value()); !status.ok()) return status;
  starts.push_back({"greedy", place::greedy_placement(shares.value(), work.value())});
  for (const NamedStart& start : options.starts) {
    if (Status status = machine::check(start.placement, cost.machine()); !status.ok()) return status;
    if (static_cast<int>(start.placement.unit_of_rank.size()) != cost.ranks()) {
      return bad_field("", "start '" + start.name + "'",
                       std::to_string(start.placement.unit_of_rank.size()) + " ranks",
                       std::to_string(cost.ranks()) + ", as the pattern has");
    }
    starts.push_back(start);
  }
  return starts;
}

class Search {
 public:
  Search(ContendedTime& cost, const TimeSearchOptions& options)
      : cost_(cost), options_(options), memory_(cost, options.should_stop) {}

  Result<TimeSearchResult> run() {
    auto starts = all_starts(cost_, options_);
    if (!starts.ok()) return starts.status();
    measure(starts.value());
    std::optional<Orbits> all;
    if (options_.method != SearchMethod::local) all = orbits(cost_, options_.evaluations);
    if (!all && options_.method == SearchMethod::exhaustive) return too_many();
    if (all) {
      enumerate(*all);
    } else {
      descend(starts.value());
    }
    if (!memory_.status().ok()) return memory_.status();
    result_.evaluated = memory_.timed();
    if (result_.optimal.empty()) result_.optimal.push_back(result_.placement);
    return std::move(result_);
  }

 private:
  [[nodiscard]] Status too_many() const {
    return bad_field("", "method", "exhaustive",
                     "local or auto: there are more than " + std::to_string(options_.evaluations) +
                         " placements to time (field 'evaluations')");
  }

  /// Before anything is stopped: the result is one of them, or faster.
  void measure(const std::vector<NamedStart>& starts) {
    result_.best_start_ns = kNever;
    for (const NamedStart& start : starts) {
      const double time = memory_.time_ns(start.placement.unit_of_rank);
      if (!result_.best_start.empty() && time >= result_.best_start_ns) continue;
      result_.best_start = start.name;
      result_.best_start_ns = time;
      result_.placement = start.placement;
      result_.time_ns = time;
    }
  }

  void enumerate(const Orbits& all) {
    const auto score = [this](Assignment unit_of_rank) { return Score{memory_.time_ns(unit_of_rank), 0}; };
    place::ExhaustiveResult found = place::exhaustive(score, all.representatives, all.order);
    if (memory_.stopped()) {
      result_.statement = "not proven: stopped after " + std::to_string(memory_.timed()) + " of " +
                          std::to_string(all.representatives.count) + " placements";
      take_if_faster(found.best, found.best_score.primary);
      return;
    }
    // A start may be the same by symmetry and faster by the rounding of a tick.
    if (result_.time_ns < found.best_score.primary) {
      found.optimal = {result_.placement};
    } else {
      result_.placement = std::move(found.best);
      result_.time_ns = found.best_score.primary;
    }
    result_.proven_optimal = true;
    result_.statement = place::proof_statement(found);
    result_.optimal = std::move(found.optimal);
    result_.worst = std::move(found.worst);
    result_.worst_ns = found.worst_score.primary;
  }

  void descend(const std::vector<NamedStart>& starts) {
    WholeCost cost(memory_, cost_.ranks(), cost_.units());
    place::LocalSearchOptions how;
    how.seed = options_.seed;
    how.budget_evaluations = options_.evaluations;
    std::vector<Placement> from;
    for (const NamedStart& start : starts) from.push_back(start.placement);
    const place::LocalSearchResult found = place::local_search(cost, from, how);
    take_if_faster(found.best, found.score.primary);
    result_.statement = "not proven: best of " + std::to_string(memory_.timed()) + " placements of a local search";
    if (memory_.stopped()) result_.statement += ", stopped";
  }

  void take_if_faster(const Placement& placement, double time_ns) {
    if (!(time_ns < result_.time_ns)) return;
    result_.placement = placement;
    result_.time_ns = time_ns;
  }

  ContendedTime& cost_;
  const TimeSearchOptions& options_;
  Memory memory_;
  TimeSearchResult result_;
};

}  // namespace

Result<TimeSearchResult> search_by_time(const machine::Machine& machine, std::vector<WeightedPattern> patterns,
                                        const TimeOptions& time, const TimeSearchOptions& options) {
  if (time.jitter != 0)
    return bad_field("", "jitter", std::to_string(time.jitter), "0: a search needs one time each");
  if (options.evaluations < 1) return bad_field("", "evaluations", "0", "1 or more");
  Result<ContendedTime> cost = ContendedTime::of(machine, std::move(patterns), time);
  if (!cost.ok()) return cost.status();
  return Search(cost.value(), options).run();
}

}  // namespace corewise::lab
