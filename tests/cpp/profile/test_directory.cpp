// Folders: how a run ended, several worlds in one folder, damaged and missing files, clocks that had no time.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "profile/profile.hpp"
#include "profile/reading.hpp"
#include "run_folder.hpp"

namespace corewise::profile {
namespace {

using namespace corewise::testing;
using trace::Role;

std::string refusal(const std::string& path) {
  Result<Profile> profile = read_directory(path);
  return profile.ok() ? "read" : profile.status().message();
}

TEST(Directory, RefusesWhatIsNoProfile) {
  TemporaryFolder folder;
  EXPECT_EQ(refusal(folder.path() + "/none"), folder.path() + "/none: not a profile: no such folder");
  EXPECT_EQ(refusal(folder.path()), folder.path() + ": 0 events seen: it holds no rank file (*.cwt)");
  std::ofstream(folder.path() + "/rank-00000.cwt") << "not a trace";
  EXPECT_NE(refusal(folder.path()).find("rank-00000.cwt: not a corewise trace"), std::string::npos);
}

TEST(Directory, SaysHowEveryRankEnded) {
  MadeUpRun run(3);
  run[1].file().header().state = trace::State::aborted;
  run[1].file().header().abort_code = 13;
  run[2].file().header().state = trace::State::running;
  run[2].put(Role::send, kSend, 0, 1);
  run[0].file().header().cpus_start[0] = 0x05;
  run[0].file().header().cpus_start[127] = 0x80;
  run[0].file().header().lost_bytes = 64;
  run[0].file().header().lost_requests = 2;
  const Profile profile = std::move(read_directory(run.path())).value();
  ASSERT_EQ(profile.worlds.size(), 1U);
  const std::vector<Rank>& ranks = profile.worlds[0].ranks;
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_EQ(ranks[0].ending, Ending::finalized);
  EXPECT_EQ(ranks[0].cpus_start, (std::vector<int>{0, 2, 1023}));
  EXPECT_TRUE(ranks[0].cpus_end.empty());
  EXPECT_EQ(ranks[0].losses.record_bytes, 64U);
  EXPECT_EQ(ranks[0].losses.requests, 2U);
  EXPECT_EQ(ranks[0].host, "testhost");
  EXPECT_EQ(ranks[1].ending, Ending::aborted);
  EXPECT_EQ(ranks[1].abort_code, 13);
  EXPECT_EQ(ranks[2].ending, Ending::running);
  EXPECT_DOUBLE_EQ(ranks[2].wall_ns, 110);  // the record's end: 1 100 + 10, the clock began at 1 000
  EXPECT_EQ(ranks[2].records, 1U);
}

TEST(Directory, ACutFileIsALoss) {
  MadeUpRun run(2);
  for (int n = 0; n < 1'000; ++n) run[1].put(Role::send, kSend, 0, 1);
  const std::uint64_t whole = run[1].file().header().tail;
  const std::string& path = run[1].file().path();
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(trace::kFirstBlock + 64)), 0);
  const Profile profile = std::move(read_directory(run.path())).value();
  EXPECT_EQ(profile.worlds[0].ranks[0].losses.missing_bytes, 0U);
  EXPECT_EQ(profile.worlds[0].ranks[1].losses.missing_bytes, whole - trace::kFirstBlock - 64);
  EXPECT_EQ(profile.worlds[0].ranks[1].ending, Ending::finalized);
}

TEST(Directory, ADamagedChunkIsALoss) {
  MadeUpRun run(2);
  for (int n = 0; n < 1'000; ++n) run[1].put(Role::send, kSend, 0, 1);
  std::fstream file(run[1].file().path(), std::ios::binary | std::ios::in | std::ios::out);
  for (std::uint64_t at = trace::kFirstBlock; at < run[1].file().header().tail; at += trace::kBlockAlign) {
    trace::ChunkHeader chunk;
    file.seekg(static_cast<std::streamoff>(at)).read(reinterpret_cast<char*>(&chunk), sizeof chunk);
    if (chunk.block.kind != trace::BlockKind::chunk) continue;
    ASSERT_EQ(chunk.encoding, trace::kDelta);
    file.seekp(static_cast<std::streamoff>(at + sizeof chunk)) << std::string(chunk.payload_bytes, '\xff');
    file.close();
    break;
  }
  const Profile profile = std::move(read_directory(run.path())).value();
  EXPECT_EQ(profile.worlds[0].ranks[0].losses.missing_bytes, 0U);
  EXPECT_GT(profile.worlds[0].ranks[1].losses.missing_bytes, 0U);
  EXPECT_LE(profile.worlds[0].ranks[1].losses.missing_bytes, 4096U);
}

TEST(Directory, KeepsWorldsApart) {
  MadeUpRun run(2);
  run[0].put(Role::send, kSend, 1, 1);
  MadeUpRank& child = run.add("spawn4711-", 0, 2, "");
  child.file().header().spawned = 1;
  child.put(Role::send, kSend, 1, 10);
  MadeUpRank& second_launch = run.add("", 1, 2, ".pid99");
  second_launch.file().header().start_realtime_ns = 5'000;
  second_launch.put(Role::send, kSend, 0, 100);
  MadeUpRank& single = run.add("", 0, 1, ".pid98");
  single.put(Role::send, kSend, 0, 1'000);
  const Profile profile = std::move(read_directory(run.path())).value();
  ASSERT_EQ(profile.worlds.size(), 4U);
  const std::uint64_t expected[] = {1, 100, 1'000, 10};
  const char* names[] = {"world", "world 2", "world", "spawn4711"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(matrix(profile.worlds[i], Traffic::sent).total_bytes(), expected[i]) << i;
    EXPECT_EQ(profile.worlds[i].name, names[i]);
  }
  EXPECT_EQ(profile.worlds[0].ranks.size(), 2U);
  EXPECT_TRUE(profile.worlds[3].spawned);
}

TEST(Directory, ADamagedFileIsNamedAndTheOthersAreRead) {
  MadeUpRun run(2);
  run[0].put(Role::send, kSend, 1, 1);
  std::ofstream(run.path() + "/rank-00002.cwt") << "CWTRACE";
  run[1].file().header().rank = 9;
  const Profile profile = std::move(read_directory(run.path())).value();
  ASSERT_EQ(profile.problems.size(), 2U);
  EXPECT_NE(profile.problems[0].find("rank-00001.cwt: field 'rank': found 9, allowed: 0..1"), std::string::npos);
  EXPECT_NE(profile.problems[1].find("rank-00002.cwt"), std::string::npos);
  ASSERT_EQ(profile.worlds.size(), 1U);
  EXPECT_EQ(profile.worlds[0].ranks.size(), 1U);
  EXPECT_EQ(profile.worlds[0].size, 2);
}

TEST(Directory, AClockWithoutTimeCountsWithItsNeighboursRate) {
  MadeUpRun run(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    trace::FileHeader& header = run[rank].file().header();
    header.clock = trace::Clock::tsc;
    header.latest_ticks = header.start_ticks;
    run[rank].put(Role::send, kSend, 0, 1, 0, /*ticks=*/3'000);
  }
  trace::FileHeader& measured = run[1].file().header();
  measured.latest_ticks = measured.start_ticks + 60'000'000;
  measured.latest_ns = 20'000'000;  // 3 ticks a nanosecond
  std::strcpy(run[2].file().header().host, "elsewhere");
  const Profile profile = std::move(read_directory(run.path())).value();
  const World& world = profile.worlds[0];
  EXPECT_DOUBLE_EQ(world.ranks[0].mpi_ns, 1'000);
  EXPECT_DOUBLE_EQ(world.ranks[1].mpi_ns, 1'000);
  EXPECT_TRUE(world.ranks[0].clock_known && world.ranks[0].clock_precise);
  EXPECT_DOUBLE_EQ(world.ranks[2].mpi_ns, 3'000);
  EXPECT_FALSE(world.ranks[2].clock_known);
}

TEST(Directory, DamagedRecordsNeverBringItDown) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    MadeUpRun run(2);
    for (int n = 0; n < 40; ++n)
      run[0].put(static_cast<Role>(n % 12), static_cast<Procedure>(n % 21), n % 3 - 1, 64);
    auto* bytes = reinterpret_cast<unsigned char*>(run[0].recorder().header + 1);
    for (int flip = 0; flip < 20; ++flip) bytes[random() % 1'200] = static_cast<unsigned char>(random());
    Result<Profile> profile = read_directory(run.path());
    ASSERT_TRUE(profile.ok());
    for (int kind = 0; kind < kTrafficKinds; ++kind)
      for (const pattern::Message& entry : matrix(profile.value().worlds[0], static_cast<Traffic>(kind)).entries)
        ASSERT_TRUE(entry.from >= 0 && entry.from < 2 && entry.to >= 0 && entry.to < 2);
  }
}

}  // namespace
}  // namespace corewise::profile
