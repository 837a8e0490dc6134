// A communication matrix as a graph: for every rank its peers, in ascending order, with the direction and the bytes
// of what they exchange. What the reconstruction of relabelled ranks works on. Private to this room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pattern/pattern.hpp"

namespace corewise::pattern {

class Graph {
 public:
  /// Bits of `Arc::kind`.
  static constexpr unsigned char sends = 1;
  static constexpr unsigned char receives = 2;
  static constexpr unsigned char mutual = 3;

  struct Arc {
    int to = 0;
    unsigned char kind = 0;   ///< what the rank at the arc's beginning does
    std::uint64_t bytes = 0;  ///< both ways
  };

  /// Self messages and pairs of zero bytes are left out. `pairs` is sorted by (from, to).
  Graph(int ranks, const std::vector<Message>& pairs);

  [[nodiscard]] int ranks() const { return static_cast<int>(first_.size()) - 1; }
  [[nodiscard]] std::span<const Arc> arcs(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return {arcs_.data() + first_[at], first_[at + 1] - first_[at]};
  }
  [[nodiscard]] int degree(int rank) const { return static_cast<int>(arcs(rank).size()); }
  /// Pairs that exchange something, each counted once.
  [[nodiscard]] std::size_t edges() const { return arcs_.size() / 2; }
  /// Edges on which both ranks send.
  [[nodiscard]] std::size_t mutual_edges() const { return mutual_edges_; }
  /// 0 where the two exchange nothing.
  [[nodiscard]] unsigned char kind(int from, int to) const;
  [[nodiscard]] int common_peers(int a, int b) const;
  /// Degrees, ascending.
  [[nodiscard]] std::vector<int> degrees() const;

  /// The same without the arcs for which `keep(from, arc)` is false, which must decide alike from both ends; where
  /// asked for, as if on all others both ranks sent.
  template <class Keep>
  [[nodiscard]] Graph filtered(Keep keep, bool as_mutual = false) const {
    Graph graph;
    graph.first_.push_back(0);
    for (int rank = 0; rank < ranks(); ++rank) {
      for (const Arc& arc : arcs(rank)) {
        if (!keep(rank, arc)) continue;
        graph.arcs_.push_back({arc.to, as_mutual ? mutual : arc.kind, arc.bytes});
        graph.mutual_edges_ += graph.arcs_.back().kind == mutual && arc.to > rank;
      }
      graph.first_.push_back(graph.arcs_.size());
    }
    return graph;
  }

 private:
  Graph() = default;

  std::vector<std::size_t> first_;
  std::vector<Arc> arcs_;
  std::size_t mutual_edges_ = 0;
};

/// Without the pairs that look like chance: in a pattern that mostly goes both ways, one-way pairs that share fewer
/// peers (or lie on fewer squares of four ranks) than half the usual; in a one-way pattern, pairs on no square.
/// Where pairs share no peers and lie on no squares (rings, trees), everything is kept. In a pattern that mostly
/// goes both ways, what is kept goes both ways: the silent half is taken for lost.
Graph without_chance_pairs(const Graph& graph);

}  // namespace corewise::pattern
