// Comparison of one template with one matrix. A template lists the pairs it expects (or, for the dense families,
// decides pair by pair) and says which of them should carry like bytes. Private to this room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "pattern/recogniser/match.hpp"

namespace corewise::pattern {

/// The pairs of a matrix that exchange bytes between different ranks, for fast look-up.
class Observed {
 public:
  explicit Observed(const Matrix& matrix);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<Message>& pairs() const { return pairs_; }
  [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }
  /// 0 for a silent pair.
  [[nodiscard]] std::uint64_t bytes(int from, int to) const;
  /// No template of that many pairs can have a higher degree: it explains at most what the heaviest pairs carry.
  [[nodiscard]] double most_degree(std::uint64_t expected_pairs) const;

 private:
  int ranks_;
  std::vector<Message> pairs_;
  std::vector<std::size_t> first_;       ///< of each sender in pairs_, and the end
  std::vector<std::uint64_t> heaviest_;  ///< bytes of the heaviest pair, of the two heaviest, ...
  std::uint64_t total_bytes_ = 0;
};

/// What a template and a matrix share.
struct Tally {
  std::uint64_t matched_bytes = 0;
  std::uint64_t matched_pairs = 0;
  std::uint64_t expected_pairs = 0;

  void add(const Tally& other);
};

/// The degree of match of match.hpp.
double degree_of(const Tally& tally, const Observed& observed);

/// A pair that a template expects. In one group, bytes divided by weight should be alike.
struct ExpectedPair {
  int from;
  int to;
  int group;
  double weight;
};

struct Template {
  Match about;           ///< everything but degree and volumes_fit
  int preference = 0;    ///< lower = simpler description
  double tolerance = 1;  ///< largest ratio of bytes per weight within a group for the volumes to fit
  std::vector<ExpectedPair> pairs;
  /// For dense families instead of `pairs`: the group of a pair of different ranks, -1 for one that is not
  /// expected.
  std::function<int(int from, int to)> group_of = nullptr;
  std::uint64_t expected_pairs = 0;  ///< with group_of
};

/// The template's match: degree and volumes_fit filled in.
Match compare(const Template& pattern, const Observed& observed);

}  // namespace corewise::pattern
