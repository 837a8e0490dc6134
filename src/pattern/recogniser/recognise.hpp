// The recogniser: names the pattern that a communication matrix shows. Templates are the generators' families with
// unpermuted ranks; each is compared with the matrix and gets a degree of match.
//
// Degree of match: a Jaccard index over the set of communicating pairs, weighted by bytes. With S the pairs that
// exchange bytes (self messages and pairs of zero bytes are ignored), T the template's pairs, B(X) the bytes that
// the matrix shows on X and m = B(S and T) / |S and T| the mean of a matched pair:
//
//     degree = B(S and T) / (B(S) + m * |T without S|)
//
// the share of the bytes that the template explains, lowered by every expected pair that stays silent as if it
// carried an average message. It is 1 exactly when the pair sets are equal, whatever the volumes; a template that
// shares no pair has degree 0.
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
#include <string_view>
#include <vector>

#include "pattern/generators/generate.hpp"
#include "pattern/pattern.hpp"

namespace corewise::pattern {

/// Whether an axis wraps around. On an axis of two ranks one cannot tell: both neighbours are the same rank.
enum class Wrap { open, periodic, either };

std::string_view wrap_name(Wrap wrap);

struct Match {
  std::string family;          ///< name in the table of generators
  std::string label;           ///< for people, e.g. "3D halo 4x2x2, periodic, faces+edges"
  std::vector<int> dims;       ///< process grid, last axis fastest; empty where the family has none
  std::vector<Wrap> periodic;  ///< per axis of a halo; empty otherwise
  std::string stencil;         ///< of a 2D or 3D halo: "faces", "faces+edges", "faces+edges+corners"
  double degree = 0;           ///< see above
  bool volumes_fit = false;    ///< whether the template's volume model fits the bytes seen
  Parameters parameters;       ///< generate(family, parameters) gives the template's pairs
};

/// Below this degree a match is a resemblance, not a name.
inline constexpr double convincing_degree = 0.75;

/// All matches of at least `least_degree`, best first. Empty for a matrix that moves no bytes between ranks.
std::vector<Match> recognise(const Matrix& matrix, double least_degree = 0.25);

/// The best match's label, or "none" when there is no convincing one.
std::string headline(const std::vector<Match>& matches);

}  // namespace corewise::pattern
