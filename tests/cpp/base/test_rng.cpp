// Random numbers: published reference outputs of both generators, range and evenness of both bounded draws, and
// that a shuffle permutes and reaches every order.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

#include "base/rng.hpp"

namespace corewise {
namespace {

TEST(Rng, SplitmixReferenceOutputs) {
  std::uint64_t state = 1234567;
  const std::vector<std::uint64_t> expected{6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                            4593380528125082431U, 16408922859458223821U};
  for (const std::uint64_t value : expected) EXPECT_EQ(splitmix64(state), value);
}

TEST(Rng, XoshiroReferenceOutputs) {
  Rng rng(Rng::State{1, 2, 3, 4});
  const std::vector<std::uint64_t> expected{11520U, 0U, 1509978240U, 1215971899390074240U, 1216172134540287360U};
  for (const std::uint64_t value : expected) EXPECT_EQ(rng.next(), value);
}

TEST(Rng, SameSeedSameNumbersOtherSeedOthers) {
  Rng a(7);
  Rng b(7);
  Rng c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto value = a.next();
    EXPECT_EQ(value, b.next());
    differs = differs || value != c.next();
  }
  EXPECT_TRUE(differs);
}

using Draw = std::uint64_t (Rng::*)(std::uint64_t);

void expect_in_range_and_even(Draw draw_below) {
  Rng rng(1);
  EXPECT_EQ((rng.*draw_below)(1), 0U);
  std::array<int, 7> count{};
  constexpr int kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) {
    const auto draw = (rng.*draw_below)(7);
    ASSERT_LT(draw, 7U);
    ++count[draw];
  }
  // Chi-square with 6 degrees of freedom: 22.5 is the 0.1 % point.
  double chi_square = 0;
  for (const int n : count) chi_square += (n - 10000.0) * (n - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 22.5);
}

TEST(Rng, BoundedDrawsAreInRangeAndEven) {
  expect_in_range_and_even(&Rng::below);
  expect_in_range_and_even(&Rng::fast_below);
}

/// With draws that are not thrown away, some thirds of bound 3 * 2^62 would come up half the time.
void expect_thirds(Draw draw_below) {
  Rng rng(2);
  constexpr std::uint64_t kThird = 1ULL << 62;
  std::array<int, 3> count{};
  for (int i = 0; i < 30000; ++i) ++count[(rng.*draw_below)(3 * kThird) / kThird];
  for (const int n : count) EXPECT_NEAR(n, 10000, 400);
}

TEST(Rng, HugeBoundsAreUnbiased) {
  expect_thirds(&Rng::below);
  expect_thirds(&Rng::fast_below);
}

TEST(Rng, UniformStaysBelowOne) {
  Rng rng(3);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = rng.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Rng, ShuffleReachesEveryOrderEvenly) {
  Rng rng(4);
  std::map<std::vector<int>, int> seen;
  for (int i = 0; i < 24000; ++i) {
    std::vector<int> items{0, 1, 2, 3};
    rng.shuffle(std::span<int>(items));
    ++seen[items];
  }
  ASSERT_EQ(seen.size(), 24U);
  for (const auto& [order, count] : seen) {
    EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), std::array<int, 4>{0, 1, 2, 3}.begin()));
    EXPECT_NEAR(count, 1000, 150);
  }
}

}  // namespace
}  // namespace corewise
