// Distance search: the choice among methods. See search.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/search.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "place/distance/bound.hpp"
#include "place/distance/branch.hpp"
#include "place/distance/cost.hpp"
#include "place/distance/multilevel.hpp"
#include "place/local_search.hpp"

namespace corewise::place {

namespace {

constexpr int most_exact_units = 64;
constexpr int descents_per_unit = 6;

class DistanceSearch {
 public:
  DistanceSearch(const PairTraffic& traffic, const Distances& distances, const DistanceOptions& options)
      : traffic_(traffic), distances_(distances), options_(options) {}

  Result<DistanceResult> run() {
    if (options_.limits.any()) return run_within_limits();
    switch (options_.method) {
      case Method::branch_and_bound:
        return prove_or_say_why();
      case Method::multilevel:
        return map_onto_tree();
      case Method::local:
        return search_locally();
      case Method::automatic:
      case Method::exhaustive:
      case Method::portfolio:
        break;
    }
    if (distances_.units <= std::min(options_.exact_units, most_exact_units)) {
      if (const auto problem = AssignmentProblem::of(traffic_, distances_)) return prove(*problem);
    }
    if (Tree::from_distances(distances_).ok()) return map_onto_tree();
    return search_locally();
  }

 private:
  Result<DistanceResult> prove_or_say_why() {
    if (distances_.units > most_exact_units) {
      return bad_field("", "units", std::to_string(distances_.units), "1..64 for method branch-and-bound");
    }
    const auto problem = AssignmentProblem::of(traffic_, distances_);
    if (problem) return prove(*problem);
    return bad_field("", "distances", "values that are not multiples of 1e-6, or bytes times distance over 2^58",
                     "smaller or coarser numbers for method branch-and-bound");
  }

  DistanceResult prove(const AssignmentProblem& problem) {
    BranchOptions branch;
    branch.nodes = options_.nodes;
    branch.should_stop = options_.should_stop;
    std::vector<int> start = descend_by_swaps(problem, options_.seed, descents_per_unit * problem.size);
    BranchResult found = branch_and_bound(problem, std::move(start), branch);
    found.unit_of_rank.resize(static_cast<std::size_t>(traffic_.ranks));
    DistanceResult result = finished(std::move(found.unit_of_rank), Method::branch_and_bound, found.nodes);
    result.proven_optimal = found.proven;
    result.bound = found.proven ? result.cost : static_cast<double>(found.bound) * problem.unit_of_cost;
    result.statement = found.proven ? "least weighted distance, proven by branch and bound over " +
                                          std::to_string(found.nodes) + " bounds"
                                    : "stopped after " + std::to_string(found.nodes) + " bounds; not proven";
    return result;
  }

  Result<DistanceResult> map_onto_tree() {
    auto tree = Tree::from_distances(distances_);
    if (!tree.ok()) return tree.status();
    auto mapped = multilevel(traffic_, tree.value(), {options_.seed, options_.effort});
    if (!mapped.ok()) return mapped.status();
    DistanceResult result = finished(std::move(mapped.value().placement.unit_of_rank), Method::multilevel, 1);
    result.statement = "multilevel mapping onto a tree of " + std::to_string(tree.value().levels()) +
                       " levels, effort " + std::to_string(options_.effort) + "; not proven";
    settle_by_simple_bound(result);
    return result;
  }

  Result<DistanceResult> run_within_limits() {
    if (options_.method != Method::automatic && options_.method != Method::local) {
      return bad_field("", "method",
                       "'" + std::string(name_of(options_.method)) + "' with objective distance and limits",
                       "auto, local");
    }
    if (!Tree::from_distances(distances_).ok()) return search_locally();
    Result<DistanceResult> without = map_onto_tree();
    return without.ok() ? search_locally({std::move(without.value().placement)}) : search_locally();
  }

  DistanceResult search_locally(std::vector<machine::Placement> starts = {}) {
    DistanceCost cost(traffic_, distances_);
    machine::Placement identity;
    identity.unit_of_rank.resize(static_cast<std::size_t>(traffic_.ranks));
    std::iota(identity.unit_of_rank.begin(), identity.unit_of_rank.end(), 0);
    starts.push_back(std::move(identity));
    LocalSearchOptions local;
    local.seed = options_.seed;
    local.budget_evaluations = options_.local_evaluations;
    local.should_stop = options_.should_stop;
    local.limits = options_.limits;
    LocalSearchResult found = local_search(cost, starts, local);
    DistanceResult result = finished(std::move(found.best.unit_of_rank), Method::local, found.evaluated);
    result.statement = "best of " + std::to_string(found.evaluated) + " placements in local search; not proven";
    settle_by_simple_bound(result);
    return result;
  }

  DistanceResult finished(std::vector<int> unit_of_rank, Method method, std::uint64_t evaluated) const {
    DistanceResult result;
    result.placement.unit_of_rank = std::move(unit_of_rank);
    result.cost = weighted_distance(traffic_, distances_, result.placement.unit_of_rank);
    result.method = method;
    result.evaluated = evaluated;
    return result;
  }

  /// A bound is cheap; where it meets the cost, it is the proof.
  void settle_by_simple_bound(DistanceResult& result) const {
    result.bound = std::min(result.cost, simple_distance_bound(traffic_, distances_));
    if (result.bound < result.cost) return;
    result.proven_optimal = true;
    result.statement = "least weighted distance: it equals a lower bound (every rank's peers on its nearest units)";
  }

  const PairTraffic& traffic_;
  const Distances& distances_;
  const DistanceOptions& options_;
};

}  // namespace

Result<DistanceResult> search_distance(const PairTraffic& traffic, const Distances& distances,
                                       const DistanceOptions& options) {
  if (Status status = check(distances); !status.ok()) return status;
  if (Status status = check_method(Objective::distance, options.method, "distance"); !status.ok()) return status;
  if (traffic.ranks < 1 || traffic.ranks > distances.units) {
    return bad_field("", "ranks", std::to_string(traffic.ranks), "1.." + std::to_string(distances.units));
  }
  return DistanceSearch(traffic, distances, options).run();
}

}  // namespace corewise::place
