// The same flow computed plainly by one process: no decomposition, no ghosts, populations pushed to where they go.
// Written apart from the parallel program so that the two share no mistake but the start and the lattice itself.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "taylor_green.hpp"

namespace lbm {

/// All cells in lexicographic order (z fastest) after `steps` steps and the collision that ends them.
std::vector<Cell> reference(const TaylorGreen& vortex, const Vector& size, double tau, long steps);

}  // namespace lbm
