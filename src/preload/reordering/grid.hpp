// Which rank takes which place of a process topology: a pure function of the graph and of distances.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::preload::reorder {

/// Neighbours of every place; an edge may stand on both of its sides.
using Neighbours = std::vector<std::vector<int>>;

/// The neighbours of every place of a Cartesian grid, in MPI's row-major order (MPI-4.1, 8.4).
Neighbours grid_neighbours(const std::vector<int>& dims, const std::vector<bool>& periodic);

/// Places members on the graph's places so that the sum of distances over its edges is small: from the identity,
/// swaps that lower it, in a fixed order, until none does or a fixed number was tried. Never worse than the
/// identity.
///
/// Args: distances, members x members, row by row; the graph has at most as many places as there are members.
/// Returns the member at every place; members beyond the places stay out.
std::vector<int> arrange(const Neighbours& graph, const std::vector<std::int64_t>& distances, std::size_t members);

}  // namespace corewise::preload::reorder
