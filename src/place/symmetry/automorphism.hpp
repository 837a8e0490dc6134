// Automorphism search: the backtracking behind Symmetry; private to the room. Owns colours (invariants of
// units, pairs and links under every symmetry) and the search for one symmetry with given images.
//
// Invariant: what find() returns has passed is_symmetry(), which is exact. Colours and the running sums over
// partly assigned units only prune; equal structures always have equal sums, so pruning loses nothing.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "place/links/objective.hpp"

namespace corewise::place {

class AutomorphismSearch {
 public:
  /// Takes merged shares: no two links with the same traffic.
  explicit AutomorphismSearch(RoutedShares merged);

  /// A symmetry that fixes every unit of `fixed` and takes `from` to `to`; nothing where there is none, or none
  /// within the node limit.
  [[nodiscard]] std::optional<std::vector<int>> find(std::span<const int> fixed, int from, int to) const;
  [[nodiscard]] bool is_symmetry(std::span<const int> image) const;
  [[nodiscard]] const RoutedShares& shares() const { return merged_; }

 private:
  friend class ImageSearch;
  using Signature = std::vector<std::pair<int, std::uint32_t>>;  ///< (pair of units, parts), sorted

  [[nodiscard]] int pair(int from, int to) const { return from * merged_.units() + to; }
  [[nodiscard]] std::uint64_t colour(int from, int to) const {
    return pair_colour_[static_cast<std::size_t>(pair(from, to))];
  }
  void refine_links();
  void refine_pairs();
  [[nodiscard]] bool keeps_hops(std::span<const int> image) const;

  RoutedShares merged_;
  std::vector<std::uint64_t> pair_colour_;  ///< a unit's own colour at (u, u)
  std::vector<std::uint64_t> link_colour_;
  std::vector<Signature> signature_;  ///< per link
  std::map<Signature, int> link_of_signature_;
};

}  // namespace corewise::place
