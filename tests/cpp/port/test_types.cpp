// Sequence numbers and the names of lines. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "port/types.hpp"

namespace corewise::port {
namespace {

TEST(Sequence, ReachesItselfAndEverythingBefore) {
  EXPECT_TRUE(reached(7, 7));
  EXPECT_TRUE(reached(8, 7));
  EXPECT_FALSE(reached(6, 7));
}

TEST(Sequence, GoesOnAcrossTheWrap) {
  EXPECT_TRUE(reached(0, 0xFFFFFFFF));
  EXPECT_TRUE(reached(5, 0xFFFFFFF0));
  EXPECT_FALSE(reached(0xFFFFFFFF, 0));
  EXPECT_FALSE(reached(0xFFFFFFF0, 5));
}

TEST(Sequence, IsRightUpToTwoToTheThirtyOneWritesApart) {
  EXPECT_TRUE(reached(0x7FFFFFFF, 0));
  EXPECT_FALSE(reached(0x80000000, 0));
}

TEST(Lines, CarryTwelveAndAHundredAndTwentyFourBytesBesideTheNumber) {
  EXPECT_EQ(Line16::kPayloadBytes, 12U);
  EXPECT_EQ(Line128::kPayloadBytes, 124U);
  EXPECT_EQ((Line16{3} + 2).index, 5U);
  EXPECT_EQ((Line128{3} + 2).index, 5U);
}

TEST(Tags, HaveABitEach) {
  EXPECT_EQ(mask_of(0), 1U);
  EXPECT_EQ(mask_of(kTags - 1), 0x80000000U);
}

}  // namespace
}  // namespace corewise::port
