// Portfolio: the search beyond the sizes that can be proven. Many starts and several ways of improving them, all
// under one cost; the best placement wins, and the result says where it came from. Owns the order in which effort
// is spent, and the comparison at the end.
//
// A round takes an origin (a start, a fresh annealing of the work or of the stress, a shape grown rank by rank, a
// dense part of the pattern spread before the others came, or the best so far, shaken), anneals its smooth link
// loads at a low and at a high power and lets it descend on all loads sorted from the worst link down. What comes
// out is judged: by the bottleneck, by the cost that is handed in, or first by one and then by the other. A judged
// cost that no placement can have below its busiest link's time (`bounded_by_loads`) is not asked where that time
// already loses. A judge that can name the messages it waits for (`awaited`) is relieved of them, one move of a
// rank after the other; near the best of any other judge, moves that hardly change the loads are judged.
//
// Contract: the result is never worse than any start, by the objective, and among equals by the other measure.
// Effort is counted in placements proposed; the same input and seed give the same result, unless `should_stop`
// ends it, or one of several workers finds what is enough before another does.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "machine/placement.hpp"
#include "place/given_cost.hpp"
#include "place/limits.hpp"
#include "place/links/objective.hpp"
#include "place/references.hpp"

namespace corewise::place {

/// Models of contended time differ by more than this.
inline constexpr double leader_slack = 1.05;

struct PortfolioOptions {
  std::vector<NamedStart> starts;       ///< at least one
  GivenCost judge = {};                 ///< no function: the bottleneck alone decides
  bool judge_first = false;             ///< the judge's cost is the objective; else the bottleneck is
  std::uint64_t proposals = 2'000'000;  ///< at most, but for the last round; of judged ones `judge.evaluations`
  std::uint64_t seed = 1;
  /// Threads that search side by side, each with all of the effort and a seed of its own; the best of all wins. The
  /// first has `seed` and asks `should_stop` for all, and where there is one, its end is everybody's. A judge is
  /// asked by several at once then.
  int workers = 1;
  Limits limits = {};                      ///< that every start keeps
  std::size_t leaders = 0;                 ///< also so many of the best, for somebody who sees more than the judge
  double enough = 0;                       ///< a cost by the objective that nothing can be below: reached, it ends
  std::function<bool()> should_stop = {};  ///< asked now and then
};

struct PortfolioResult {
  machine::Placement best;
  double bottleneck_ns = 0;
  double judged = 0;   ///< by the judge; 0 where there is none
  std::string origin;  ///< where the best came from, in words
  /// The best and others of at most `leader_slack` times its judged cost, by cost, each with other link loads.
  std::vector<NamedStart> leaders = {};
  std::uint64_t proposals = 0;  ///< placements whose link loads were looked at
  std::uint64_t timed = 0;      ///< placements that were judged
  std::uint64_t rounds = 0;
  bool stopped = false;
};

/// `shares`: of the machine as described. Errors are those of the judge.
Result<PortfolioResult> search_portfolio(const RoutedShares& shares, const Workload& work,
                                         const PortfolioOptions& options);

}  // namespace corewise::place
