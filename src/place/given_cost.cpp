// Search by a given cost: enumeration or local search over a memory of costs. See given_cost.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/given_cost.hpp"

#include <limits>
#include <map>
#include <utility>

#include "place/local_search.hpp"

namespace corewise::place {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

/// Costs by placement; after a stop or an error every placement not yet met costs without bound.
class Memory {
 public:
  Memory(const GivenCost& cost, const std::function<bool()>& should_stop)
      : cost_(cost), should_stop_(should_stop) {}

  double cost(Assignment unit_of_rank) {
    const std::vector<machine::UnitId> key(unit_of_rank.begin(), unit_of_rank.end());
    const auto known = costs_.find(key);
    if (known != costs_.end()) return known->second;
    if (stopped_ || !status_.ok()) return unbounded;
    if (should_stop_ && should_stop_()) {
      stopped_ = true;
      return unbounded;
    }
    const Result<double> found = cost_.of(unit_of_rank);
    if (!found.ok()) status_ = found.status();
    return costs_.emplace(key, found.ok() ? found.value() : unbounded).first->second;
  }

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t met() const { return costs_.size(); }

 private:
  const GivenCost& cost_;
  const std::function<bool()>& should_stop_;
  std::map<std::vector<machine::UnitId>, double> costs_;
  bool stopped_ = false;
  Status status_;
};

/// A given cost has no parts that a move leaves alone.
class WholeCost final : public IncrementalCost {
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

  [[nodiscard]] Score score() override { return {memory_.cost(unit_of_rank_), 0}; }

 private:
  int& rank_on(machine::UnitId unit) { return rank_of_unit_[static_cast<std::size_t>(unit)]; }

  Memory& memory_;
  std::vector<machine::UnitId> unit_of_rank_;
  std::vector<int> rank_of_unit_;
};

class Search {
 public:
  Search(const GivenCost& cost, const GivenCostSearch& how)
      : budget_(cost.evaluations), how_(how), memory_(cost, how.should_stop) {}

  Result<GivenCostResult> run() {
    result_.cost = unbounded;
    for (const machine::Placement& start : how_.starts) evaluate(start);
    if (how_.all) {
      enumerate(*how_.all);
    } else if (how_.all_allowed) {
      enumerate_allowed();
    } else {
      descend();
    }
    if (!memory_.status().ok()) return memory_.status();
    result_.evaluated = memory_.met();
    return std::move(result_);
  }

 private:
  /// Before anything is stopped: the result is one of the starts, or better.
  void evaluate(const machine::Placement& start) {
    const double cost = memory_.cost(start.unit_of_rank);
    if (result_.best.unit_of_rank.empty()) result_.best = start;
    take_if_better(start, cost);
  }

  void enumerate(const Orbits& all) {
    const auto score = [this](Assignment unit_of_rank) { return Score{memory_.cost(unit_of_rank), 0}; };
    ExhaustiveResult found = exhaustive(score, all.representatives, all.order);
    if (memory_.stopped()) {
      result_.statement = "not proven: stopped after " + std::to_string(memory_.met()) + " of " +
                          std::to_string(all.representatives.count) + " placements";
      take_if_better(found.best, found.best_score.primary);
      return;
    }
    // A start may be the same by symmetry and better by the rounding of a tick.
    if (result_.cost < found.best_score.primary) {
      found.optimal = {result_.best};
    } else {
      result_.best = found.best;
      result_.cost = found.best_score.primary;
    }
    result_.statement = proof_statement(found);
    result_.enumeration = std::move(found);
  }

  void enumerate_allowed() {
    ExhaustiveResult found = exhaustive_within(
        how_.limits, [this](Assignment unit_of_rank) { return Score{memory_.cost(unit_of_rank), 0}; },
        [this] { return memory_.stopped(); });
    if (found.best_score.primary < result_.cost) {
      result_.best = found.best;
      result_.cost = found.best_score.primary;
    }
    if (memory_.stopped()) {
      result_.statement =
          "not proven: stopped after " + std::to_string(memory_.met()) + " of the placements that the limits allow";
      return;
    }
    result_.statement = proof_statement(found);
    result_.enumeration = std::move(found);
  }

  void descend() {
    WholeCost cost(memory_, how_.ranks, how_.units);
    LocalSearchOptions local;
    local.seed = how_.seed;
    local.limits = how_.limits;
    local.budget_evaluations = budget_;
    const LocalSearchResult found = local_search(cost, how_.starts, local);
    take_if_better(found.best, found.score.primary);
    result_.statement = "not proven: best of " + std::to_string(memory_.met()) + " placements of a local search";
    if (memory_.stopped()) result_.statement += ", stopped";
  }

  void take_if_better(const machine::Placement& placement, double cost) {
    if (!(cost < result_.cost)) return;
    result_.best = placement;
    result_.cost = cost;
  }

  std::uint64_t budget_;
  const GivenCostSearch& how_;
  Memory memory_;
  GivenCostResult result_;
};

}  // namespace

Result<GivenCostResult> search_given_cost(const GivenCost& cost, const GivenCostSearch& how) {
  return Search(cost, how).run();
}

}  // namespace corewise::place
