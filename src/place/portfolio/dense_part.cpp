// Dense part: traffic by rank, the heaviest, messages among them. See dense_part.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/dense_part.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/index.hpp"

namespace corewise::place {

namespace {

constexpr int one_rank_in = 10;
/// Traffic of a rank of the part, and what of it is within the part, over that of a rank in the mean. Geometric
/// patterns on uneven points have 1.8 to 2.1 and 0.8 to 1.2; halos at most 1.4, sparse random patterns 0.2 within.
constexpr double least_heavy = 1.5;
constexpr double least_within = 0.75;

/// Bytes that each rank sends and receives, phases by weight.
std::vector<double> traffic_of_ranks(const Workload& work) {
  std::vector<double> bytes(index(work.ranks), 0);
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    for (const Traffic& each : work.phases[phase]) {
      const double weighted = work.weight(phase) * static_cast<double>(each.bytes);
      bytes[index(each.from)] += weighted;
      bytes[index(each.to)] += weighted;
    }
  }
  return bytes;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

DensePart DensePart::of(const Workload& work) {
  const std::vector<double> bytes = traffic_of_ranks(work);
  std::vector<int> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return bytes[index(a)] > bytes[index(b)]; });
  DensePart part;
  part.ranks.assign(order.begin(), order.begin() + work.ranks / one_rank_in);
  std::vector<int> number(bytes.size(), -1);
  for (std::size_t k = 0; k < part.ranks.size(); ++k) number[index(part.ranks[k])] = static_cast<int>(k);
  part.work.ranks = static_cast<int>(part.ranks.size());
  part.work.weights = work.weights;
  for (const auto& phase : work.phases) {
    std::vector<Traffic>& kept = part.work.phases.emplace_back();
    for (const Traffic& each : phase) {
      const int from = number[index(each.from)];
      const int to = number[index(each.to)];
      if (from >= 0 && to >= 0) kept.push_back({from, to, each.bytes});
    }
  }
  double heavy = 0;
  for (const int rank : part.ranks) heavy += bytes[index(rank)];
  const double mean = sum_of(bytes) / work.ranks * part.work.ranks;
  const bool stands_out = heavy >= least_heavy * mean && sum_of(traffic_of_ranks(part.work)) >= least_within * mean;
  return mean > 0 && stands_out ? part : DensePart{};
}

}  // namespace corewise::place
