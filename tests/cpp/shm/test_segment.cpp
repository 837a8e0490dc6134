// Where things lie in a segment: nothing overlaps, nothing shares a cache line with another's, all is inside.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ranks.hpp"

namespace corewise::shm {
namespace {

using Range = std::pair<const std::byte*, std::size_t>;

Range range_of(const void* at, std::size_t bytes) {
  return {static_cast<const std::byte*>(at), bytes};
}

/// Every place that somebody writes, with its length.
std::vector<Range> places(const Segment& segment) {
  std::vector<Range> all;
  const port::Layout& layout = segment.layout();
  for (std::uint32_t word = 0; word < layout.atomic_words; ++word) all.push_back(range_of(segment.word(word), 4));
  for (int rank = 0; rank < segment.ranks(); ++rank) {
    for (std::uint32_t i = 0; i < layout.lines16; ++i) {
      all.push_back(range_of(&segment.line(rank, port::Line16{i}), 16));
    }
    for (std::uint32_t i = 0; i < layout.lines128; ++i) {
      all.push_back(range_of(&segment.line(rank, port::Line128{i}), 128));
    }
    all.push_back(range_of(segment.stage(rank), layout.stage_bytes));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Segment, PlacesAreApartAlignedAndInside) {
  for (const port::Layout layout :
       {port::Layout{1000, 5, 3, 2}, port::Layout{128, 1, 0, 0}, port::Layout{1, 0, 2, 7}}) {
    const testing::Job job(3, layout);
    const std::vector<Range> all = places(job.segment);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all[i].first) % kPaddingBytes, 0U);
    }
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_LE(all[i - 1].first + all[i - 1].second, all[i].first);
    }
    const std::span<std::byte> block = job.mapping.block();
    EXPECT_EQ(all.front().first, block.data());
    EXPECT_LE(all.back().first + all.back().second, block.data() + block.size());
  }
}

TEST(Segment, RanksBeginOnPagesOfTheirOwn) {
  const testing::Job job(4, {100, 2, 0, 1});
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&job.segment.line(rank, port::Line16{})) % kPageBytes, 0U);
  }
}

TEST(Segment, RanksBeginOnPagesWhereverTheBlockDoes) {
  const port::Layout layout{100, 2, 0, 1};
  for (const std::size_t at : {std::size_t{0}, kPaddingBytes, 5 * kPaddingBytes, 2 * kPageBytes - kPaddingBytes}) {
    const std::size_t bytes = at + Segment::bytes(3, layout, at);
    EXPECT_EQ(bytes % kPageBytes, 0U);  // no page more than the parts and what stands before them take
    EXPECT_EQ(bytes / kPageBytes, (at + kPaddingBytes + kPageBytes - 1) / kPageBytes + 3);
    const Mapping mapping = Mapping::anonymous(bytes).value();
    const Segment segment = Segment::over(mapping.block().subspan(at), 3, layout).value();
    EXPECT_EQ(reinterpret_cast<std::byte*>(segment.word(0)), mapping.block().data() + at);
    for (int rank = 0; rank < 3; ++rank) {
      const auto* const part = reinterpret_cast<std::byte*>(&segment.line(rank, port::Line16{}));
      EXPECT_EQ((part - mapping.block().data()) % static_cast<std::ptrdiff_t>(kPageBytes), 0);
    }
    EXPECT_LE(segment.stage(2) + layout.stage_bytes, mapping.block().data() + bytes);
    EXPECT_FALSE(Segment::over(mapping.block().subspan(at, bytes - at - 1), 3, layout).ok());
  }
}

TEST(Segment, LinesOfOneWriterLieTogetherAndPartsWithoutAStageOnNoPages) {
  port::Layout layout{0, 16, 3, 1};
  layout.lines16_together = 8;
  const testing::Job job(3, layout);
  for (int rank = 0; rank < 3; ++rank) {
    const auto at = [&](std::uint32_t i) {
      return reinterpret_cast<std::uintptr_t>(&job.segment.line(rank, port::Line16{i}));
    };
    EXPECT_EQ(at(0) % kPaddingBytes, 0U);
    EXPECT_EQ(at(15), at(0) + 15 * 16);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&job.segment.line(rank, port::Line128{})), at(0) + 256);
  }
  EXPECT_EQ(Segment::bytes(100, layout), 128 + 100U * (256 + 3 * 128));
  layout.lines16_together = 3;
  const auto refused = Segment::over(job.mapping.block(), 3, layout);
  EXPECT_EQ(refused.status().message(), "segment: field 'lines16_together': found 3, allowed: 1, 2, 4, 8");
}

TEST(Segment, StartsAsZeros) {
  const testing::Job job(2, {64, 2, 2, 1});
  const std::span<std::byte> block = job.mapping.block();
  EXPECT_TRUE(std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Segment, RefusesABlockTooSmallAndSaysHowMuchItTakes) {
  const port::Layout layout{100, 1, 0, 0};
  Mapping mapping = Mapping::anonymous(Segment::bytes(2, layout)).value();
  const Result<Segment> short_by_one = Segment::over(mapping.block().first(mapping.block().size() - 1), 2, layout);
  ASSERT_FALSE(short_by_one.ok());
  EXPECT_EQ(short_by_one.status().message(),
            "segment: field 'block': found 8191 bytes, allowed: 8192 bytes or more");
}

TEST(Segment, RefusesABlockOutOfStepAndNoRanks) {
  const port::Layout layout{100, 1, 0, 0};
  Mapping mapping = Mapping::anonymous(Segment::bytes(2, layout) + 4096).value();
  EXPECT_FALSE(Segment::over(mapping.block().subspan(64), 2, layout).ok());
  EXPECT_FALSE(Segment::over(mapping.block(), 0, layout).ok());
}

TEST(Mapping, SaysWhyThereIsNone) {
  const Result<Mapping> huge = Mapping::anonymous(std::size_t{1} << 62);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.status().code(), Code::io);
  EXPECT_NE(huge.status().message().find("4611686018427387904 bytes"), std::string::npos);
}

std::string fresh_path(const char* name) {
  return ::testing::TempDir() + "corewise-" + name + "-" + std::to_string(getpid());
}

TEST(Mapping, ProcessesThatAgreeOnAFileShareIt) {
  const std::string path = fresh_path("shared");
  Mapping made = Mapping::create(path, 10000).value();
  Mapping seen = Mapping::open(path, 10000).value();
  unlink(path.c_str());
  EXPECT_NE(made.block().data(), seen.block().data());
  EXPECT_TRUE(std::all_of(seen.block().begin(), seen.block().end(), [](std::byte b) { return b == std::byte{0}; }));
  made.block()[9999] = std::byte{7};
  EXPECT_EQ(seen.block()[9999], std::byte{7});
}

TEST(Mapping, AFileThatIsThereOrCannotBeFilledOrIsTooShortIsRefused) {
  const std::string path = fresh_path("refused");
  const Mapping made = Mapping::create(path, 4096).value();
  EXPECT_EQ(Mapping::create(path, 4096).status().code(), Code::io);
  const Result<Mapping> longer = Mapping::open(path, 5000);
  ASSERT_FALSE(longer.ok());
  EXPECT_NE(longer.status().message().find("has 4096 bytes, wanted 5000"), std::string::npos);
  unlink(path.c_str());
  EXPECT_EQ(Mapping::open(path, 4096).status().code(), Code::io);
  EXPECT_FALSE(Mapping::create(path, std::size_t{1} << 60).ok());
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "a file that could not be filled stays behind";
}

TEST(Segment, StagesMayLieElsewhere) {
  const port::Layout layout{1000, 5, 3, 2};
  std::vector<std::byte> first(layout.stage_bytes);
  std::vector<std::byte> second(layout.stage_bytes);
  const std::vector<std::byte*> stages = {first.data(), second.data()};
  const Mapping lines = Mapping::anonymous(Segment::bytes_of_lines(2, layout)).value();
  const auto segment = Segment::of_lines(lines.block(), stages, layout);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment.value().ranks(), 2);
  EXPECT_EQ(segment.value().layout(), layout);
  EXPECT_EQ(segment.value().stage(0), first.data());
  EXPECT_EQ(segment.value().stage(1), second.data());
  const auto* const last = &segment.value().line(1, port::Line128{}) + layout.lines128;
  EXPECT_LE(reinterpret_cast<const std::byte*>(last), lines.block().data() + lines.block().size());
  EXPECT_LT(Segment::bytes_of_lines(2, layout), Segment::bytes(2, {1 << 20, 5, 3, 2}));
  EXPECT_FALSE(Segment::of_lines(lines.block().first(100), stages, layout).ok());
}

TEST(Mapping, AFileWithoutANameIsSharedByWhoKnowsItsProcess) {
  int file = -1;
  const Mapping mine = Mapping::nameless(10000, file).value();
  mine.block()[9999] = std::byte{42};
  testing::run_processes(2, [&](int) {
    const auto theirs = Mapping::open(Mapping::path_of(getppid(), file), 10000);
    return theirs.ok() && theirs.value().block()[9999] == std::byte{42};
  });
  EXPECT_FALSE(Mapping::open(Mapping::path_of(getpid(), file), 20000).ok());
  close(file);
  EXPECT_FALSE(Mapping::open(Mapping::path_of(getpid(), file), 10000).ok());
  EXPECT_EQ(mine.block()[9999], std::byte{42});
}

}  // namespace
}  // namespace corewise::shm
