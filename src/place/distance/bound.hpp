// Distance bound: the quadratic assignment problem in integers and what bounds it from below; private to the
// weighted distance search. Owns the linear assignment solver and the bound of Gilmore (1962) and Lawler (1963).
//
// Contract: all sums are exact; a problem whose sums could exceed 2^60 is refused when it is made.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "place/distance/distance.hpp"

namespace corewise::place {

/// As many ranks as units; ranks beyond `ranks` are empty. Flows and distances are symmetric and divided by their
/// greatest common divisors: J = cost * unit_of_cost.
struct AssignmentProblem {
  int size = 0;
  int ranks = 0;
  std::vector<std::int64_t> flow;      ///< size * size
  std::vector<std::int64_t> distance;  ///< size * size
  double unit_of_cost = 1;

  [[nodiscard]] std::int64_t flow_of(int a, int b) const {
    return flow[static_cast<std::size_t>(a) * static_cast<std::size_t>(size) + static_cast<std::size_t>(b)];
  }
  [[nodiscard]] std::int64_t distance_of(int a, int b) const {
    return distance[static_cast<std::size_t>(a) * static_cast<std::size_t>(size) + static_cast<std::size_t>(b)];
  }
  /// Over unordered pairs.
  [[nodiscard]] std::int64_t cost(std::span<const int> unit_of_rank) const;

  /// Nothing where distances are not multiples of 10^-6 of moderate size, or sums would be too large.
  static std::optional<AssignmentProblem> of(const PairTraffic& traffic, const Distances& distances);
};

/// Stands for "not allowed" in a cost matrix.
inline constexpr std::int64_t forbidden_cost = std::int64_t{1} << 61;

/// Least assignment of rows to columns by shortest augmenting paths (Jonker and Volgenant 1987), starting from the
/// column prices left by a similar problem.
class LinearAssignment {
 public:
  /// `costs`: size * size; `price` of the columns: any values on entry, optimal ones on exit; `row_price` on exit.
  /// costs[i][j] - row_price[i] - price[j] is never negative then. Forbidden where no assignment is allowed, and as
  /// soon as the least cost is known to reach `enough`.
  std::int64_t solve(int size, const std::int64_t* costs, std::int64_t* price, std::int64_t* row_price,
                     std::int64_t enough = forbidden_cost);

  /// Row of a column in the last solution that was not cut short.
  [[nodiscard]] const std::vector<int>& row_of_column() const { return row_of_; }

 private:
  /// What the dual objective has gained; nothing where the row cannot be assigned.
  std::optional<std::int64_t> augment(int size, const std::int64_t* costs, std::int64_t* price,
                                      std::int64_t* row_price, int row);

  std::vector<int> row_of_;
  std::vector<int> column_of_;
  std::vector<int> before_;
  std::vector<int> done_;
  std::vector<std::uint8_t> is_done_;
  std::vector<std::int64_t> length_;
};

/// A lower bound of J for problems too large for anything better: every rank's flows, largest first, times the
/// least distances any unit has, nearest first. O(n^2 log n).
double simple_distance_bound(const PairTraffic& traffic, const Distances& distances);

}  // namespace corewise::place
