// Multilevel: maps hundreds to thousands of ranks onto a tree of nodes, sockets and core complexes with little
// weighted distance. Top down: the ranks of a tree node are split among its children, exactly by their sizes, by
// recursive bisection (multilevel_graph.hpp); pairs of children are refined; swaps follow on J as a whole.
//
// Contract: the result is always a valid placement, also where ranks are fewer than units (the units left over are
// vertices without traffic). Same input, same result. Nothing is proven.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "machine/placement.hpp"
#include "place/distance/distance.hpp"

namespace corewise::place {

struct MultilevelOptions {
  std::uint64_t seed = 1;
  /// 1: one run. More: the best of `effort` runs and of one whose bisections are repeated `effort` times and whose
  /// pairs of children are split anew, then annealed with 100 * effort proposals per unit. Never worse than 1 with
  /// the same seed; time grows in proportion.
  int effort = 1;
};

struct MultilevelResult {
  machine::Placement placement;  ///< in the user's numbers of units
  double cost = 0;               ///< J
};

/// More ranks than units is the one error.
Result<MultilevelResult> multilevel(const PairTraffic& traffic, const Tree& tree,
                                    const MultilevelOptions& options = {});

}  // namespace corewise::place
