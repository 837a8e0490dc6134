// Distance branch and bound: the least weighted distance with proof; private to the weighted distance search. Owns
// the tree walk: the Gilmore-Lawler bound of every node, the choice of the rank or unit to branch on, pairs
// excluded by reduced costs, symmetry of distances and of flows.
//
// Contract: `proven` only where every placement was covered by a bound, a symmetry or an evaluation. Nodes are
// counted, no clock is read; `should_stop` is polled every 256 nodes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "place/distance/bound.hpp"

namespace corewise::place {

struct BranchOptions {
  std::uint64_t nodes = 5'000'000;  ///< bounds computed
  std::function<bool()> should_stop;
};

struct BranchResult {
  std::vector<int> unit_of_rank;  ///< size entries, the empty ranks too
  std::int64_t cost = 0;
  std::int64_t bound = 0;  ///< no placement costs less
  bool proven = false;
  std::uint64_t nodes = 0;
};

/// Swaps in many descents: a start for the proof. Deterministic.
std::vector<int> descend_by_swaps(const AssignmentProblem& problem, std::uint64_t seed, int descents);

/// Requires a problem of at most 64 units and a start of `size` entries.
BranchResult branch_and_bound(const AssignmentProblem& problem, std::vector<int> start,
                              const BranchOptions& options);

}  // namespace corewise::place
