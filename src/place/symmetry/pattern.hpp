// Pattern symmetry: which ranks of a pattern can trade places so that the same is sent in its phases, in another
// order perhaps. Owns the search for such permutations and the order constraints that follow from them.
//
// A permutation p of ranks is a symmetry if the phases can be exchanged, each for one of the same weight, so that
// the one sends from p(a) to p(b) what the other sends from a to b. A cost is a sum over the phases, so f and f
// after p have the same cost for every placement f, whatever the machine. Let M be machine symmetries
// (permutations of units) and P pattern symmetries: they act together on placements, f -> m f p^-1, and keep the
// cost. Of every orbit under M x P the lexicographically least placement (ranks in a fixed order, units by number)
// satisfies
//   (1) f(i) is the least unit of its orbit under the members of M that fix f(0) to f(i-1), and
//   (2) f(i) < f(j) for every j in the orbit of i under the members of P that fix 0 to i-1:
// were (1) wrong, some m would make f smaller alone; were (2) wrong, some p would. Both hold for the same placement
// of the orbit, so a search that skips what breaks (1) or (2) still meets every cost (Puget, IJCAI 2005, for (2)).
// Subgroups of M and P give weaker conditions of the same form: a symmetry that is not found costs only time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "place/links/objective.hpp"

namespace corewise::place {

/// Image of rank r at [r].
using RankPermutation = std::vector<int>;

struct PatternSymmetry {
  /// With each one the position in the order up to which it fixes the ranks.
  std::vector<std::pair<int, RankPermutation>> generators;
  /// Pairs (a, b) of ranks: the unit of a may be taken to be less than that of b. `a` comes earlier in the order.
  std::vector<std::pair<int, int>> before;
};

/// Symmetries of a pattern along a chain of stabilisers in this order of the ranks (a permutation of all ranks).
/// Gives up on a single image after `most_steps` steps.
PatternSymmetry pattern_symmetry(const Workload& work, const std::vector<int>& order,
                                 std::uint64_t most_steps = 20'000);

/// The definition above, checked for one permutation.
bool is_pattern_symmetry(const Workload& work, const RankPermutation& permutation);

}  // namespace corewise::place
