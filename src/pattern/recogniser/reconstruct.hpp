// Reconstruction of relabelled ranks: which rank plays which part of a template, found from who talks to whom
// alone. Nothing here claims a match: a reconstruction is a proposal, and structure.cpp measures its degree of
// match.
//
// Contract: pure and deterministic; positions are a permutation of the ranks. Private to this room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "pattern/recogniser/graph.hpp"

namespace corewise::pattern {

/// Position in the template of every rank.
using Positions = std::vector<int>;

struct Reconstruction {
  Positions positions;
  double agreement = 0;  ///< share of the directed pairs of graph and template that coincide
};

/// What does not depend on the template: how each rank's surroundings look.
class Surroundings {
 public:
  explicit Surroundings(const Graph& graph);
  /// Ranks whose peers look most like those of a position of `wanted`, best first, at most `most`.
  [[nodiscard]] std::vector<int> like(const Graph& wanted, int position, int most) const;

 private:
  std::vector<std::vector<int>> signatures_;
};

/// Any connected template that shares peers or squares: a rank is taken for an anchor (a position of the template),
/// its peers are assigned so that their mutual relations agree, and from there every rank goes where most of its
/// placed peers want it. Anchors are tried in turn.
Reconstruction grown(const Graph& seen, const Surroundings& surroundings, const Graph& wanted,
                     const std::vector<int>& anchors, int tries);

/// Ranks in the order of a ring or chain: the heaviest pairs that form paths, joined end to end.
Positions along_a_line(const Graph& seen);

/// Trees: the heaviest spanning tree, laid on the template from the root down by the sizes of the subtrees.
Positions along_a_tree(const Graph& seen, const Graph& wanted);

/// Groups of ranks in which everybody talks to everybody, of one size; rows of that grid.
struct Grouping {
  int rows = 0;
  int columns = 0;
  Positions positions;
};
std::optional<Grouping> separate_groups(const Graph& seen);
/// Everybody talks to everybody in the same row and in the same column of a grid.
std::optional<Grouping> rows_and_columns(const Graph& seen);

}  // namespace corewise::pattern
