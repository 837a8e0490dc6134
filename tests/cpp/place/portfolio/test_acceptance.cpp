// Acceptance: exponential draws against their logarithm, and when a cooling counts as frozen.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "place/portfolio/acceptance.hpp"

namespace corewise::place {
namespace {

TEST(Acceptance, AnExponentialDrawIsLessWhereItsLogarithmSaysSo) {
  Rng rng(5);
  for (const double x : {0.0, 1e-6, 0.01, 0.3, 0.999, 1.0, 1.001, 2.0, 5.0, 30.0}) {
    int less = 0;
    for (int i = 0; i < 10000; ++i) {
      Rng same = rng;
      const bool expected = -std::log(1 - same.uniform()) < x;
      ASSERT_EQ(exponential_is_less(x, rng), expected) << x;
      less += expected ? 1 : 0;
    }
    EXPECT_NEAR(less, 10000 * (1 - std::exp(-x)), 200);
  }
}

TEST(Acceptance, IsFrozenWhereLessThanOneIn512IsAccepted) {
  Acceptance few{1, 600};
  EXPECT_FALSE(few.is_frozen());  // of so few nothing can be told
  EXPECT_EQ(few.looked_at, 600U);
  Acceptance none{0, 4096};
  EXPECT_TRUE(none.is_frozen());
  Acceptance seven{7, 4096}, eight{8, 4096};
  EXPECT_TRUE(seven.is_frozen());
  EXPECT_FALSE(eight.is_frozen());
  EXPECT_EQ(eight.looked_at, 0U);  // counts anew
}

}  // namespace
}  // namespace corewise::place
