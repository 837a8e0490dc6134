// A match: a template that a communication matrix resembles, and how much. Owns the degree of match, by which every
// part of the recogniser measures.
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

}  // namespace corewise::pattern
