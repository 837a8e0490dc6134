// What the recogniser's tests share: matrices of families, renumbered ranks, and the noise that structure.hpp
// names. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "pattern/generators/generate.hpp"
#include "pattern/recogniser/structure.hpp"

namespace corewise::pattern {

inline Matrix made(const std::string& family, const Parameters& parameters) {
  const auto result = generate(family, parameters);
  EXPECT_TRUE(result.ok()) << family << ": " << result.status().message();
  return result.ok() ? sum(result.value()) : Matrix{1, {}};
}

inline std::vector<int> shuffled(int ranks, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed);
  rng.shuffle(std::span(order));
  return order;
}

/// A share of the pairs silent, as many random ones more that carry at most what a pair carries, and all other
/// bytes within 10 % of what they were.
inline Matrix with_noise(const Matrix& matrix, double share, std::uint64_t seed) {
  Rng rng(seed);
  auto kept = matrix.entries;
  const auto count = static_cast<std::size_t>(share * static_cast<double>(kept.size()));
  rng.shuffle(std::span(kept));
  kept.resize(kept.size() - count);
  std::uint64_t most = 1;
  for (Message& entry : kept) {
    most = std::max(most, entry.bytes);
    entry.bytes = std::max<std::uint64_t>(1, entry.bytes * (90 + rng.below(21)) / 100);
  }
  std::set<std::pair<int, int>> taken;
  for (const Message& entry : matrix.entries) taken.emplace(entry.from, entry.to);
  for (std::size_t added = 0, tries = 0; added < count && tries < 20 * (count + 1); ++tries) {
    const auto ranks = static_cast<std::uint64_t>(matrix.ranks);
    const std::pair<int, int> pair{static_cast<int>(rng.below(ranks)), static_cast<int>(rng.below(ranks))};
    if (pair.first == pair.second || !taken.insert(pair).second) continue;
    kept.push_back({pair.first, pair.second, 1 + rng.below(most), 1});
    ++added;
  }
  return Matrix::from_entries(matrix.ranks, std::move(kept)).value();
}

}  // namespace corewise::pattern
