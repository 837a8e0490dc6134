// Local search: good placements where enumeration is out of reach. Swaps and moves to empty units, descending
// from several starts, then from kicked copies of the best. Proves nothing and says so by its type.
//
// Contract: the result is always a valid placement and never worse than the best start. Same cost, starts and
// options give the same result; the budget counts evaluated placements, not time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "machine/placement.hpp"
#include "place/cost.hpp"
#include "place/limits.hpp"

namespace corewise::place {

enum class Direction { minimise, maximise };

struct LocalSearchOptions {
  std::uint64_t seed = 1;
  std::uint64_t budget_evaluations = 200'000;
  int random_starts = 4;  ///< besides those given
  Direction direction = Direction::minimise;
  Limits limits = {};                      ///< every start is brought within them
  std::function<bool()> should_stop = {};  ///< asked every 1024 evaluations; true ends the search
};

struct LocalSearchResult {
  machine::Placement best;
  Score score;
  std::uint64_t evaluated = 0;
};

/// Requires valid starts of the cost's ranks on its units, at least one start or random_starts >= 1.
LocalSearchResult local_search(IncrementalCost& cost, const std::vector<machine::Placement>& starts,
                               const LocalSearchOptions& options = {});

}  // namespace corewise::place
