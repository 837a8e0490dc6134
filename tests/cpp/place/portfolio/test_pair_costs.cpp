// Pair costs: what exchanges cost more against sums from scratch, while ranks move; with one kind of numbers, with
// two, and with two whose units are the same.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.hpp"
#include "place/portfolio/pair_costs.hpp"

namespace corewise::place {
namespace {

constexpr int ranks = 9, units = 12;

struct Pairs {
  std::vector<std::size_t> begin;
  std::vector<int> peers;
};

/// Two of three pairs, at random.
Pairs drawn_pairs(Rng& rng) {
  bool joined[ranks][ranks] = {};
  for (int one = 0; one < ranks; ++one) {
    for (int other = 0; other < one; ++other) joined[one][other] = joined[other][one] = rng.below(3) > 0;
  }
  Pairs pairs;
  for (int one = 0; one < ranks; ++one) {
    pairs.begin.push_back(pairs.peers.size());
    for (int other = 0; other < ranks; ++other) {
      if (joined[one][other]) pairs.peers.push_back(other);
    }
  }
  pairs.begin.push_back(pairs.peers.size());
  return pairs;
}

std::vector<double> drawn(std::size_t size, Rng& rng) {
  std::vector<double> numbers(size);
  for (double& each : numbers) each = rng.uniform();
  return numbers;
}

/// Of all pairs of two ranks, from the side of each of them, but not of the two's own.
double of_two(const Pairs& pairs, const std::vector<PairCosts::Aspect>& aspects, const std::vector<int>& at,
              int rank, int other) {
  double sum = 0;
  for (const int one : {rank, other}) {
    if (one < 0) continue;
    for (std::size_t p = pairs.begin[static_cast<std::size_t>(one)];
         p < pairs.begin[static_cast<std::size_t>(one) + 1]; ++p) {
      const int peer = pairs.peers[p];
      if (peer == rank || peer == other) continue;
      for (const PairCosts::Aspect& aspect : aspects) {
        const int there = at[static_cast<std::size_t>(peer)];
        const int here = at[static_cast<std::size_t>(one)];
        sum += aspect.weights[p] * aspect.table[static_cast<std::size_t>(there * units + here)];
      }
    }
  }
  return sum;
}

void expect_sums_from_scratch(const Pairs& pairs, const std::vector<PairCosts::Aspect>& aspects, Rng& rng) {
  PairCosts costs(units, pairs.begin, pairs.peers, aspects);
  EXPECT_FALSE(costs.stored());
  std::vector<int> rank_on(units, -1);
  std::vector<int> at(ranks);
  std::iota(at.begin(), at.end(), 0);
  std::iota(rank_on.begin(), rank_on.begin() + ranks, 0);
  costs.store(at);
  EXPECT_TRUE(costs.stored());
  for (int step = 0; step < 400; ++step) {
    const int rank = static_cast<int>(rng.below(ranks));
    const int unit = static_cast<int>(rng.below(units));
    const int left = at[static_cast<std::size_t>(rank)];
    const int other = rank_on[static_cast<std::size_t>(unit)];
    if (other == rank) continue;
    const double more = costs.more(rank, left, other, unit);
    const double before = of_two(pairs, aspects, at, rank, other);
    at[static_cast<std::size_t>(rank)] = unit;
    if (other >= 0) at[static_cast<std::size_t>(other)] = left;
    ASSERT_NEAR(more, of_two(pairs, aspects, at, rank, other) - before, 1e-9) << step;
    rank_on[static_cast<std::size_t>(unit)] = rank;
    rank_on[static_cast<std::size_t>(left)] = other;
    costs.moved(rank, left, unit);
    if (other >= 0) costs.moved(other, unit, left);
  }
}

TEST(PairCosts, ExchangesCostWhatTheSumsFromScratchSay) {
  Rng rng(21);
  const Pairs pairs = drawn_pairs(rng);
  const auto aspect = [&] { return PairCosts::Aspect{drawn(units * units, rng), drawn(pairs.peers.size(), rng)}; };
  const PairCosts::Aspect one = aspect(), other = aspect();
  expect_sums_from_scratch(pairs, {one}, rng);
  expect_sums_from_scratch(pairs, {one, other}, rng);
  expect_sums_from_scratch(pairs, {one, {one.table, other.weights}}, rng);
}

TEST(PairCosts, KnowsEveryPair) {
  Rng rng(22);
  const Pairs pairs = drawn_pairs(rng);
  PairCosts costs(units, pairs.begin, pairs.peers, {{drawn(units * units, rng), drawn(pairs.peers.size(), rng)}});
  std::vector<int> at(ranks);
  std::iota(at.begin(), at.end(), 2);
  costs.store(at);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto begin =
        pairs.peers.begin() + static_cast<std::ptrdiff_t>(pairs.begin[static_cast<std::size_t>(rank)]);
    const auto end =
        pairs.peers.begin() + static_cast<std::ptrdiff_t>(pairs.begin[static_cast<std::size_t>(rank) + 1]);
    for (int other = 0; other < ranks; ++other) {
      const auto place = std::find(begin, end, other);
      EXPECT_EQ(costs.pair(rank, other), place == end ? PairCosts::none : place - pairs.peers.begin());
    }
  }
}

TEST(PairCosts, FewMustBeCarriedOutTheFewerTheMoreUnits) {
  EXPECT_TRUE(PairCosts::are_worth_storing(16, {0, 1000}));
  EXPECT_TRUE(PairCosts::are_worth_storing(16, {100, 1000}));
  EXPECT_FALSE(PairCosts::are_worth_storing(256, {100, 1000}));
  EXPECT_FALSE(PairCosts::are_worth_storing(16, {1000, 1000}));
  EXPECT_TRUE(PairCosts::are_worth_storing(256, {10, 1000}));
  EXPECT_FALSE(PairCosts::are_worth_storing(1024, {2, 1000}));  // costs that no cache holds
}

}  // namespace
}  // namespace corewise::place
