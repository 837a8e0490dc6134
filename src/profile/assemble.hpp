// From the tallies of single ranks to worlds: which files belong together, one list of procedures, call sites that
// are the same place in the same file, communicators that are the same on all their members, and one clock unit.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "profile/tally.hpp"

namespace corewise::profile {

/// Groups by launch (launches.hpp) and sums. The same for tallies in any order.
std::vector<World> assemble(std::vector<RankTally> tallies);

}  // namespace corewise::profile
