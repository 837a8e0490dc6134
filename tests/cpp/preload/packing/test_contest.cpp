// Contests between two engines that many threads enter at once.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "preload/packing/contest.hpp"

namespace corewise::preload::packing {
namespace {

int run(Contest& contest, double ours) {
  int rounds = 0;
  for (; contest.enter(); ++rounds) {
    contest.add(ours, 1);
    contest.leave();
  }
  return rounds;
}

TEST(PackingContest, IsDecidedAfterItsRoundsAndStays) {
  Contest ours, theirs, tie;
  EXPECT_EQ(run(ours, 0.9), Contest::kRounds);
  EXPECT_EQ(run(theirs, 1.1), Contest::kRounds);
  EXPECT_EQ(run(tie, 1), Contest::kRounds);
  EXPECT_EQ(ours.winner(), Contest::Winner::ours);
  EXPECT_EQ(theirs.winner(), Contest::Winner::theirs);
  EXPECT_EQ(tie.winner(), Contest::Winner::theirs);
  EXPECT_EQ(run(ours, 1.1), 0);
}

TEST(PackingContest, ARoundIsOneThreadsAndLeavingWithoutTimesLeavesItOpen) {
  Contest contest;
  ASSERT_TRUE(contest.enter());
  EXPECT_FALSE(contest.enter());
  contest.leave();
  EXPECT_EQ(run(contest, 0.9), Contest::kRounds);
}

// A thread that has seen an open contest may come when another one has just played the last round.
TEST(PackingContest, ThreadsPlayNoRoundMoreThanThereAre) {
  constexpr int kThreads = 4, kContests = 20000;
  std::deque<Contest> contests(kContests);
  std::atomic<int> rounds{0}, ready{0};
  const auto play = [&] {
    ++ready;
    while (ready < kThreads) std::this_thread::yield();
    for (Contest& contest : contests)
      while (contest.winner() == Contest::Winner::open) rounds += run(contest, 0.9);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(play);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(rounds, kContests * Contest::kRounds);
}

}  // namespace
}  // namespace corewise::preload::packing
