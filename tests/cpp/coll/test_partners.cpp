// Lines between partners alone: who they are, where their lines lie, how many bytes that takes (issue 17, Memory).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "coll/building/partners.hpp"
#include "coll/building/shape.hpp"
#include "shm/segment.hpp"

namespace corewise::coll {
namespace {

Shape shape_of(int ranks, Lines lines) {
  Shape shape = Shape::eager(ranks);
  shape.lines = lines;
  shape.atomic_words = 1;
  return shape;
}
std::size_t bytes_of(int ranks, Lines lines) {
  return shm::Segment::bytes_of_lines(ranks, shape_of(ranks, lines).layout());
}

TEST(Partners, APartnerHasTheRankForAPartner) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (int rank = 0; rank < ranks; rank += ranks < 40 ? 1 : 7) {
      const std::vector<int> partners = partners_of(ranks, rank);
      ASSERT_LE(partners.size(), partner_entries(ranks)) << ranks;
      ASSERT_EQ(std::ranges::count(partners, rank), 0);
      for (const int peer : partners) {
        const std::vector<int> theirs = partners_of(ranks, peer);
        ASSERT_EQ(std::ranges::count(theirs, rank), 1) << ranks << " ranks, " << rank << " and " << peer;
      }
    }
  }
}

TEST(Partners, BothEndsNameTheSameEntry) {
  for (const int ranks : {2, 3, 8, 11, 64, 255}) {
    const Partners first(ranks, 0);
    for (int peer = 0; peer < ranks; ++peer) {
      const Partners other(ranks, peer);
      EXPECT_EQ(first.there(peer), other.here(0));
      EXPECT_EQ(first.here(peer), other.there(0));
      EXPECT_EQ(first.here(peer) == Partners::kNone, first.there(peer) == Partners::kNone);
    }
  }
}

/// Of each entry: the arrays' lines and the eager slots, of 16 bytes; and whose they are.
std::vector<std::pair<std::uint32_t, std::uint32_t>> lines_of(const Shape& shape) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;
  for (std::uint32_t entry = 0; entry < shape.peers(); ++entry) {
    for (const std::uint32_t array :
         {shape.barrier_lines(), shape.announcements(), shape.acknowledgements(), shape.eager_acknowledgements()}) {
      lines.emplace_back(array + entry * shape.entry_step(), entry);
    }
    for (std::uint32_t slot = 0; slot < shape.eager_slots; ++slot)
      lines.emplace_back(shape.eager_lines() + entry * shape.slots_step() + slot, entry);
  }
  return lines;
}

TEST(Partners, NoTwoWritersShareALineOfTheCache) {
  for (const int ranks : {2, 3, 11, 64, 65, 256}) {
    for (const std::uint32_t slots : {2U, 4U, 8U}) {
      Shape shape = shape_of(ranks, Lines::partners);
      shape.eager_slots = slots;
      const port::Layout layout = shape.layout();
      std::set<std::uint32_t> seen;
      std::vector<std::uint32_t> writer(layout.lines16 / layout.lines16_together + 1, UINT32_MAX);
      for (const auto& [line, entry] : lines_of(shape)) {
        EXPECT_TRUE(seen.insert(line).second) << "a line has two uses";
        ASSERT_LT(line, layout.lines16);
        ASSERT_GE(line, shape.barrier_lines());
        std::uint32_t& whose = writer[line / layout.lines16_together];
        EXPECT_TRUE(whose == UINT32_MAX || whose == entry);
        whose = entry;
      }
    }
  }
}

/// As docs/accelerating/accelerating.md has it: 128 for the shared word; for each rank 384 for each of its
/// entries, and 128, or 256 beyond 64 ranks.
TEST(Partners, BytesGrowWithTheRanksTimesTheirLogarithm) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t entries = partner_entries(ranks);
    const std::size_t head = ranks <= 64 ? 128 : 256;
    const std::size_t wanted = std::max<std::size_t>(4096, 128 + n * (384 * entries + head));
    EXPECT_EQ(bytes_of(ranks, Lines::partners), wanted) << ranks;
    EXPECT_LE(entries, 3 * static_cast<std::size_t>(std::bit_width(n - 1))) << ranks;
    EXPECT_LE(bytes_of(ranks, Lines::partners), bytes_of(ranks, Lines::all)) << ranks;
  }
  EXPECT_EQ(bytes_of(256, Lines::partners), 1'540'224U);
  EXPECT_EQ(bytes_of(256, Lines::all), 68'161'536U);
}

/// The limit of a process is 512 MiB; a communicator has a key and a board of 128 bytes for each rank, too.
TEST(Partners, ThousandsOfCommunicatorsFitIntoTheLimit) {
  constexpr std::size_t kLimit = std::size_t{512} << 20;
  const auto fit = [](int ranks) {
    return kLimit / (bytes_of(ranks, Lines::partners) + 128 * (static_cast<std::size_t>(ranks) + 1));
  };
  for (int ranks = 2; ranks <= 32; ++ranks) EXPECT_GE(fit(ranks), 2000U) << ranks;
  EXPECT_EQ(fit(64), 1870U);
  EXPECT_EQ(fit(128), 779U);
  EXPECT_EQ(fit(256), 341U);
}

/// Up to 16 ranks what there was before: every line padded, each rank's on pages of its own.
TEST(Partners, LinesBetweenAllPairsLieAsTheyDid) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t lines = (ranks <= 64 ? 8 : 16) + 8 * n;
    EXPECT_EQ(bytes_of(ranks, Lines::all), 4096 + n * ((lines * 128 + 4095) / 4096 * 4096)) << ranks;
    EXPECT_EQ(shape_of(ranks, Lines::all).layout().lines16_together, 1U);
  }
}

}  // namespace
}  // namespace corewise::coll
