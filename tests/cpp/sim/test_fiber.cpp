// Fibers: switching, unwinding, and the guard page below each stack.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/fiber.hpp"

namespace corewise::sim {
namespace {

TEST(Fiber, RunsUntilItSuspendsAndGoesOnThere) {
  std::vector<int> log;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>([&] {
    log.push_back(1);
    fiber->suspend();
    log.push_back(3);
  });
  fiber->resume();
  log.push_back(2);
  EXPECT_FALSE(fiber->finished());
  fiber->resume();
  EXPECT_TRUE(fiber->finished());
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
}

TEST(Fiber, DestroyedBeforeItsEndIsUnwound) {
  auto token = std::make_shared<int>(0);
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>([&fiber, token] {
    const std::shared_ptr<int> inside = token;
    fiber->suspend();
    FAIL() << "a cancelled fiber ran on";
  });
  fiber->resume();
  EXPECT_EQ(token.use_count(), 3);
  fiber.reset();
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Fiber, NeverBegunNeverRuns) {
  bool ran = false;
  {
    const Fiber fiber([&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(Fiber, ThousandsOneAfterTheOther) {
  int ended = 0;
  for (int i = 0; i < 2000; ++i) {
    Fiber fiber([&] { ++ended; });
    fiber.resume();
  }
  EXPECT_EQ(ended, 2000);
}

TEST(FiberDeathTest, BelowTheStackLiesAPageThatFaults) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const Fiber fiber([] {});
  volatile auto* bottom = static_cast<volatile char*>(const_cast<void*>(fiber.stack_bottom()));
  bottom[0] = 1;  // the lowest byte is usable
  EXPECT_EQ(bottom[0], 1);
  EXPECT_DEATH(bottom[-1] = 1, "");
}

}  // namespace
}  // namespace corewise::sim
