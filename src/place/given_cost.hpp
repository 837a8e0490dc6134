// A cost from outside, such as a contended time, and the search for the placement where it is least.
//
// Which symmetry is sound. Link loads may use the merged group, times may not: a stop that only forwards still
// takes time. Permutations of the unmerged group that also keep every route's latency keep a time that depends on
// the set of flows alone. A simulator whose arbiters break ties by number keeps nothing, and there every placement
// stands for itself (tests/cpp/lab/placement/test_search.cpp shows placements of one orbit with different times).
// So the cost itself says whether it is symmetric.
//
// Contract: the result is never worse than any start. The whole placement is evaluated after every move, and one
// met again is not evaluated again. The same input gives the same result, unless `should_stop` ends the search.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "machine/placement.hpp"
#include "place/cost.hpp"
#include "place/exhaustive.hpp"
#include "place/limits.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::place {

/// A time, and the messages (sender, receiver) that it waits for, each once, those of its longest phases first.
struct Awaited {
  double time = 0;
  std::vector<std::pair<int, int>> last;
};

struct GivenCost {
  std::string name;                              ///< of the objective, for messages
  std::function<Result<double>(Assignment)> of;  ///< smaller is better
  /// The same cost where it is a time, with what it waits for; who wants that asks this instead. No function:
  /// nobody can tell.
  std::function<Result<Awaited>(Assignment)> awaited = {};
  bool concurrent = false;             ///< several threads may ask at once
  bool symmetric = false;              ///< whether the machine's unmerged group keeps it
  bool bounded_by_loads = false;       ///< never less than the time of the busiest link, phases summed,
  double delay = 0;                    ///< and, where a link carries anything, this on top of it
  double resolution = 0;               ///< costs that differ by less count as one
  std::uint64_t evaluations = 50'000;  ///< at most; all placements are looked at where so many suffice
};

struct GivenCostResult {
  machine::Placement best;
  double cost = 0;
  std::uint64_t evaluated = 0;
  std::string statement;                        ///< one line: the proof, or what was tried
  std::optional<ExhaustiveResult> enumeration;  ///< where every placement was covered
};

/// What an enumeration looks at, and by a group of which order it covers the rest.
struct Orbits {
  Representatives representatives;
  std::uint64_t order = 1;
};

struct GivenCostSearch {
  int ranks = 0;
  int units = 0;
  std::vector<machine::Placement> starts;  ///< at least one; evaluated first
  std::optional<Orbits> all;               ///< enumerated; nothing: searched locally
  Limits limits = {};                      ///< that every start keeps
  bool all_allowed = false;                ///< look at every placement within the limits
  std::uint64_t seed = 1;
  std::function<bool()> should_stop = {};  ///< asked before every evaluation
};

Result<GivenCostResult> search_given_cost(const GivenCost& cost, const GivenCostSearch& how);

}  // namespace corewise::place
