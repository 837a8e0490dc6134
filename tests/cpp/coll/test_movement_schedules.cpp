// What the collectives that move data compute before they move any: ranges of blocks without lists, how blocks
// become a stream and its pieces, and that Bruck's all-to-all needs no scratch memory. Exhaustive for 1 to 64
// ranks. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "coll/building/block_exchange.hpp"
#include "coll/building/streams.hpp"
#include "coll/scatter/linear.hpp"
#include "pattern/schedule.hpp"

namespace {

namespace coll = corewise::coll;
namespace schedule = corewise::pattern::schedule;

constexpr int kMost = coll::kMostRanks;

/// As much of a port as block lists look at.
struct Aligned {
  static constexpr std::uint32_t kCopyAlignment = 16;
};

TEST(MovementSchedules, RecursiveDoublingBlocksAreConsecutive) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    for (int step = 0; step < schedule::recursive_doubling_steps(ranks); ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<int> expected(
            static_cast<std::size_t>(schedule::recursive_doubling_block_count(ranks, rank, step)));
        std::iota(expected.begin(), expected.end(), schedule::recursive_doubling_first_block(ranks, rank, step));
        EXPECT_EQ(schedule::recursive_doubling_blocks(ranks, rank, step), expected)
            << ranks << " ranks, step " << step << ", rank " << rank;
      }
    }
  }
}

TEST(MovementSchedules, BruckOffsetsWithoutTheList) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    for (int step = 0; step < schedule::bruck_steps(ranks); ++step) {
      std::vector<int> offsets;
      for (int i = 0; i < schedule::bruck_all_to_all_offset_count(ranks, step); ++i) {
        offsets.push_back(schedule::bruck_all_to_all_offset(step, i));
      }
      EXPECT_EQ(offsets, schedule::bruck_all_to_all_offsets(ranks, step)) << ranks << " ranks, step " << step;
    }
  }
}

// The rule of alltoall/bruck.hpp on block names: what travels distance i lies where the block of rank - i will be,
// from its first step on.
TEST(MovementSchedules, BruckAllToAllEndsInPlace) {
  using Name = std::pair<int, int>;  // from, to
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const auto index = [ranks](int rank, int block) {
      return static_cast<std::size_t>(rank) * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(block);
    };
    std::vector<Name> receive(index(ranks, 0), Name{-1, -1});
    for (int rank = 0; rank < ranks; ++rank) receive[index(rank, rank)] = {rank, rank};
    for (int step = 0; step < schedule::bruck_steps(ranks); ++step) {
      const std::vector<Name> before = receive;
      for (int rank = 0; rank < ranks; ++rank) {
        const int from = schedule::bruck_all_to_all_peers(ranks, rank, step).from;
        for (int i = 0; i < schedule::bruck_all_to_all_offset_count(ranks, step); ++i) {
          const int distance = schedule::bruck_all_to_all_offset(step, i);
          const bool first = distance % (1 << step) == 0;
          const Name fresh{from, (from + distance) % ranks};
          const Name held = before[index(from, (from - distance + ranks) % ranks)];
          receive[index(rank, (rank - distance + ranks) % ranks)] = first ? fresh : held;
        }
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      for (int from = 0; from < ranks; ++from) {
        EXPECT_EQ(receive[index(rank, from)], Name(from, rank)) << ranks << " ranks";
      }
    }
  }
}

TEST(MovementSchedules, BlocksOfRanksAreCutAtTheEndAndJoinedWhereEqual) {
  const std::vector<std::uint64_t> sizes{3, 0, 40, 16, 7};
  const std::vector<std::uint64_t> offsets{0, 3, 64, 128, 200};
  for (const bool equal : {true, false}) {
    const coll::Blocks blocks =
        equal ? coll::Blocks{24, nullptr, nullptr} : coll::Blocks{0, offsets.data(), sizes.data()};
    for (int first = 0; first < 5; ++first) {
      for (int count = 1; count <= 5; ++count) {
        std::set<std::uint64_t> expected;
        for (int i = 0; i < count; ++i) {
          const int rank = (first + i) % 5;
          for (std::uint64_t byte = 0; byte < blocks.bytes(rank); ++byte) {
            expected.insert(1000 + blocks.offset(rank) + byte);
          }
        }
        auto list = coll::blocks_of_ranks<Aligned>(std::uint64_t{1000}, blocks, 5, first, count);
        std::set<std::uint64_t> seen;
        int parts = 0;
        list.next(1 << 20, [&](std::uint32_t, std::uint64_t address, std::uint32_t bytes) {
          for (std::uint32_t byte = 0; byte < bytes; ++byte) EXPECT_TRUE(seen.insert(address + byte).second);
          ++parts;
        });
        EXPECT_EQ(seen, expected) << "first " << first << " count " << count;
        if (equal) {
          EXPECT_EQ(parts, first + count > 5 ? 2 : 1);
        }
      }
    }
  }
}

TEST(MovementSchedules, StreamsKeepBlocksAlignedInEveryPiece) {
  const std::vector<std::uint64_t> sizes{0, 1, 15, 16, 17, 300, 0, 128, 5};
  for (const std::uint32_t most : {128U, 256U, 4096U}) {
    const auto segment = [&sizes](int i) {
      return coll::Segment<std::uint64_t>{static_cast<std::uint64_t>(i) * 1024, sizes[static_cast<std::size_t>(i)]};
    };
    coll::BlockList<Aligned, decltype(segment)> list(static_cast<int>(sizes.size()), segment);
    std::vector<std::uint64_t> taken(sizes.size(), 0);
    std::uint64_t stream = 0;
    for (std::uint64_t begin = 0; begin < list.bytes(); begin += most) {
      list.next(most, [&](std::uint32_t place, std::uint64_t address, std::uint32_t bytes) {
        const auto block = static_cast<std::size_t>(address / 1024);
        EXPECT_EQ(address % 1024, taken[block]) << "bytes come in order";
        EXPECT_EQ(place % 16, address % 16) << "congruent to an aligned block";
        EXPECT_LE(place + bytes, most);
        EXPECT_EQ(begin + place, stream) << "no gaps but padding";
        taken[block] += bytes;
        stream = begin + place + (bytes + 15) / 16 * 16;
      });
    }
    EXPECT_EQ(taken, sizes);
    EXPECT_EQ(stream, list.bytes());
  }
}

TEST(MovementSchedules, StreamAreasDoNotOverlapAndHoldAPiece) {
  for (const std::uint32_t buffer : {256U, 1024U, 14336U, 16384U}) {
    for (int buffers = 2; buffers <= 4; ++buffers) {
      for (const std::uint32_t wanted : {0U, 1U, 128U, 129U, 4096U, 1U << 20}) {
        coll::Shape shape;
        shape.buffer_bytes = buffer;
        shape.buffers = buffers;
        coll::Parameters parameters;
        parameters.piece_bytes = wanted;
        const coll::StreamAreas areas(shape, parameters);
        EXPECT_GT(areas.piece_bytes(), 0U);
        EXPECT_EQ(areas.piece_bytes() % 128, 0U);
        EXPECT_LE(areas.piece_bytes(), buffer) << "a relay takes it whole";
        if (wanted >= 128 && wanted % 128 == 0) {
          EXPECT_LE(areas.piece_bytes(), wanted);
        }
        for (int area = 1; area < coll::StreamAreas::kCount; ++area) {
          EXPECT_GE(areas.at(area), areas.at(area - 1) + areas.piece_bytes());
          EXPECT_EQ(areas.at(area) % 128, 0U);
        }
        EXPECT_LE(areas.at(coll::StreamAreas::kCount - 1) + areas.piece_bytes(), shape.bounce());
      }
    }
  }
}

TEST(MovementSchedules, ConsecutiveRanksStreamsBeginInDifferentAreas) {
  for (int ranks = 2; ranks <= kMost; ++ranks) {
    for (int root = 0; root < ranks; ++root) {
      for (int step = 1; step < ranks; ++step) {
        const int area = coll::scatter::first_area(ranks, root, (root + step) % ranks);
        EXPECT_EQ(area, (step - 1) % coll::StreamAreas::kCount);
      }
    }
  }
}

}  // namespace
