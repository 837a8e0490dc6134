// Distances as an array of Python's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bind/arrays.hpp"
#include "place/distance/distance.hpp"

namespace corewise::bind {

/// Raises InputError for an array that is not square or not symmetric.
place::Distances to_distances(const MatrixIn<double>& array);

}  // namespace corewise::bind
