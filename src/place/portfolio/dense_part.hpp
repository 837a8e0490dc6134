// Dense part: the ranks with most traffic, where they exchange most of it among themselves, and the pattern that
// they are alone. What minimises the work of all links packs such ranks together, and no small move spreads them
// again: their links then decide the bottleneck. So they are placed first, with the whole machine for themselves.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "place/links/objective.hpp"

namespace corewise::place {

struct DensePart {
  std::vector<int> ranks;  ///< the most traffic first; none where no part stands out
  Workload work;           ///< the messages among them, rank k being ranks[k]

  /// A tenth of the ranks, where each exchanges in the mean three quarters as much with the others of them as a
  /// rank of the pattern does with all.
  static DensePart of(const Workload& work);
};

}  // namespace corewise::place
