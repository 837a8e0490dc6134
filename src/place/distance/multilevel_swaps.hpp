// Multilevel swaps: J of a mapping onto a tree, improved by exchanging what two units hold; private to the room.
// Owns descent by swaps towards neighbours, and annealing with swaps.
//
// Contract: holders stay a permutation; J never ends above where it started. Vertices beyond the traffic's ranks
// are units left empty. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "place/distance/distance.hpp"

namespace corewise::place {

class TreeSwaps {
 public:
  /// `position_of_vertex`: a permutation of the tree's positions; the first `traffic.ranks` vertices are the ranks.
  TreeSwaps(const PairTraffic& traffic, const Tree& tree, std::vector<int> position_of_vertex);

  [[nodiscard]] const std::vector<int>& positions() const { return position_; }
  [[nodiscard]] double cost() const;
  /// The mapping of another one of the same traffic and tree.
  void take(TreeSwaps other);
  /// Swaps that lower J, until none is found.
  void descend();
  /// Annealing from moderate temperature, then descent from the best state met.
  void anneal(std::uint64_t proposals, Rng& rng);

 private:
  /// J's terms of a vertex, were it at `position` and all others where they are.
  [[nodiscard]] double terms(int vertex, int position) const;
  [[nodiscard]] double swap_gain(int vertex, int other) const;
  void swap(int vertex, int other);
  bool improve(int vertex);
  void index_groups();

  const PairTraffic& traffic_;
  const Tree& tree_;
  std::vector<int> position_;   ///< of vertex
  std::vector<int> vertex_at_;  ///< of position
  std::vector<int> group_of_;   ///< node of level 1, of position
  std::vector<int> seen_;       ///< of group: the last mark
  int mark_ = 0;
  double least_gain_ = 0;  ///< smaller gains are rounding
};

}  // namespace corewise::place
