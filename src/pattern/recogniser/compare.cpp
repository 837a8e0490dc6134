// Comparison of one template with one matrix. See compare.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace corewise::pattern {
namespace {

/// Smallest and largest bytes per weight of each group.
class Volumes {
 public:
  void add(int group, double volume) {
    const auto index = static_cast<std::size_t>(group);
    if (index >= ranges_.size()) ranges_.resize(index + 1, nothing_seen);
    ranges_[index].first = std::min(ranges_[index].first, volume);
    ranges_[index].second = std::max(ranges_[index].second, volume);
  }
  [[nodiscard]] bool fit(double tolerance) const {
    return std::all_of(ranges_.begin(), ranges_.end(),
                       [&](const auto& range) { return range.second <= tolerance * range.first; });
  }

 private:
  // A group of which nothing was seen fits: its largest is below its smallest.
  static constexpr std::pair<double, double> nothing_seen{std::numeric_limits<double>::max(), 0.0};
  std::vector<std::pair<double, double>> ranges_;
};

void visit_listed(const Template& pattern, const Observed& observed, Tally& tally, Volumes& volumes) {
  tally.expected_pairs = pattern.pairs.size();
  for (const ExpectedPair& pair : pattern.pairs) {
    const std::uint64_t bytes = observed.bytes(pair.from, pair.to);
    if (bytes == 0) continue;
    tally.matched_bytes += bytes;
    ++tally.matched_pairs;
    volumes.add(pair.group, static_cast<double>(bytes) / pair.weight);
  }
}

void visit_dense(const Template& pattern, const Observed& observed, Tally& tally, Volumes& volumes) {
  tally.expected_pairs = pattern.expected_pairs;
  for (const Message& pair : observed.pairs()) {
    const int group = pattern.group_of(pair.from, pair.to);
    if (group < 0) continue;
    tally.matched_bytes += pair.bytes;
    ++tally.matched_pairs;
    volumes.add(group, static_cast<double>(pair.bytes));
  }
}

}  // namespace

std::string_view wrap_name(Wrap wrap) {
  switch (wrap) {
    case Wrap::open:
      return "open";
    case Wrap::periodic:
      return "periodic";
    case Wrap::either:
      return "either";
  }
  return {};
}

Observed::Observed(const Matrix& matrix)
    : ranks_(matrix.ranks), first_(static_cast<std::size_t>(matrix.ranks) + 1) {
  for (const Message& entry : matrix.entries) {
    if (entry.from == entry.to || entry.bytes == 0) continue;
    pairs_.push_back(entry);
    total_bytes_ += entry.bytes;
    first_[static_cast<std::size_t>(entry.from) + 1] = pairs_.size();
  }
  for (std::size_t rank = 1; rank < first_.size(); ++rank) first_[rank] = std::max(first_[rank], first_[rank - 1]);
  for (const Message& pair : pairs_) heaviest_.push_back(pair.bytes);
  std::sort(heaviest_.rbegin(), heaviest_.rend());
  std::partial_sum(heaviest_.begin(), heaviest_.end(), heaviest_.begin());
}

double Observed::most_degree(std::uint64_t expected_pairs) const {
  if (expected_pairs == 0) return 0;
  if (expected_pairs >= heaviest_.size()) return 1;
  return static_cast<double>(heaviest_[expected_pairs - 1]) / static_cast<double>(total_bytes_);
}

std::uint64_t Observed::bytes(int from, int to) const {
  const auto row = static_cast<std::size_t>(from);
  const auto begin = pairs_.begin() + static_cast<std::ptrdiff_t>(first_[row]);
  const auto end = pairs_.begin() + static_cast<std::ptrdiff_t>(first_[row + 1]);
  const auto at = std::lower_bound(begin, end, to, [](const Message& pair, int rank) { return pair.to < rank; });
  return at != end && at->to == to ? at->bytes : 0;
}

void Tally::add(const Tally& other) {
  matched_bytes += other.matched_bytes;
  matched_pairs += other.matched_pairs;
  expected_pairs += other.expected_pairs;
}

double degree_of(const Tally& tally, const Observed& observed) {
  if (tally.matched_pairs == 0) return 0;
  const std::uint64_t silent = tally.expected_pairs - tally.matched_pairs;
  if (silent == 0 && tally.matched_pairs == observed.pairs().size()) return 1;
  const auto matched = static_cast<double>(tally.matched_bytes);
  const double mean = matched / static_cast<double>(tally.matched_pairs);
  const double degree =
      matched / (static_cast<double>(observed.total_bytes()) + mean * static_cast<double>(silent));
  // Rounding must not make an inexact match look exact.
  return std::min(degree, std::nextafter(1.0, 0.0));
}

Match compare(const Template& pattern, const Observed& observed) {
  Tally tally;
  Volumes volumes;
  if (pattern.group_of) {
    visit_dense(pattern, observed, tally, volumes);
  } else {
    visit_listed(pattern, observed, tally, volumes);
  }
  Match match = pattern.about;
  match.degree = degree_of(tally, observed);
  match.volumes_fit = volumes.fit(pattern.tolerance);
  return match;
}

}  // namespace corewise::pattern
