// Distance bound: integers out of distances, linear assignment, the simple bound. See bound.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/bound.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace corewise::place {

namespace {

constexpr std::int64_t unreached = std::numeric_limits<std::int64_t>::max();

/// The smallest power of ten up to 10^6 that makes every distance whole.
std::optional<double> whole_scale(const Distances& distances) {
  double scale = 1;
  for (const double value : distances.at) {
    while (std::round(value * scale) / scale != value) {
      scale *= 10;
      if (scale > 1e6) return std::nullopt;
    }
  }
  const double farthest = *std::max_element(distances.at.begin(), distances.at.end());
  return farthest * scale > 1e15 ? std::nullopt : std::optional(scale);
}

std::int64_t divide_by_common(std::vector<std::int64_t>& values) {
  std::int64_t divisor = 0;
  for (const std::int64_t value : values) divisor = std::gcd(divisor, value);
  if (divisor == 0) return 1;
  for (std::int64_t& value : values) value /= divisor;
  return divisor;
}

bool sums_fit(const AssignmentProblem& problem) {
  const double flow = std::accumulate(problem.flow.begin(), problem.flow.end(), 0.0);
  const double farthest = static_cast<double>(*std::max_element(problem.distance.begin(), problem.distance.end()));
  return flow * farthest < std::ldexp(1.0, 58);
}

}  // namespace

std::int64_t AssignmentProblem::cost(std::span<const int> unit_of_rank) const {
  std::int64_t sum = 0;
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < a; ++b) {
      sum += flow_of(a, b) *
             distance_of(unit_of_rank[static_cast<std::size_t>(a)], unit_of_rank[static_cast<std::size_t>(b)]);
    }
  }
  return sum;
}

std::optional<AssignmentProblem> AssignmentProblem::of(const PairTraffic& traffic, const Distances& distances) {
  const std::optional<double> scale = whole_scale(distances);
  if (!scale) return std::nullopt;
  AssignmentProblem problem;
  problem.size = distances.units;
  problem.ranks = traffic.ranks;
  const auto size = static_cast<std::size_t>(problem.size);
  problem.flow.assign(size * size, 0);
  for (int rank = 0; rank < traffic.ranks; ++rank) {
    for (const PairTraffic::Peer& peer : traffic.peers_of(rank)) {
      problem.flow[static_cast<std::size_t>(rank) * size + static_cast<std::size_t>(peer.rank)] = peer.bytes;
    }
  }
  for (const double value : distances.at) {
    problem.distance.push_back(static_cast<std::int64_t>(std::llround(value * *scale)));
  }
  const auto common = static_cast<double>(divide_by_common(problem.flow));
  problem.unit_of_cost = common * static_cast<double>(divide_by_common(problem.distance)) / *scale;
  if (!sums_fit(problem)) return std::nullopt;
  return problem;
}

std::int64_t LinearAssignment::solve(int size, const std::int64_t* costs, std::int64_t* price,
                                     std::int64_t* row_price, std::int64_t enough) {
  const auto n = static_cast<std::size_t>(size);
  row_of_.assign(n, -1);
  column_of_.assign(n, -1);
  before_.resize(n);
  length_.resize(n);
  for (int row = 0; row < size; ++row) {
    const std::int64_t* line = costs + static_cast<std::size_t>(row) * n;
    int nearest = 0;
    std::int64_t least = line[0] - price[0];
    for (int column = 1; column < size; ++column) {
      const std::int64_t reduced = line[column] - price[column];
      if (reduced < least || (reduced == least && row_of_[static_cast<std::size_t>(nearest)] >= 0)) {
        least = reduced;
        nearest = column;
      }
    }
    row_price[row] = least;
    if (row_of_[static_cast<std::size_t>(nearest)] < 0) {
      row_of_[static_cast<std::size_t>(nearest)] = row;
      column_of_[static_cast<std::size_t>(row)] = nearest;
    }
  }
  // The dual objective: never above the least cost, and an augmentation only raises it.
  std::int64_t dual = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (row_price[k] >= forbidden_cost / 2) return forbidden_cost;
    dual += row_price[k] + price[k];
  }
  for (int row = 0; row < size; ++row) {
    if (column_of_[static_cast<std::size_t>(row)] >= 0) continue;
    if (dual >= enough) return forbidden_cost;
    const std::optional<std::int64_t> gained = augment(size, costs, price, row_price, row);
    if (!gained) return forbidden_cost;
    dual += *gained;
  }
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < n; ++row) {
    const std::int64_t cost = costs[row * n + static_cast<std::size_t>(column_of_[row])];
    if (cost >= forbidden_cost) return forbidden_cost;
    sum += cost;
  }
  return sum;
}

/// Dijkstra over columns from an unassigned row; lengths are reduced costs.
std::optional<std::int64_t> LinearAssignment::augment(int size, const std::int64_t* costs, std::int64_t* price,
                                                      std::int64_t* row_price, int row) {
  const auto n = static_cast<std::size_t>(size);
  is_done_.assign(n, 0);
  done_.clear();
  const std::int64_t* line = costs + static_cast<std::size_t>(row) * n;
  for (std::size_t column = 0; column < n; ++column) {
    length_[column] = line[column] - row_price[row] - price[column];
    before_[column] = row;
  }
  std::size_t last = 0;
  std::int64_t reach = 0;
  while (true) {
    std::int64_t least = unreached;
    for (std::size_t column = 0; column < n; ++column) {
      if (!is_done_[column] && length_[column] < least) {
        least = length_[column];
        last = column;
      }
    }
    if (least >= forbidden_cost / 2) return std::nullopt;
    reach = least;
    if (row_of_[last] < 0) break;
    is_done_[last] = 1;
    done_.push_back(static_cast<int>(last));
    const int through = row_of_[last];
    const std::int64_t* next = costs + static_cast<std::size_t>(through) * n;
    const std::int64_t offset = reach - row_price[through];
    for (std::size_t column = 0; column < n; ++column) {
      if (is_done_[column]) continue;
      const std::int64_t length = next[column] - price[column] + offset;
      if (length < length_[column]) {
        length_[column] = length;
        before_[column] = through;
      }
    }
  }
  row_price[row] += reach;
  for (const int column : done_) {
    const std::int64_t slack = reach - length_[static_cast<std::size_t>(column)];
    price[column] -= slack;
    row_price[row_of_[static_cast<std::size_t>(column)]] += slack;
  }
  while (true) {
    const int through = before_[last];
    row_of_[last] = through;
    const int next = column_of_[static_cast<std::size_t>(through)];
    column_of_[static_cast<std::size_t>(through)] = static_cast<int>(last);
    if (through == row) return reach;
    last = static_cast<std::size_t>(next);
  }
}

double simple_distance_bound(const PairTraffic& traffic, const Distances& distances) {
  const auto units = static_cast<std::size_t>(distances.units);
  // Entry k: the least distance that any unit has to its k-th nearest other unit.
  std::vector<double> nearest(units, std::numeric_limits<double>::infinity());
  std::vector<double> row;
  for (std::size_t unit = 0; unit < units; ++unit) {
    row.assign(distances.at.begin() + static_cast<std::ptrdiff_t>(unit * units),
               distances.at.begin() + static_cast<std::ptrdiff_t>((unit + 1) * units));
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(unit));
    std::sort(row.begin(), row.end());
    for (std::size_t k = 0; k < row.size(); ++k) nearest[k] = std::min(nearest[k], row[k]);
  }
  double twice = 0;
  std::vector<std::int64_t> flows;
  for (int rank = 0; rank < traffic.ranks; ++rank) {
    flows.clear();
    for (const PairTraffic::Peer& peer : traffic.peers_of(rank)) flows.push_back(peer.bytes);
    std::sort(flows.begin(), flows.end(), std::greater<>());
    for (std::size_t k = 0; k < flows.size(); ++k) twice += static_cast<double>(flows[k]) * nearest[k];
  }
  return twice / 2;
}

}  // namespace corewise::place
