// Multilevel graph: the weighted graph that the multilevel mapping splits, and its split in two; private to the
// room. Owns coarsening by heavy-edge matching, growing of first splits, and Fiduccia-Mattheyses refinement.
//
// Contract: bisect() returns exactly the weight asked for on side 0 where all vertices weigh 1. Same graph, numbers
// and random state give the same split.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"

namespace corewise::place {

/// Undirected; every edge stands in the lists of both ends.
struct SplitGraph {
  struct Edge {
    int to = 0;
    std::int64_t weight = 0;
  };
  std::vector<int> first{0};  ///< vertices + 1 entries into `edges`
  std::vector<Edge> edges;
  std::vector<int> vertex_weight;

  [[nodiscard]] int vertices() const { return static_cast<int>(vertex_weight.size()); }
  [[nodiscard]] std::span<const Edge> edges_of(int vertex) const {
    const auto at = static_cast<std::size_t>(vertex);
    return {edges.data() + first[at], static_cast<std::size_t>(first[at + 1] - first[at])};
  }
};

/// Side, 0 or 1, of vertex v at [v].
using Sides = std::vector<std::uint8_t>;

/// Cuts subgraphs out of one graph again and again.
class SubgraphCutter {
 public:
  explicit SubgraphCutter(const SplitGraph& whole) : whole_(whole), name_(whole.vertex_weight.size(), -1) {}
  /// Vertex k of the result is vertices[k]; edges to others are dropped.
  SplitGraph cut_out(std::span<const int> vertices);

 private:
  const SplitGraph& whole_;
  std::vector<int> name_;
};

/// Sum of the weights of the edges between the sides.
std::int64_t cut_of(const SplitGraph& graph, const Sides& sides);

struct SplitEffort {
  int first_splits = 6;  ///< tries on the coarsest graph
  int runs = 1;          ///< whole multilevel runs, the best is kept
};

/// Splits so that side 0 weighs `weight0` (0 .. total), with a small cut.
Sides bisect(const SplitGraph& graph, int weight0, const SplitEffort& effort, Rng& rng);

/// Improves a split whose side 0 weighs `weight0` already and returns what the cut has lost (0 or more). Exact only
/// where all vertices weigh 1.
std::int64_t refine(const SplitGraph& graph, int weight0, Sides& sides);

}  // namespace corewise::place
