// Exhaustive search: the best placement with a proof, by evaluating one placement of every symmetry orbit.
// Owns the enumeration and its accounting.
//
// Contract: the best placement is least by (primary score, secondary score, lexicographic order of unit_of_rank)
// among all placements, not only among the representatives; the same holds for the worst (greatest scores, then
// first in lexicographic order). Without `find_worst`, starts whose load so far already exceeds the best known
// are left out and counted in `excluded`; evaluated + excluded is always the number of representatives. Single
// threaded, no allocation per placement.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "place/cost.hpp"
#include "place/exhaustive_result.hpp"
#include "place/limits.hpp"
#include "place/links/objective.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::place {

/// "optimal: 2520 placements evaluated covering all 40320 by a group of 16", and what was excluded.
std::string proof_statement(const ExhaustiveResult& result);

/// Link loads; requires check_fits(shares, work) and representatives of the same machine and number of ranks.
/// Without `find_worst` ranks are placed in the order of their traffic with those already placed, so that
/// hopeless starts show early.
class LinkLoadEnumeration {
 public:
  /// Prepares a machine once for many patterns.
  LinkLoadEnumeration(const RoutedShares& shares, const Symmetry& symmetry, Representatives representatives);

  [[nodiscard]] ExhaustiveResult run(const Workload& work, const ExhaustiveOptions& options = {}) const;

 private:
  struct Prepared;
  std::shared_ptr<const Prepared> prepared_;
};

/// Any other cost. It must be unchanged by the symmetries that the representatives were made with; where that is
/// unknown, make them with the trivial group (`all_placements`).
ExhaustiveResult exhaustive(const CostFunction& cost, const Representatives& representatives,
                            std::uint64_t group_order, const ExhaustiveOptions& options = {});

/// Every placement that the limits allow, each evaluated; `should_stop` is asked before each.
ExhaustiveResult exhaustive_within(const Limits& limits, const CostFunction& cost,
                                   const std::function<bool()>& should_stop = {});

/// Every placement stands for itself. Requires 1 <= ranks <= units and a number that 64 bits hold.
Representatives all_placements(int units, int ranks);

}  // namespace corewise::place
