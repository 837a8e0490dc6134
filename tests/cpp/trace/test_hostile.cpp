// Damaged and hostile files: flipped bytes, cuts, garbage. Nothing here may crash, hang or read outside the file
// (run it under the address sanitizer); the bytes lie in a heap block of exactly the file's size to make that show.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "rank_file.hpp"
#include "trace/reader.hpp"

namespace corewise::trace {
namespace {

using corewise::testing::RankFile;
using corewise::testing::TemporaryFolder;

constexpr std::uint32_t kTinyHalf = 256;

/// A file with every kind of block in it, 64 KiB at most.
std::vector<char> sample(Mode mode) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 4, kTinyHalf, mode);
  file.add_names({"MPI_Send", "MPI_Recv", "MPI_Bcast"});
  file.add_comm({.index = 0, .ranks = {}, .size = 4, .remote = {}, .name = "MPI_COMM_WORLD", .my_rank = 0});
  file.add_comm({.index = 1, .ranks = {0, 2}, .size = 0, .remote = {1, 3}, .name = "bridge", .my_rank = 0});
  file.add_text(BlockKind::maps, "400000-500000 r-xp 00000000 08:01 7 /usr/bin/program\n");
  ThreadRecorder& first = file.add_thread(0);
  ThreadRecorder& second = file.add_thread(1);
  for (std::uint64_t n = 0; n < 60; ++n) {
    put_call(first, 1 + n, 5, 1, 1);
    put_message(n % 2 == 0 ? first : second, {100 + n, 5, 64, 1, 0, 0, 2, 0, Role::send});
    file.help();
  }
  std::ifstream in(file.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Reads everything there is to read; returns the number of records.
std::size_t exhaust(const std::vector<char>& bytes, std::size_t size) {
  // operator new aligns to 16, and the allocation ends where the file ends.
  std::unique_ptr<char[]> copy(new char[size]);
  std::memcpy(copy.get(), bytes.data(), size);
  Result<Reader> opened = Reader::from_memory({reinterpret_cast<const std::byte*>(copy.get()), size}, "test");
  if (!opened.ok()) {
    EXPECT_EQ(opened.status().message().substr(0, 4), "test");
    return 0;
  }
  const Reader& reader = opened.value();
  std::size_t count = 0;
  for (const Slot& slot : reader.slots()) {
    RecordStream stream = reader.records(slot);
    for (Record record; stream.next(record); ++count) {
      EXPECT_NE(record.start_ticks, 0U);
      (void)reader.procedure_name(record.procedure);
      (void)reader.site_address(record.site);
      (void)reader.clock().time_ns(record.start_ticks);
    }
  }
  // No stream can hold more than the file has room for, encoded as tightly as can be.
  EXPECT_LE(count, size / sizeof(CallRecord) * kLargestExpansion);
  EXPECT_LE(reader.host().size(), 64U);
  EXPECT_LE(reader.library().size(), 256U);
  return count;
}

TEST(Hostile, TheSampleIsWholeToBeginWith) {
  const std::vector<char> whole = sample(Mode::drain);
  EXPECT_EQ(exhaust(whole, whole.size()), 120U);
}

TEST(Hostile, CutsAtEvery64Bytes) {
  for (Mode mode : {Mode::drain, Mode::flight_recorder, Mode::helper_thread}) {
    const std::vector<char> whole = sample(mode);
    for (std::size_t size = 0; size <= whole.size(); size += 64) exhaust(whole, size);
    for (std::size_t size = kFirstBlock; size < whole.size(); size += 13) exhaust(whole, size);
  }
}

TEST(Hostile, EveryByteOfTheBlocksTurned) {
  const std::vector<char> whole = sample(Mode::drain);
  for (std::size_t at = kFirstBlock; at < whole.size(); ++at) {
    if (whole[at] == 0 && at % 8 != 0 && at % 8 != 7) continue;  // in runs of zeros the word's ends are enough
    std::vector<char> damaged = whole;
    for (const int mask : {0xff, 0x80, 0x01}) {
      damaged[at] = static_cast<char>(whole[at] ^ mask);
      exhaust(damaged, damaged.size());
    }
  }
}

TEST(Hostile, EveryByteOfTheHeaderTurned) {
  const std::vector<char> whole = sample(Mode::drain);
  std::vector<char> damaged = whole;
  for (std::size_t at = 0; at < sizeof(FileHeader); ++at) {
    for (const int mask : {0xff, 0x80, 0x01}) {
      damaged[at] = static_cast<char>(whole[at] ^ mask);
      exhaust(damaged, damaged.size());
    }
    damaged[at] = whole[at];
  }
}

TEST(Hostile, SizesAndOffsetsAtTheirExtremes) {
  const std::vector<char> whole = sample(Mode::drain);
  const std::uint64_t extremes[] = {UINT64_MAX,    UINT64_MAX - 63, std::uint64_t{1} << 63, 0x7fffffffffffffffULL,
                                    0xffffffffULL, whole.size(),    whole.size() + 64};
  for (std::size_t at = kFirstBlock; at + 8 <= whole.size(); at += 8) {
    std::vector<char> damaged = whole;
    for (const std::uint64_t value : extremes) {
      std::memcpy(damaged.data() + at, &value, 8);
      if (at % 64 < 40) exhaust(damaged, damaged.size());
    }
  }
}

TEST(Hostile, ManyBytesTurnedAtRandom) {
  const std::vector<char> whole = sample(Mode::drain);
  std::mt19937 random(20);
  for (int round = 0; round < 3'000; ++round) {
    std::vector<char> damaged = whole;
    const std::size_t flips = 1 + random() % 200;
    for (std::size_t i = 0; i < flips; ++i)
      damaged[kFirstBlock + random() % (whole.size() - kFirstBlock)] = static_cast<char>(random());
    exhaust(damaged, damaged.size());
  }
}

TEST(Hostile, NoiseBehindAValidHeader) {
  std::vector<char> noise = sample(Mode::drain);
  std::mt19937 random(21);
  for (std::size_t at = kFirstBlock; at < noise.size(); ++at) noise[at] = static_cast<char>(random());
  EXPECT_EQ(exhaust(noise, noise.size()), 0U);
}

}  // namespace
}  // namespace corewise::trace
