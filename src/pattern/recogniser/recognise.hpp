// The recogniser: names the pattern that a communication matrix shows. Templates are the generators' families with
// unpermuted ranks; each is compared with the matrix and gets a degree of match (match.hpp).
//
// Order of the list: higher degree first; among equals, templates whose volume model fits first (pairs that the
// template expects to be alike, e.g. all faces of one axis, carry like bytes); then the simpler description, in
// this order: ring, all-to-all, halo 1D, 2D, 3D, transpose, matrix transpose, wavefront, binomial tree, complete
// tree, manager-worker, recursive doubling, hypercube, dissemination, Bruck, pairwise exchange, ring all-gather;
// then smaller first dimension. So the 27-point halo on 2x2x2 ranks, whose pairs are also an all-to-all's, is a
// halo when faces, edges and corners differ in bytes, and an all-to-all when all are alike; the faces of 2x2x2 are
// named a halo before a hypercube. All templates of degree 1 are equivalents and stay in the list; of the others
// only the best of each family does.
//
// Pure and deterministic.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "pattern/recogniser/match.hpp"

namespace corewise::pattern {

/// All matches of at least `least_degree`, best first. Empty for a matrix that moves no bytes between ranks.
std::vector<Match> recognise(const Matrix& matrix, double least_degree = 0.25);

/// The best match's label, or "none" when there is no convincing one.
std::string headline(const std::vector<Match>& matches);

}  // namespace corewise::pattern
