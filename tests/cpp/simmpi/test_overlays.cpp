// Code overlays of a rank: what is there against a plain list by the book, the time of loads, and what is refused.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "sim/networks/network.hpp"
#include "simmpi/overlays.hpp"

namespace corewise::simmpi {
namespace {

Settings area(double bytes) {
  Settings settings;
  settings.overlay_bytes = bytes;
  settings.overlay_ns = 250;
  settings.overlay_gb_per_s = 4;
  return settings;
}

TEST(Overlays, WhatIsThereCostsNothingAndALoadWhatIsDeclared) {
  const char code[2] = {};
  Overlays overlays(area(10000));
  const std::array uses{overlays.use(&code[0], 4000), overlays.use(&code[0], 4000), overlays.use(&code[1], 6000),
                        overlays.use(&code[0], 4000)};
  EXPECT_EQ(uses[0].value(), sim::Time{1250} * sim::kTicksPerNs);
  EXPECT_EQ(uses[1].value(), 0);
  EXPECT_EQ(uses[2].value(), sim::Time{1750} * sim::kTicksPerNs);
  EXPECT_EQ(uses[3].value(), 0);
  EXPECT_EQ(overlays.loads(), 2U);
  EXPECT_EQ(overlays.loaded_bytes(), 10000U);
  EXPECT_EQ(overlays.spent(), sim::Time{3000} * sim::kTicksPerNs);
}

TEST(Overlays, WhatWasUsedLongestAgoGivesWay) {
  // The plain list has the code by number, the one used last at its end.
  const std::array<char, 9> code{};
  const std::array<std::uint64_t, 9> sizes{1, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000};
  Overlays overlays(area(8000));
  std::vector<std::size_t> there;
  std::uint64_t loads = 0;
  Rng rng(7);
  for (int i = 0; i < 3000; ++i) {
    const auto which = static_cast<std::size_t>(rng.below(code.size()));
    const bool was_there = std::erase(there, which) > 0;
    const auto held = [&] {
      return std::accumulate(there.begin(), there.end(), std::uint64_t{0},
                             [&](std::uint64_t sum, std::size_t each) { return sum + sizes[each]; });
    };
    while (held() + sizes[which] > 8000) there.erase(there.begin());
    there.push_back(which);
    loads += was_there ? 0 : 1;
    const auto cost = overlays.use(&code[which], sizes[which]);
    ASSERT_TRUE(cost.ok());
    ASSERT_EQ(cost.value() == 0, was_there) << i;
  }
  EXPECT_EQ(overlays.loads(), loads);
  EXPECT_GT(loads, 1000U);
  EXPECT_LT(loads, 3000U);
}

TEST(Overlays, RefusesMoreThanTheAreaAndAnotherSize) {
  const char code[2] = {};
  Overlays overlays(area(8000));
  EXPECT_NE(overlays.use(&code[0], 8001).status().message().find("found 8001, allowed: at most the 8000"),
            std::string::npos);
  ASSERT_TRUE(overlays.use(&code[0], 8000).ok());
  EXPECT_NE(overlays.use(&code[0], 7999).status().message().find("found 7999, allowed: 8000"), std::string::npos);
  EXPECT_EQ(overlays.loads(), 1U);
}

}  // namespace
}  // namespace corewise::simmpi
