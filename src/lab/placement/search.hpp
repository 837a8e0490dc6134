// Placement search by time: the placement whose contended time is least, by flow or by simulation. Owns the choice
// between enumeration and local search for such a cost, and which symmetry an enumeration may use.
//
// Which symmetry is sound. Link loads may use the merged group, times may not: a stop that only forwards still
// takes time, and a simulator's arbiter breaks ties between equals by their number. By flow, rates depend on the
// set of flows alone: permutations of the unmerged group that also keep every route's latency keep every time, up
// to the rounding of a time to ticks. By packets and on a Cell, units that a drawing of the machine would call
// equal are not: arbiters, command queues and rank order decide ties (tests/cpp/lab/placement/test_search.cpp shows
// placements of one orbit with different times); there every placement stands for itself.
//
// Contract: the result is a valid placement, never slower than any start. `proven_optimal` only where every orbit
// under the sound group was timed. The same input gives the same result, unless `should_stop` says so.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/placement/cost.hpp"
#include "machine/placement.hpp"

namespace corewise::lab {

enum class SearchMethod { automatic, exhaustive, local };

struct NamedStart {
  std::string name;
  machine::Placement placement;
};

struct TimeSearchOptions {
  SearchMethod method = SearchMethod::automatic;
  std::uint64_t seed = 1;
  /// Most placements timed; `automatic` enumerates where so many suffice.
  std::uint64_t evaluations = 50'000;
  std::vector<NamedStart> starts;  ///< besides identity and greedy
  /// Asked before every run of the model; true ends the search with the best so far.
  std::function<bool()> should_stop;
};

struct TimeSearchResult {
  machine::Placement placement;
  double time_ns = 0;
  bool proven_optimal = false;
  std::uint64_t evaluated = 0;              ///< placements timed; one met again is not timed again
  std::string statement;                    ///< one line: the proof, or what was tried
  std::vector<machine::Placement> optimal;  ///< up to 16 equals, one per orbit where enumerated; else the one found
  std::string best_start;                   ///< the fastest start
  double best_start_ns = 0;
  std::optional<machine::Placement> worst;  ///< where enumerated
  double worst_ns = 0;
};

/// Refuses what ContendedTime::of refuses, jitter (a cost must not be drawn), a start that does not fit, and
/// `exhaustive` where there are more than `evaluations` orbits.
Result<TimeSearchResult> search_by_time(const machine::Machine& machine, std::vector<WeightedPattern> patterns,
                                        const TimeOptions& time, const TimeSearchOptions& options = {});

}  // namespace corewise::lab
