// What an enumeration of placements is asked for, and what it found.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "machine/placement.hpp"
#include "place/cost.hpp"

namespace corewise::place {

struct ExhaustiveOptions {
  bool find_worst = true;         ///< evaluates every representative
  std::size_t keep_optimal = 16;  ///< how many optimal representatives to return
};

struct ExhaustiveResult {
  machine::Placement best;
  Score best_score;
  std::vector<machine::Placement> optimal;  ///< up to keep_optimal, one per orbit, ascending, `best` first
  std::uint64_t optimal_count = 0;          ///< placements with the best score among all that are covered
  std::optional<machine::Placement> worst;
  Score worst_score;
  std::uint64_t evaluated = 0;  ///< representatives evaluated whole
  std::uint64_t excluded = 0;   ///< representatives left out because part of their load exceeds the best
  std::uint64_t covered = 0;    ///< all placements
  std::uint64_t group_order = 1;
  bool within_limits = false;  ///< `covered` are the placements that limits allow
};

}  // namespace corewise::place
