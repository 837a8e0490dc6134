// In which order branch and bound places the ranks. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "place/limits.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

/// Heaviest talkers first. Then, of several phases, whoever raises most what they cost at least, so that all cost
/// something soon; of those, whoever talks most with those already in the order. Fixed ranks before all others.
std::vector<int> placing_order(const Workload& work, const Limits& limits);

}  // namespace corewise::place
