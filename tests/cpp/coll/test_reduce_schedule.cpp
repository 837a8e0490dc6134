// The peer arithmetic and the cutting that the reductions stand on, for every number of ranks from 1 to 64.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>

#include "coll/reduce/fold.hpp"
#include "coll/reduce/operand_buffers.hpp"
#include "pattern/knomial.hpp"

namespace corewise::coll::reduce {
namespace {

constexpr int kMost = kMostRanks;

TEST(Fold, EveryRankTakesPartOrHandsOver) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const Fold fold(ranks);
    ASSERT_EQ(1 << fold.steps(), fold.numbers());
    ASSERT_LE(fold.numbers(), ranks);
    ASSERT_GT(2 * fold.numbers(), ranks);
    int expected = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const int partner = fold.partner(rank);
      ASSERT_TRUE(partner < 0 || fold.partner(partner) == rank);
      if (fold.number(rank) < 0) {
        ASSERT_EQ(partner, rank + 1) << "hands over to the next rank, so that numbers stand for consecutive ranks";
        ASSERT_GE(fold.number(partner), 0);
        continue;
      }
      ASSERT_EQ(fold.number(rank), expected++);
      ASSERT_EQ(fold.rank(fold.number(rank)), rank);
    }
    ASSERT_EQ(expected, fold.numbers());
  }
}

TEST(Fold, HalvingSplitsWhatPartnersShare) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const Fold fold(ranks);
    std::set<int> owned;
    for (int number = 0; number < fold.numbers(); ++number) {
      for (int step = 0; step < fold.steps(); ++step) {
        const Range before = fold.range(number, step);
        const Range kept = fold.range(number, step + 1);
        const Range given = fold.range(number ^ (1 << step), step + 1);
        const Range partners = fold.range(number ^ (1 << step), step);
        ASSERT_EQ(before.first, partners.first);
        ASSERT_EQ(before.last, partners.last);
        ASSERT_EQ(kept.last - kept.first, (before.last - before.first) / 2);
        ASSERT_EQ(std::min(kept.first, given.first), before.first);
        ASSERT_EQ(std::max(kept.last, given.last), before.last);
        ASSERT_TRUE(kept.last == given.first || given.last == kept.first);
      }
      const Range last = fold.range(number, fold.steps());
      ASSERT_EQ(last.last, last.first + 1);
      owned.insert(last.first);
    }
    ASSERT_EQ(static_cast<int>(owned.size()), fold.numbers()) << "every part has one owner";
  }
}

TEST(Knomial, ChildrenNearestFirstAreTheChildrenAndCoverTheSubtreeInOrder) {
  using pattern::schedule::Knomial;
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    for (int degree = 1; degree <= 9; ++degree) {
      for (const int root : {0, ranks / 2, ranks - 1}) {
        for (int rank = 0; rank < ranks; ++rank) {
          const Knomial node(ranks, root, rank, degree);
          std::multiset<int> children;
          node.for_children([&](int child) { children.insert(child); });
          int next = (rank - root + ranks) % ranks + 1;
          node.for_children_nearest_first([&](int child) {
            ASSERT_EQ(children.erase(child), 1U);
            ASSERT_EQ((child - root + ranks) % ranks, next) << "what lies between has been covered";
            next += Knomial(ranks, root, child, degree).subtree();
          });
          ASSERT_TRUE(children.empty());
          ASSERT_EQ(next, (rank - root + ranks) % ranks + node.subtree());
        }
      }
    }
  }
}

TEST(ReduceAreas, StepsAreWholeElementsAndAsCoarseAsRoomPermits) {
  for (std::uint32_t element = 1; element <= 200; ++element) {
    for (const std::uint32_t room : {200U, 256U, 1000U, 4096U, 8192U}) {
      const std::uint32_t step = element_step(element, room);
      ASSERT_EQ(step % element, 0U);
      ASSERT_LE(step, room);
      if (std::lcm(element, 128U) <= room) {
        ASSERT_EQ(step % 128, 0U);
      } else if (std::lcm(element, 16U) <= room) {
        ASSERT_EQ(step % 16, 0U);
      }
    }
  }
  EXPECT_EQ(element_step(4, 8192), 128U);
  EXPECT_EQ(element_step(12, 8192), 384U);
  EXPECT_EQ(element_step(12, 100), 48U);
  EXPECT_EQ(element_step(12, 40), 12U);
}

TEST(ReduceAreas, PartsAreWholeElementsAndCoverAll) {
  for (const std::uint32_t element : {1U, 4U, 8U, 12U, 16U, 24U, 72U}) {
    for (const std::uint64_t elements : {0U, 1U, 2U, 15U, 16U, 17U, 300U, 1000U}) {
      for (int count = 1; count <= kMost; ++count) {
        const std::uint64_t bytes = element * elements;
        const Parts parts(bytes, count, element, 8192);
        ASSERT_EQ(parts.at(0), 0U);
        ASSERT_EQ(parts.at(count), bytes);
        for (int part = 0; part < count; ++part) {
          ASSERT_LE(parts.at(part), parts.at(part + 1));
          ASSERT_EQ(parts.at(part) % element, 0U);
          ASSERT_EQ(parts.bytes(part, part + 1), parts.at(part + 1) - parts.at(part));
          ASSERT_LE(parts.bytes(part, part + 1), parts.bytes(0, 1)) << "the first is the largest";
        }
      }
    }
  }
  const Parts lines(4096, 8, 4, 8192);
  EXPECT_EQ(lines.bytes(0, 1), 512U);
  const Parts quadwords(128, 8, 4, 8192);
  EXPECT_EQ(quadwords.bytes(3, 4), 16U);
}

TEST(ReduceAreas, FourAreasAreTheBuffersHalvedOrFourFullOnes) {
  const Areas halved(Shape::paper(8), 4);
  EXPECT_EQ(halved.bytes(), 8U * 1024);
  EXPECT_EQ(halved.at(3), 24U * 1024);
  Shape four = Shape::paper(8);
  four.buffers = 4;
  EXPECT_EQ(Areas(four, 4).bytes(), 16U * 1024);
  EXPECT_EQ(Areas(Shape::paper(8), 3).bytes() % 128, 0U);
}

}  // namespace
}  // namespace corewise::coll::reduce
