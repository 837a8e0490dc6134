// Distance search: by the weighted distance J, on a machine or on distances alone (search.hpp is the room's front).
// Chooses branch and bound (with proof), the multilevel mapping (trees) or local search. Owns that choice.
//
// Contract: the placement is always valid; the same input gives the same result unless `should_stop` cuts a proof
// short. `bound` is proven whatever the method: no placement has a smaller J. More ranks than units is one error.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "machine/placement.hpp"
#include "place/distance/distance.hpp"
#include "place/limits.hpp"
#include "place/method.hpp"

namespace corewise::place {

struct DistanceOptions {
  std::uint64_t seed = 1;
  Method method = Method::automatic;
  std::uint64_t nodes = 5'000'000;            ///< of branch and bound
  std::uint64_t local_evaluations = 200'000;  ///< of local search
  int effort = 4;                             ///< of the multilevel mapping
  int exact_units = 16;                       ///< automatic: branch and bound up to so many units
  Limits limits = {};                         ///< any: automatic is local search; the other methods know none
  std::function<bool()> should_stop;          ///< polled now and then; the multilevel mapping runs to its end
};

struct DistanceResult {
  machine::Placement placement;
  double cost = 0;   ///< J of `placement`
  double bound = 0;  ///< J of no placement is smaller
  bool proven_optimal = false;
  Method method = Method::local;  ///< the one used
  std::string statement;          ///< one line: the proof, or what was tried
  std::uint64_t evaluated = 0;    ///< nodes of the proof, else placements
};

/// Errors: distances that break the contract of distance.hpp, more ranks than units, exhaustive search, branch and
/// bound for more than 64 units or for distances that are no multiples of 10^-6, multilevel asked for distances of
/// no tree, both with limits.
Result<DistanceResult> search_distance(const PairTraffic& traffic, const Distances& distances,
                                       const DistanceOptions& options = {});

}  // namespace corewise::place
