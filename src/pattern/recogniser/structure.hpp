// The recogniser for relabelled ranks: names the pattern of a matrix whose ranks may be numbered in any way, and
// says which rank plays which part.
//
// How: light or unsupported pairs are pruned (graph.hpp), templates with a fitting distribution of peers and of
// distances are chosen, each is laid on the graph (reconstruct.hpp), and the matrix, renumbered by what came out,
// is compared with the template as if its ranks had never been relabelled. So a degree of match means what it means
// in recognise.hpp, and nothing is claimed that was not measured under the labelling that is handed back.
//
// Noise that it is built for, on patterns whose pairs carry alike up to a factor of two: up to 5 % of the
// template's (directed) pairs silent and as many random ones besides, each carrying at most what a template's pair
// carries.
//
// Families: rings, open chains, halos of two and three axes with every stencil and wrap, one-cornered sweeps,
// hypercubes and folded ones, dissemination, binomial and complete trees, transposes in rows, in columns and in
// both. Patterns that no numbering changes (all-to-all) and those whose centre the plain recogniser finds by itself
// (manager-worker) need no relabelling. Matrix transposes and Bruck's all-to-all are not reconstructed.
//
// Pure and deterministic: no clock, no random numbers, no address decides.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "pattern/recogniser/match.hpp"

namespace corewise::pattern {

struct Relabelled {
  Match match;                 ///< under `positions`; the label ends in ", ranks relabelled"
  std::vector<int> positions;  ///< of every rank, its number in the template
};

/// Templates that some numbering of the ranks makes match with at least `least_degree`, best first by the order of
/// recognise.hpp. Equals (degree 1) are all listed, as far as they were tried: at most four halos.
std::vector<Relabelled> recognise_relabelled(const Matrix& matrix, double least_degree = convincing_degree);

/// The same messages between renumbered ranks. Requires a permutation.
Matrix renumbered(const Matrix& matrix, const std::vector<int>& positions);

}  // namespace corewise::pattern
