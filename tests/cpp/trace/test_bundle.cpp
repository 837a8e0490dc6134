// Bundles: what is packed is read as before, a crash in between loses nothing, and damage is named.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "rank_file.hpp"
#include "trace/bundle.hpp"
#include "trace/reader.hpp"

namespace corewise::trace {
namespace {

namespace fs = std::filesystem;
using corewise::testing::RankFile;
using corewise::testing::TemporaryFolder;

constexpr std::uint64_t kRecords = 300;

/// `ranks` rank files, of two nodes by turns.
void fill(const std::string& folder, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    RankFile file(folder + "/rank-0000" + std::to_string(rank) + ".cwt", rank, ranks, 4096);
    std::strcpy(file.header().node, rank % 2 == 0 ? "even node/1" : "odd");
    ThreadRecorder& recorder = file.add_thread(0);
    for (std::uint64_t n = 0; n < kRecords; ++n) put_message(recorder, {1 + n, 3, n, rank, 0, 0, 1, 0, Role::send});
  }
}

void expect_rank(const std::string& path, int rank) {
  Result<Reader> reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader.value().header().rank, rank);
  RecordStream stream = reader.value().records(reader.value().slots()[0]);
  std::uint64_t n = 0;
  for (Record record; stream.next(record); ++n) {
    ASSERT_EQ(record.bytes, n);
    ASSERT_EQ(record.peer, rank);
  }
  EXPECT_EQ(n, kRecords);
  EXPECT_EQ(reader.value().damage().missing_bytes, 0U);
}

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Bundle, OneFilePerNodeIsReadAsTheFilesWere) {
  for (const int ranks : {1, 2, 5, 8}) {
    SCOPED_TRACE(ranks);
    TemporaryFolder folder;
    fill(folder.path(), ranks);
    Result<std::vector<std::string>> packed = pack_folder(folder.path());
    ASSERT_TRUE(packed.ok()) << packed.status().message();
    std::vector<std::string> expected{"node-even_node_1.cwn"};
    if (ranks > 1) expected.push_back("node-odd.cwn");
    EXPECT_EQ(packed.value(), expected);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()),
              static_cast<std::ptrdiff_t>(expected.size()));
    const std::vector<std::string> files = rank_files(folder.path()).value();
    ASSERT_EQ(files.size(), static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      expect_rank(files[static_cast<std::size_t>(rank)], rank);
      expect_rank(folder.path() + "/rank-0000" + std::to_string(rank) + ".cwt", rank);
    }
  }
}

TEST(Bundle, HolesStayHoles) {
  TemporaryFolder folder;
  {
    RankFile(folder.path() + "/rank-00000.cwt", 0, 1, 4 << 20).add_thread(0);
  }
  ASSERT_TRUE(pack_folder(folder.path()).ok());
  struct stat about{};
  ASSERT_EQ(::stat((folder.path() + "/node-testhost.cwn").c_str(), &about), 0);
  EXPECT_GT(about.st_size, 8 << 20);
  EXPECT_LT(about.st_blocks * 512, 1 << 20);
}

TEST(Bundle, AfterACrashBeforeTheFilesWentEachRankCountsOnce) {
  TemporaryFolder folder;
  fill(folder.path(), 3);
  TemporaryFolder copy;
  fs::copy(folder.path() + "/rank-00002.cwt", copy.path() + "/rank-00002.cwt");
  ASSERT_TRUE(pack_folder(folder.path()).ok());
  fs::copy(copy.path() + "/rank-00002.cwt", folder.path() + "/rank-00002.cwt");
  write_all(folder.path() + "/node-odd.cwn.tmp12", "half written");
  const std::vector<std::string> files = rank_files(folder.path()).value();
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[2], folder.path() + "/rank-00002.cwt");
  for (int rank = 0; rank < 3; ++rank) expect_rank(files[static_cast<std::size_t>(rank)], rank);
  Result<std::vector<std::string>> again = pack_folder(folder.path());
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.status().message().find("node-even_node_1.cwn: is there already"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder.path() + "/rank-00002.cwt"));
}

TEST(Bundle, ARankThatIsStillWritingKeepsItsFile) {
  TemporaryFolder folder;
  {
    RankFile file(folder.path() + "/rank-00000.cwt", 0, 1, 4096);
    file.add_thread(0);
    file.header().pid = static_cast<std::uint32_t>(::getpid());
    file.header().state = State::running;
    Result<std::vector<std::string>> packed = pack_folder(folder.path());
    ASSERT_FALSE(packed.ok());
    EXPECT_NE(packed.status().message().find("rank-00000.cwt: its rank is still running"), std::string::npos);
    EXPECT_EQ(rank_files(folder.path()).value().size(), 1U);
  }
  // The process is alive and has nothing to do with the file any more.
  EXPECT_TRUE(pack_folder(folder.path()).ok());
}

TEST(Bundle, AFolderWithoutRankFilesGivesNone) {
  TemporaryFolder folder;
  EXPECT_TRUE(pack_folder(folder.path()).value().empty());
  EXPECT_TRUE(rank_files(folder.path()).value().empty());
  EXPECT_FALSE(rank_files(folder.path() + "/nothing").ok());
}

TEST(Bundle, AFileThatIsNoTraceStopsBeforeAnythingChanged) {
  TemporaryFolder folder;
  fill(folder.path(), 2);
  write_all(folder.path() + "/rank-00009.cwt", "not a trace");
  Result<std::vector<std::string>> packed = pack_folder(folder.path());
  ASSERT_FALSE(packed.ok());
  EXPECT_NE(packed.status().message().find("rank-00009.cwt"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder.path() + "/rank-00000.cwt"));
}

TEST(Bundle, DamageIsRefusedWithFileAndField) {
  TemporaryFolder folder;
  fill(folder.path(), 1);
  ASSERT_TRUE(pack_folder(folder.path()).ok());
  const std::string path = folder.path() + "/node-even_node_1.cwn";
  const std::string whole = read_all(path);
  const auto expect_refused = [&](const std::string& bytes, const char* field) {
    write_all(path, bytes);
    Result<std::vector<Member>> found = read_bundle(path);
    ASSERT_FALSE(found.ok()) << field;
    EXPECT_NE(found.status().message().find(path), std::string::npos) << found.status().message();
    EXPECT_NE(found.status().message().find(field), std::string::npos) << found.status().message();
    EXPECT_FALSE(rank_files(folder.path()).ok());
  };
  const auto with = [&](std::size_t at, const std::string& bytes) {
    std::string damaged = whole;
    return damaged.replace(at, bytes.size(), bytes);
  };
  const std::string ones(8, '\xff');
  expect_refused("", "CWNODE");
  expect_refused(whole.substr(0, 20), "bytes");
  expect_refused(whole.substr(0, whole.size() - 4096), "bytes");
  expect_refused(whole + std::string(64, '\0'), "bytes");
  expect_refused(with(0, "X"), "CWNODE");
  expect_refused(with(8, "\x07"), "version");
  expect_refused(with(12, ones.substr(0, 4)), "count");
  expect_refused(with(12, std::string(4, '\0')), "count");
  expect_refused(with(64, ones), "entries[0].offset");
  expect_refused(with(64, std::string(8, '\0')), "entries[0].offset");
  expect_refused(with(72, ones), "entries[0].bytes");
  expect_refused(with(80, "../"), "entries[0].name");
  expect_refused(with(80, std::string(112, 'a')), "entries[0].name");
}

}  // namespace
}  // namespace corewise::trace
