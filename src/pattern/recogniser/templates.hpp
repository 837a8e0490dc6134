// Templates: what the recogniser compares a matrix with. Private to this room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "pattern/recogniser/compare.hpp"

namespace corewise::pattern {

// Tolerances: bytes of an application's neighbours vary with uneven subdomains; those of a collective do not.
inline constexpr double loose = 2.0;
inline constexpr double tight = 1.05;

/// Every template of this many ranks except halos, in order of preference. Those that have too few pairs to reach
/// `least_degree` may be left out.
std::vector<Template> plain_templates(const Observed& observed, double least_degree);

/// The transposes in rows, in columns and in both of a grid.
std::vector<Template> transpose_templates(const std::vector<int>& dims);

/// Rings and open chains of this many ranks.
std::vector<Template> line_templates(int ranks);

/// What the family's generator makes of one-byte messages, all pairs in one group.
Template generated_template(const std::string& family, Parameters parameters, std::string label, int preference,
                            double tolerance);

/// One halo: whether each axis wraps, and on how many axes a neighbour may move.
Template halo_template(const std::vector<int>& dims, const std::vector<bool>& wrapping, int reach);

/// The halo templates that match best: for each number of axes, all that match exactly and the best of the others.
/// Grids on which no halo can reach `least_degree` are not looked at.
std::vector<Template> halo_templates(const Observed& observed, double least_degree);

}  // namespace corewise::pattern
