// Names what a matrix is made of: one template, or several superposed, each on the ranks as they are or relabelled.
//
// A component takes, of every pair that it expects, what its volume model says, or all, where that is within the
// spread of the pairs that carry only this template (the lowest of its group, up to the first jump of 5 % with a
// tenth of the pairs above it, and at most half as much again as their median); so what lies on top of it is left
// for others. What nothing takes is the rest. The search is not greedy: at each step the best few templates are
// tried, of the whole remainder and of its heavy pairs alone, and the decomposition that explains most bytes with
// the fewest components is kept (each component has to explain at least 0.5 % of the bytes). Where the rest has no
// name, what of it lies on pairs of components goes to the heaviest of them: uneven subdomains are no second
// pattern.
//
// The degree of a component is the degree of match of match.hpp without foreign pairs, which belong to others:
// B(S and T) / (B(S and T) + m * |T without S|) with S the pairs of the whole matrix. At least two fifths of its
// pairs must be its own, not taken whole by others before it, and all but the first need two fifths that agree in
// volume.
//
// A rest (or a whole) that no template convinces of is called random sparse when it looks like chance: at least as
// many pairs as ranks, of everybody's numbers of receivers a variance of at most twice the mean, no more triangles
// and squares than chance makes, and no difference between sender and receiver that is far commoner than others.
//
// Pure and deterministic.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pattern/recogniser/match.hpp"

namespace corewise::pattern {

struct Component {
  Match match;                 ///< `degree` as above
  std::vector<int> positions;  ///< of every rank, its number in the template; empty: its own
  std::uint64_t bytes = 0;
  double share = 0;  ///< of all bytes between different ranks
};

struct Naming {
  std::vector<Component> components;  ///< largest share first
  std::uint64_t total_bytes = 0;      ///< between different ranks
  std::uint64_t rest_bytes = 0;       ///< unexplained
  bool random_sparse = false;         ///< the rest looks like chance, and is at least half of all
  double mean_degree = 0;             ///< of a random sparse rest: receivers per rank
};

/// Everything between different ranks, decomposed into at most `most_components` templates.
Naming name(const Matrix& matrix, int most_components = 4);

/// The best single template: on the ranks as they are where that is convincing, else on relabelled ones. The rest
/// is what lies on pairs that the template does not have; its degree is that of match.hpp.
Naming name_one(const Matrix& matrix);

/// "3D halo 4x2x2, periodic, faces + binomial tree from root 0 ...", or "random sparse, mean degree 4.0", or
/// "none".
std::string headline(const Naming& naming);

/// Whether a matrix that no template explains looks like chance.
bool looks_random(const Matrix& matrix);

}  // namespace corewise::pattern
