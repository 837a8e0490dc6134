// The peer arithmetic of the pairwise-exchange barrier for every number of ranks from 1 to coll::kMostRanks.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "coll/barrier/pairwise_exchange_schedule.hpp"
#include "coll/building/shape.hpp"

namespace corewise::coll::barrier::pairwise_exchange_schedule {
namespace {

constexpr int kMost = kMostRanks;

TEST(PairwiseExchangeSchedule, HasThePapersNumberOfSteps) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    SCOPED_TRACE(ranks);
    int floor_log2 = 0;
    while ((2 << floor_log2) <= ranks) ++floor_log2;
    const bool power_of_two = (1 << floor_log2) == ranks;
    EXPECT_EQ(steps(ranks), power_of_two ? floor_log2 : 2 + floor_log2);
    EXPECT_LE(steps(ranks), kMaxSteps);
    // The line of lists, the last of a few ranks' lines, is left free.
    const bool lists = ranks <= kMostRanksWithLists;
    EXPECT_LE(steps(ranks), static_cast<int>(Shape::paper(ranks).barrier_lines()) - (lists ? 1 : 0));
  }
}

TEST(PairwiseExchangeSchedule, EverySendHasItsReceive) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    for (int step = 0; step < steps(ranks); ++step) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, step " + std::to_string(step));
      for (int rank = 0; rank < ranks; ++rank) {
        const Peers own = peers(ranks, rank, step);
        ASSERT_NE(own.to, rank);
        ASSERT_NE(own.from, rank);
        ASSERT_GE(own.to, nobody);
        ASSERT_LT(own.to, ranks);
        if (own.to != nobody) {
          ASSERT_EQ(peers(ranks, own.to, step).from, rank);
        }
        if (own.from != nobody) {
          ASSERT_EQ(peers(ranks, own.from, step).to, rank);
        }
      }
    }
  }
}

/// After the last step every rank has heard, directly or through others, of every rank.
TEST(PairwiseExchangeSchedule, EveryRankHearsOfEveryRank) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    SCOPED_TRACE(ranks);
    std::vector<std::set<int>> heard(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) heard[static_cast<std::size_t>(rank)].insert(rank);
    for (int step = 0; step < steps(ranks); ++step) {
      const std::vector<std::set<int>> before = heard;
      for (int rank = 0; rank < ranks; ++rank) {
        const int from = peers(ranks, rank, step).from;
        if (from == nobody) continue;
        const std::set<int>& told = before[static_cast<std::size_t>(from)];
        heard[static_cast<std::size_t>(rank)].insert(told.begin(), told.end());
      }
    }
    for (const std::set<int>& known : heard) EXPECT_EQ(known.size(), static_cast<std::size_t>(ranks));
  }
}

/// Powers of two: pairs that meet along one dimension, a different one in every step.
TEST(PairwiseExchangeSchedule, PowersOfTwoExchangeInPairs) {
  for (int ranks = 2; ranks <= kMost; ranks *= 2) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int step = 0; step < steps(ranks); ++step) {
        const Peers own = peers(ranks, rank, step);
        EXPECT_EQ(own.to, own.from);
        EXPECT_EQ(own.to ^ rank, 1 << step);
      }
    }
  }
}

/// On 16 ranks over two chips, 0 to 7 and 8 to 15, one step crosses: the reason for which the paper's barrier beats
/// dissemination there.
TEST(PairwiseExchangeSchedule, OneStepOfSixteenCrossesChips) {
  int crossing = 0;
  for (int step = 0; step < steps(16); ++step) {
    bool crosses = false;
    for (int rank = 0; rank < 16; ++rank) crosses = crosses || peers(16, rank, step).to / 8 != rank / 8;
    crossing += crosses ? 1 : 0;
  }
  EXPECT_EQ(crossing, 1);
}

/// Eleven ranks, by hand: 8, 9, 10 stand beside 0, 1, 2.
TEST(PairwiseExchangeSchedule, ElevenRanksByHand) {
  EXPECT_EQ(steps(11), 5);
  EXPECT_EQ(peers(11, 9, 0), (Peers{1, nobody}));
  EXPECT_EQ(peers(11, 1, 0), (Peers{nobody, 9}));
  EXPECT_EQ(peers(11, 3, 0), (Peers{nobody, nobody}));
  EXPECT_EQ(peers(11, 5, 1), (Peers{4, 4}));
  EXPECT_EQ(peers(11, 5, 2), (Peers{7, 7}));
  EXPECT_EQ(peers(11, 5, 3), (Peers{1, 1}));
  EXPECT_EQ(peers(11, 9, 2), (Peers{nobody, nobody}));
  EXPECT_EQ(peers(11, 1, 4), (Peers{9, nobody}));
  EXPECT_EQ(peers(11, 9, 4), (Peers{nobody, 1}));
}

}  // namespace
}  // namespace corewise::coll::barrier::pairwise_exchange_schedule
