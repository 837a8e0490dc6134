// The order of the ranks; see placing_order.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "place/links/placing_order.hpp"

#include <algorithm>
#include <array>

#include "base/index.hpp"

namespace corewise::place {

namespace {

/// Per phase the bytes of the largest message among the placed ranks and this one.
std::vector<double> largest_with(const Workload& work, std::vector<double> largest, const std::vector<bool>& placed,
                                 std::size_t rank) {
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    for (const Traffic& entry : work.phases[phase]) {
      const std::size_t from = index(entry.from);
      const std::size_t to = index(entry.to);
      if ((from != rank || !placed[to]) && (to != rank || !placed[from])) continue;
      largest[phase] = std::max(largest[phase], static_cast<double>(entry.bytes));
    }
  }
  return largest;
}

double weighted(const Workload& work, const std::vector<double>& of_phases) {
  double sum = 0;
  for (std::size_t phase = 0; phase < of_phases.size(); ++phase) sum += work.weight(phase) * of_phases[phase];
  return sum;
}

}  // namespace

std::vector<int> placing_order(const Workload& work, const Limits& limits) {
  const std::size_t ranks = index(work.ranks);
  std::vector<std::vector<double>> between(ranks, std::vector<double>(ranks, 0));
  std::vector<std::array<double, 3>> weight(ranks);  // what all phases cost; with whom is placed; with all
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    for (const Traffic& entry : work.phases[phase]) {
      const double bytes = work.weight(phase) * static_cast<double>(entry.bytes);
      between[index(entry.from)][index(entry.to)] += bytes;
      between[index(entry.to)][index(entry.from)] += bytes;
      weight[index(entry.from)][2] += bytes;
      weight[index(entry.to)][2] += bytes;
    }
  }
  std::vector<int> order;
  std::vector<bool> placed(ranks, false);
  std::vector<double> largest(work.phases.size(), 0);
  const std::size_t fixed = limits.rules().fixed.size();
  while (order.size() < ranks) {
    std::size_t chosen = ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (placed[rank] || (order.size() < fixed && !limits.is_fixed(static_cast<int>(rank)))) continue;
      if (work.phases.size() > 1) weight[rank][0] = weighted(work, largest_with(work, largest, placed, rank));
      if (chosen == ranks || weight[rank] > weight[chosen]) chosen = rank;
    }
    largest = largest_with(work, largest, placed, chosen);
    placed[chosen] = true;
    order.push_back(static_cast<int>(chosen));
    for (std::size_t rank = 0; rank < ranks; ++rank) weight[rank][1] += between[rank][chosen];
  }
  return order;
}

}  // namespace corewise::place
