// The whole problem on one rank, every atom with every other: what the ranks must reproduce within rounding.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "crystal.hpp"

namespace md {

struct Reference {
  std::vector<Vector> positions;  ///< by number, at the end
  double energy = 0;              ///< at the end
};

/// Takes the square of the number of atoms in time for every step. Every edge is at least two cut-offs.
Reference solve_serially(const Counts& cells, double step, int steps);

/// The largest distance of an atom from its place in the reference, round the periodic box; NaN where one is
/// missing.
double farthest(const std::vector<Vector>& positions, const Reference& reference, const Counts& cells);

}  // namespace md
