// Recorder and reader together: whatever was recorded comes back once, in order, at whichever stage the rank stops.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <random>

#include "rank_file.hpp"
#include "trace/reader.hpp"

namespace corewise::trace {
namespace {

using corewise::testing::RankFile;
using corewise::testing::TemporaryFolder;

constexpr std::uint32_t kSmallHalf = 4096;

/// The n-th record of a test stream: sizes mixed by a fixed rule, every field a function of n.
void put_nth(ThreadRecorder& recorder, std::uint64_t n) {
  const auto procedure = static_cast<std::uint16_t>(n % 500);
  const auto site = static_cast<std::uint16_t>(n % 4096 + 1);
  if (n % 3 == 0) {
    put_call(recorder, 1'000 + n, n % 97, procedure, site);
    return;
  }
  put_message(recorder, {1'000 + n, n % 97, n * 11, static_cast<std::int32_t>(n % 64), static_cast<std::int32_t>(n),
                         procedure, site, static_cast<std::uint16_t>(n % 5), Role::send});
}

void expect_nth(const Record& record, std::uint64_t n) {
  ASSERT_EQ(record.start_ticks, 1'000 + n);
  ASSERT_EQ(record.duration_ticks, n % 97);
  ASSERT_EQ(record.procedure, n % 500);
  ASSERT_EQ(record.site, n % 4096 + 1);
  if (n % 3 == 0) {
    ASSERT_EQ(record.role, Role::plain);
    ASSERT_EQ(record.peer, kNoPeer);
    ASSERT_EQ(record.bytes, 0U);
    return;
  }
  ASSERT_EQ(record.role, Role::send);
  ASSERT_EQ(record.bytes, n * 11);
  ASSERT_EQ(record.peer, static_cast<std::int32_t>(n % 64));
  ASSERT_EQ(record.tag, static_cast<std::int32_t>(n));
  ASSERT_EQ(record.comm, n % 5);
}

Reader open_or_die(const std::string& path) {
  Result<Reader> reader = Reader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return std::move(reader).value();
}

std::vector<Record> all_records(const Reader& reader, std::size_t slot = 0) {
  std::vector<Record> found;
  RecordStream stream = reader.records(reader.slots()[slot]);
  for (Record record; stream.next(record);) found.push_back(record);
  return found;
}

void expect_stream(const Reader& reader, std::uint64_t from, std::uint64_t to, std::size_t slot = 0) {
  const std::vector<Record> found = all_records(reader, slot);
  ASSERT_EQ(found.size(), to - from);
  for (std::uint64_t n = from; n < to; ++n) expect_nth(found[n - from], n);
}

TEST(Recorder, EveryCountOfRecordsComesBackAroundTheSwaps) {
  TemporaryFolder folder;
  // 4096 bytes hold 153.6 such records: the counts cross three swaps, padding at the end of a half included.
  for (std::uint64_t count = 0; count < 500; ++count) {
    SCOPED_TRACE(count);
    RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
    ThreadRecorder& recorder = file.add_thread(0);
    for (std::uint64_t n = 0; n < count; ++n) put_nth(recorder, n);
    const Reader reader = open_or_die(file.path());
    expect_stream(reader, 0, count);
    EXPECT_EQ(reader.damage().missing_bytes, 0U);
    EXPECT_EQ(reader.damage().blocks, 0U);
  }
}

TEST(Recorder, AHalfThatFillsExactlyIsDrainedOnce) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::uint64_t n = 0; n < kSmallHalf / sizeof(CallRecord); ++n) put_call(recorder, 1 + n, 0, 7, 0);
  EXPECT_EQ(recorder.header->drained, 0U);
  EXPECT_EQ(all_records(open_or_die(file.path())).size(), 256U);
  put_call(recorder, 257, 0, 7, 0);
  EXPECT_EQ(recorder.header->drained, kSmallHalf);
  const std::vector<Record> found = all_records(open_or_die(file.path()));
  ASSERT_EQ(found.size(), 257U);
  for (std::uint64_t n = 0; n < found.size(); ++n) EXPECT_EQ(found[n].start_ticks, 1 + n);
}

TEST(Recorder, FlushLeavesNothingInTheHalvesAndRecordingGoesOn) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  std::uint64_t n = 0;
  for (std::uint64_t until : {10U, 11U, 11U, 200U, 777U}) {
    while (n < until) put_nth(recorder, n++);
    EXPECT_TRUE(flush(recorder));
    expect_stream(open_or_die(file.path()), 0, n);
  }
}

TEST(Recorder, KilledAfterTheChunkIsWrittenButBeforeItCounts) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  std::uint64_t n = 0;
  while (recorder.limit - recorder.cursor >= 32) put_nth(recorder, n++);
  file.fault = RankFile::Fault::write_chunk_then_refuse;
  put_nth(recorder, n + (n % 3 == 0 ? 1 : 0));
  expect_stream(open_or_die(file.path()), 0, n);
}

TEST(Recorder, KilledBeforeTheFirstWordIsStored) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::uint64_t n = 0; n < 20; ++n) put_nth(recorder, n);
  std::memset(recorder.cursor + 8, 0x5a, 24);
  expect_stream(open_or_die(file.path()), 0, 20);
}

/// Stops inside swap_halves: chunk safe and counted, `zeroed` bytes of the other half cleared, half_first still
/// old.
void stop_while_zeroing(std::size_t zeroed, bool from_the_end) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  std::uint64_t n = 0;
  while (recorder.header->drained < 2 * kSmallHalf - 64) put_nth(recorder, n++);
  while (recorder.limit - recorder.cursor >= 32) put_nth(recorder, n++);
  const std::uint32_t other = recorder.active ^ 1U;
  const std::uint64_t old_first = recorder.header->half_first[other];
  std::vector<std::byte> old_half(half_base(recorder, other), half_base(recorder, other) + kSmallHalf);
  flush(recorder);
  std::memcpy(half_base(recorder, other), old_half.data(), kSmallHalf);
  std::memset(half_base(recorder, other) + (from_the_end ? kSmallHalf - zeroed : 0), 0, zeroed);
  recorder.header->half_first[other] = old_first;
  expect_stream(open_or_die(file.path()), 0, n);
}

TEST(Recorder, KilledBetweenZeroingAndTheNewOffset) {
  for (std::size_t zeroed = 0; zeroed <= kSmallHalf; zeroed += 8) {
    SCOPED_TRACE(zeroed);
    stop_while_zeroing(zeroed, false);
    stop_while_zeroing(zeroed, true);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Recorder, FlightRecorderKeepsTheNewestTwoHalves) {
  TemporaryFolder folder;
  for (std::uint64_t count : {0U, 1U, 100U, 153U, 200U, 400U, 5'000U}) {
    SCOPED_TRACE(count);
    RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf, Mode::flight_recorder);
    ThreadRecorder& recorder = file.add_thread(0);
    for (std::uint64_t n = 0; n < count; ++n) put_nth(recorder, n);
    const Reader reader = open_or_die(file.path());
    const std::vector<Record> found = all_records(reader);
    // At least one whole half (153 records) is always there, and all of them while they fit.
    EXPECT_GE(found.size(), std::min<std::uint64_t>(count, 153));
    for (std::size_t i = 0; i < found.size(); ++i) expect_nth(found[i], count - found.size() + i);
    std::uint64_t given_up = 0;
    for (std::uint64_t n = 0; n < count - found.size(); ++n) given_up += n % 3 == 0 ? 16 : 32;
    EXPECT_EQ(reader.slots()[0].overwritten_bytes, given_up);
    EXPECT_EQ(reader.damage().missing_bytes, 0U);
  }
}

TEST(Recorder, AFullDiskLosesTheNewestRecordsAndCountsThem) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  std::uint64_t n = 0;
  while (recorder.header->drained == 0) put_nth(recorder, n++);
  file.fault = RankFile::Fault::refuse;
  while (!recorder.full) put_nth(recorder, n++);
  const std::uint64_t kept = n - 1;  // the one that met the failing drain is the first that was lost
  const std::uint64_t lost_so_far = file.header().lost_bytes;
  EXPECT_EQ(lost_so_far, (n - 1) % 3 == 0 ? 16U : 32U);
  for (int more = 0; more < 10; ++more) put_message(recorder, {5, 1, 1, 0, 0, 1, 0, 0, Role::send});
  EXPECT_EQ(file.header().lost_bytes, lost_so_far + 320);
  expect_stream(open_or_die(file.path()), 0, kept);
}

TEST(Recorder, MissesOfOneSiteMerge) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::uint64_t n = 0; n < 1'000; ++n) put_miss(recorder, 100 + 10 * n, 5, 3, 9);
  put_miss(recorder, 50'000, 5, 3, 10);  // another site
  put_miss(recorder, 60'000, 5, 4, 10);  // another procedure
  put_call(recorder, 70'000, 5, 1, 0);   // anything between ends the merging
  put_miss(recorder, 80'000, 5, 4, 10);
  const std::vector<Record> found = all_records(open_or_die(file.path()));
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].role, Role::miss);
  EXPECT_EQ(found[0].bytes, 1'000U);
  EXPECT_EQ(found[0].start_ticks, 100U);
  EXPECT_EQ(found[0].duration_ticks, 999U * 10 + 5);
  for (std::size_t i : {1U, 2U, 4U}) EXPECT_EQ(found[i].bytes, 1U);
  EXPECT_EQ(found[3].role, Role::plain);
}

TEST(Recorder, MissesMergeAcrossManySwapsWithoutTouchingDrainedOnes) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& recorder = file.add_thread(0);
  std::uint64_t time = 1;
  for (int i = 0; i < 2'000; ++i) {
    for (int miss = 0; miss < 3; ++miss) put_miss(recorder, time++, 1, 3, 9);
    put_call(recorder, time++, 1, 1, 0);
  }
  const std::vector<Record> found = all_records(open_or_die(file.path()));
  ASSERT_EQ(found.size(), 4'000U);
  for (std::size_t i = 0; i < found.size(); i += 2) ASSERT_EQ(found[i].bytes, 3U) << i;
}

// ---- a helper thread drains ------------------------------------------------------------------------------

TEST(Recorder, AHelperDrainsTheOtherHalfWheneverItComes) {
  TemporaryFolder folder;
  // 4096 bytes hold 153 records or so: the helper comes as late as it can, or somewhere in between.
  for (const std::uint64_t late : {1U, 40U, 100U, 152U}) {
    SCOPED_TRACE(late);
    RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf, Mode::helper_thread);
    ThreadRecorder& recorder = file.add_thread(0);
    std::uint64_t since = 0;
    for (std::uint64_t n = 0; n < 2'000; ++n) {
      put_nth(recorder, n);
      since = recorder.handover->full == 0 ? 0 : since + 1;
      if (since == late) {
        EXPECT_TRUE(file.help());
        EXPECT_FALSE(file.help());
      }
      if (n % 97 == 0) expect_stream(open_or_die(file.path()), 0, n + 1);
    }
    const Reader reader = open_or_die(file.path());
    expect_stream(reader, 0, 2'000);
    EXPECT_EQ(reader.damage().missing_bytes, 0U);
    EXPECT_EQ(reader.slots()[0].overwritten_bytes, 0U);
  }
}

TEST(Recorder, TheRecordingThreadWaitsOnlyForAHalfThatItNeeds) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf, Mode::helper_thread);
  ThreadRecorder& recorder = file.add_thread(0);
  static int waits;
  static RankFile* helped;
  waits = 0;
  helped = &file;
  recorder.handover->wait = [] {
    ++waits;
    helped->help();
  };
  std::uint64_t n = 0;
  while (recorder.handover->full == 0) put_nth(recorder, n++);
  while (recorder.limit - recorder.cursor >= 32) put_nth(recorder, n++);
  EXPECT_EQ(waits, 0);
  put_nth(recorder, n++);
  put_nth(recorder, n++);
  put_nth(recorder, n++);
  EXPECT_EQ(waits, 1);
  EXPECT_TRUE(flush(recorder));
  EXPECT_EQ(recorder.handover->full, 0U);
  expect_stream(open_or_die(file.path()), 0, n);
}

TEST(Recorder, AHelperThatCannotDrainLosesTheNewestRecordsOnly) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf, Mode::helper_thread);
  ThreadRecorder& recorder = file.add_thread(0);
  file.fault = RankFile::Fault::refuse;
  std::uint64_t n = 0;
  while (!recorder.full) {
    put_nth(recorder, n++);
    file.help();
  }
  EXPECT_EQ(file.header().lost_bytes, (n - 1) % 3 == 0 ? 16U : 32U);
  EXPECT_FALSE(flush(recorder));
  expect_stream(open_or_die(file.path()), 0, n - 1);
}

TEST(Recorder, EncodedChunksTakeAFractionOfTheFile) {
  TemporaryFolder folder;
  std::uint64_t sizes[2];
  for (const bool encode : {false, true}) {
    RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
    file.encode = encode;
    ThreadRecorder& recorder = file.add_thread(0);
    for (std::uint64_t n = 0; n < 100'000; ++n)
      put_message(recorder, {1'000 + n * 300, n % 97, 8, 1, 0, 5, 7, 0, Role::send});
    sizes[encode ? 1 : 0] = file.size();
    EXPECT_EQ(all_records(open_or_die(file.path())).size(), 100'000U);
  }
  EXPECT_GT(sizes[0], 3'200'000U);
  EXPECT_LT(sizes[1], 700'000U);
}

bool nest(void* sink, const FullHalf&) {
  auto& recorder = *static_cast<ThreadRecorder*>(sink);
  put_call(recorder, 999, 1, 1, 1);
  put_message(recorder, {999, 1, 1, 0, 0, 1, 0, 0, Role::send});
  put_miss(recorder, 999, 1, 1, 1);
  return true;
}

TEST(Recorder, ACallThatInterruptsAnotherIsRefusedAndCounted) {
  std::vector<std::byte> memory(sizeof(ThreadHeader) + 2 * kSmallHalf + 64);
  void* at = memory.data();
  std::size_t space = memory.size();
  auto* header = static_cast<ThreadHeader*>(std::align(64, sizeof(ThreadHeader), at, space));
  FileHeader losses{};
  ThreadRecorder recorder;
  attach(recorder, header, &losses, kSmallHalf, &nest, &recorder);
  for (std::uint64_t n = 0; n < 257; ++n) put_call(recorder, 1 + n, 0, 0, 0);
  EXPECT_EQ(losses.lost_nested, 3U);
  EXPECT_EQ(header->drained, kSmallHalf);
}

TEST(Format, DurationsAreExactBelow2To27AndCloseBeyond) {
  for (std::uint64_t ticks : {0ULL, 1ULL, 63ULL, (1ULL << 27) - 1})
    EXPECT_EQ(unpack_duration(pack_duration(ticks)), ticks);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t ticks = random() >> (random() % 32 + 6);  // up to 2^58, the largest that packs
    const std::uint64_t back = unpack_duration(pack_duration(ticks));
    ASSERT_LE(back, ticks);
    ASSERT_LE(static_cast<double>(ticks - back), static_cast<double>(ticks) / (1 << 26)) << ticks;
  }
}

TEST(Format, VolumesSaturateAtTheirWidth) {
  EXPECT_EQ(volume_bytes(volume_word(kVolumeMask + 5, 3)), kVolumeMask);
  EXPECT_EQ(volume_comm(volume_word(kVolumeMask + 5, 3)), 3U);
  EXPECT_EQ(volume_bytes(volume_word(123, kUnknownComm)), 123U);
}

TEST(Reader, SlotsOfSeveralThreadsStayApart) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, kSmallHalf);
  ThreadRecorder& second = file.add_thread(1);
  ThreadRecorder& first = file.add_thread(0);
  for (std::uint64_t n = 0; n < 1'000; ++n) {
    put_nth(first, n);
    if (n % 2 == 0) put_nth(second, n / 2);
  }
  const Reader reader = open_or_die(file.path());
  ASSERT_EQ(reader.slots().size(), 2U);
  EXPECT_EQ(reader.slots()[0].index, 0U);
  expect_stream(reader, 0, 1'000, 0);
  expect_stream(reader, 0, 500, 1);
}

}  // namespace
}  // namespace corewise::trace
