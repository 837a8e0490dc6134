// Distance: the weighted distance J of a placement, its inputs and its evaluation. Owns the traffic of a pattern as
// an undirected graph, the distance matrix of a machine, and trees whose distances depend on the lowest common
// level only. This is the objective of the process mapping literature (a quadratic assignment problem); it knows no
// links, so it says nothing about contention: it is here for comparison and as a start for other searches.
//
// Contract: J = sum over unordered pairs {a, b} of ranks of (bytes a -> b plus bytes b -> a) * distance(unit of a,
// unit of b). KaHIP and SharedMap report 2J for a symmetric matrix given in both directions. Distances are
// symmetric, finite, not negative, zero from a unit to itself. J is exact while it is an integer below 2^53.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "pattern/pattern.hpp"
#include "place/cost.hpp"

namespace corewise::place {

/// Bytes both ways between pairs of ranks, as lists of neighbours; self messages and empty pairs are left out.
struct PairTraffic {
  struct Peer {
    int rank = 0;
    std::int64_t bytes = 0;

    friend bool operator==(const Peer&, const Peer&) = default;
  };
  int ranks = 0;
  std::vector<std::size_t> first;  ///< ranks + 1 entries into `peers`
  std::vector<Peer> peers;         ///< of rank r, ascending by rank, at [first[r], first[r + 1])

  [[nodiscard]] std::span<const Peer> peers_of(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return {peers.data() + first[at], first[at + 1] - first[at]};
  }
};

/// Phases summed. Refuses what pattern::check refuses, and totals of 2^61 bytes or more.
Result<PairTraffic> traffic_of(const pattern::Pattern& pattern);
Result<PairTraffic> traffic_of(const pattern::Matrix& matrix);

/// units * units values, row by row.
struct Distances {
  int units = 0;
  std::vector<double> at;

  [[nodiscard]] double operator()(int from, int to) const {
    return at[static_cast<std::size_t>(from) * static_cast<std::size_t>(units) + static_cast<std::size_t>(to)];
  }
};

/// The contract above; `source` is named in the error.
Status check(const Distances& distances, const std::string& source = {});

enum class DistanceKind {
  latency,  ///< sum of the latencies of the links of the route, ns
  hops,     ///< number of links
};

/// From the routes of a machine: the mean over tied routes and over both directions.
Distances distances_of(const machine::Machine& machine, DistanceKind kind = DistanceKind::latency);

/// Units as the leaves of a tree; the distance of two units is that of the lowest level that holds both.
class Tree {
 public:
  /// One inner node of the tree. Its units are [first_unit, first_unit + units); `children` index Tree::nodes(),
  /// empty where the children are units.
  struct Node {
    int first_unit = 0;
    int units = 0;
    int level = 1;  ///< 1 above the units
    std::vector<int> children;
  };

  /// Texts as in KaHIP and SharedMap, leaf first: hierarchy "4:8:32" is 4 units in a group, 8 groups in a node, 32
  /// nodes; distances "1:10:100" are those of two units in one group, in one node, in different nodes. (Scotch's
  /// tleaf lists the root first.) Distances must not fall towards the root.
  static Result<Tree> from_text(const std::string& hierarchy, const std::string& distances);
  /// The tree of an ultrametric matrix (d(a, c) <= max(d(a, b), d(b, c)) for all), whatever the sizes of its
  /// groups; an error for any other matrix. Its units are renumbered: see unit_at().
  static Result<Tree> from_distances(const Distances& distances);

  [[nodiscard]] int units() const { return static_cast<int>(code_.size()); }
  [[nodiscard]] int levels() const { return levels_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }  ///< the root is node 0
  /// The user's unit at a position of the tree.
  [[nodiscard]] int unit_at(int position) const { return unit_at_[static_cast<std::size_t>(position)]; }
  /// Distance of two positions.
  [[nodiscard]] double distance(int a, int b) const {
    const auto differing = code_[static_cast<std::size_t>(a)] ^ code_[static_cast<std::size_t>(b)];
    return by_width_[static_cast<std::size_t>(std::bit_width(differing))];
  }
  /// Distance of two units of a level, 1 .. levels().
  [[nodiscard]] double level_distance(int level) const { return level_distance_[static_cast<std::size_t>(level)]; }
  /// In the user's numbers of units.
  [[nodiscard]] Distances matrix() const;

 private:
  /// Codes from nodes; false where they do not fit.
  bool finish();

  int levels_ = 0;
  std::vector<Node> nodes_;
  std::vector<int> unit_at_;
  std::vector<double> level_distance_;  ///< [0] is 0
  std::vector<std::uint64_t> code_;     ///< bit fields, one per level, the root's highest
  std::vector<double> by_width_;        ///< distance by the width of two codes' difference
};

/// The matrix of Tree::from_text.
Result<Distances> tree_distances(const std::string& hierarchy, const std::string& distances);

/// J by definition. Requires a placement of the traffic's ranks on different units.
double weighted_distance(const PairTraffic& traffic, const Distances& distances, Assignment unit_of_rank);

}  // namespace corewise::place
