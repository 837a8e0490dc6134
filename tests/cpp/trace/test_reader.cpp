// The reader alone: headers it refuses, text blocks, communicators, sites, calibration, blocks it must not trust.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "rank_file.hpp"
#include "trace/reader.hpp"

namespace corewise::trace {
namespace {

using corewise::testing::RankFile;
using corewise::testing::TemporaryFolder;

std::string refusal(const std::string& path) {
  Result<Reader> reader = Reader::open(path);
  return reader.ok() ? "opened" : reader.status().message();
}

void expect_refused(const std::string& path, const std::string& because) {
  const std::string message = refusal(path);
  EXPECT_NE(message.find(path), std::string::npos) << message;
  EXPECT_NE(message.find(because), std::string::npos) << message;
}

TEST(Reader, RefusesWhatIsNoTraceAndNamesTheFile) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/rank.cwt";
  expect_refused(path, "cannot open: No such file");
  expect_refused(folder.path(), "not a regular file");
  const std::string pipe = folder.path() + "/pipe.cwt";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(pipe, "not a regular file");
  std::ofstream(path).flush();
  expect_refused(path, "it is empty");
  std::ofstream(path) << "ELF, perhaps" << std::string(100'000, 'x');
  expect_refused(path, "does not start with CWTRACE");
  {
    RankFile file(path, 0, 1, 4096);
  }
  ASSERT_EQ(::truncate(path.c_str(), kFirstBlock - 1), 0);
  expect_refused(path, "truncated: 36863 bytes");
}

TEST(Reader, RefusesHeadersOfAnotherVersionOrShape) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/rank.cwt";
  RankFile file(path, 0, 1, 4096);
  EXPECT_EQ(refusal(path), "opened");
  file.header().version = kVersion + 1;
  expect_refused(path, "field 'version': found 4, allowed: 1 to 3");
  file.header().version = kVersion;
  file.header().header_bytes = 8192;
  expect_refused(path, "field 'header_bytes': found 8192, allowed: 4096");
  file.header().header_bytes = kHeaderBytes;
  for (std::uint32_t bad : {0U, 16U, 4097U}) {
    file.header().half_bytes = bad;
    expect_refused(path, "field 'half_bytes'");
  }
}

TEST(Reader, GivesNamesCommunicatorsSitesAndMaps) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 1, 4, 4096);
  file.add_names({"MPI_Send", "", "MPI_Bcast"});
  file.add_comm({.index = 0, .ranks = {}, .size = 4, .remote = {}, .name = "MPI_COMM_WORLD", .my_rank = 1});
  file.add_comm({.index = 3, .ranks = {1, 3}, .size = 0, .remote = {0, 2, -4}, .name = "half", .my_rank = 0});
  file.add_text(BlockKind::maps, "first\n");
  file.add_text(BlockKind::maps, "second\n");
  file.set_site(1, 0x1234);
  file.set_site(kSiteCapacity, 0x5678);
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok());
  const Reader& trace = reader.value();
  EXPECT_EQ(trace.procedure_name(0), "MPI_Send");
  EXPECT_EQ(trace.procedure_name(1), "procedure 1");
  EXPECT_EQ(trace.procedure_name(2), "MPI_Bcast");
  EXPECT_EQ(trace.procedure_name(3), "procedure 3");
  ASSERT_EQ(trace.communicators().size(), 2U);
  EXPECT_TRUE(trace.communicators().at(0).identity);
  EXPECT_EQ(trace.communicators().at(0).name, "MPI_COMM_WORLD");
  const Communicator& half = trace.communicators().at(3);
  EXPECT_EQ(half.ranks, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(half.remote_ranks, (std::vector<std::int32_t>{0, 2, -4}));
  EXPECT_EQ(half.name, "half");
  EXPECT_EQ(trace.maps(), "first\nsecond\n");
  EXPECT_EQ(trace.site_address(0), 0U);
  EXPECT_EQ(trace.site_address(1), 0x1234U);
  EXPECT_EQ(trace.site_address(2), 0U);
  EXPECT_EQ(trace.site_address(kSiteCapacity), 0x5678U);
  EXPECT_EQ(trace.site_address(kSiteCapacity + 1), 0U);
  EXPECT_EQ(trace.host(), "testhost");
  EXPECT_EQ(trace.damage().blocks + trace.damage().uncommitted, 0U);
}

/// Whoever lays collectives out over such a communicator would need memory for ranks that there are not.
TEST(Reader, TakesNoWorldOfMoreRanksThanTheFileIsOf) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 1, 4, 4096);
  file.add_comm({.index = 0, .ranks = {}, .size = 5, .remote = {}, .name = "MPI_COMM_WORLD", .my_rank = 1});
  file.add_comm({.index = 2, .ranks = {}, .size = 4, .remote = {}, .name = "MPI_COMM_WORLD", .my_rank = 1});
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value().communicators().size(), 1U);
  EXPECT_EQ(reader.value().communicators().count(2), 1U);
  EXPECT_EQ(reader.value().damage().blocks, 1U);
}

TEST(Reader, SkipsWhatIsNotCommitted) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  file.add_text(BlockKind::maps, "half written", /*commit=*/false);
  file.add_names({"MPI_Send"});
  // A chunk whose write was cut short by the kill: announced longer than the file is.
  std::vector<char> cut(128, '\0');
  ChunkHeader header{};
  header.block = {BlockKind::chunk, 0, 10'000};
  header.payload_bytes = 9'936;
  std::memcpy(cut.data(), &header, sizeof header);
  file.append(cut);
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value().maps(), "");
  EXPECT_EQ(reader.value().procedure_name(0), "MPI_Send");
  EXPECT_EQ(reader.value().damage().uncommitted, 2U);
  EXPECT_EQ(reader.value().damage().blocks, 0U);
}

TEST(Reader, SaysHowMuchOfADrainedStreamIsMissing) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  file.encode = false;
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::uint64_t n = 0; n < 256 * 3 + 10; ++n) put_call(recorder, 1 + n, 0, 0, 0);
  // Cut the file behind its first chunk: two drained halves are gone, the ten newest records are still there.
  const std::uint64_t second = file.header().tail - 2 * (64 + 4096);
  ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(second)), 0);
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value().damage().missing_bytes, 2U * 4096);
  RecordStream stream = reader.value().records(reader.value().slots()[0]);
  std::vector<std::uint64_t> starts;
  for (Record record; stream.next(record);) starts.push_back(record.start_ticks);
  ASSERT_EQ(starts.size(), 266U);
  EXPECT_EQ(starts[255], 256U);
  EXPECT_EQ(starts[256], 769U);
}

TEST(Reader, VersionOneIsReadAsItWasWritten) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  file.encode = false;
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::uint64_t n = 0; n < 700; ++n) put_call(recorder, 1 + n, 0, 0, 0);
  file.grow_old(1);
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value().node(), "testhost");
  RecordStream stream = reader.value().records(reader.value().slots()[0]);
  std::uint64_t n = 0;
  for (Record record; stream.next(record);) ASSERT_EQ(record.start_ticks, ++n);
  EXPECT_EQ(n, 700U);
}

TEST(Reader, VersionTwoIsReadAsItWasWritten) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  ThreadRecorder& recorder = file.add_thread(0);
  // Version 2 had 32 bits for the peer; up to 24 of them read alike, and what is a datatype now is part of the
  // peer.
  for (std::uint64_t n = 0; n < 700; ++n) put_message(recorder, {1 + n, 0, n, 5, 7, 0, 0, 0, Role::send, 1});
  file.header().crash.signal = 11;
  file.grow_old(2);
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader.value().damage().blocks, 0U);
  EXPECT_TRUE(reader.value().crash_stack().empty());
  ASSERT_EQ(reader.value().slots().size(), 1U);
  EXPECT_FALSE(reader.value().slots()[0].open.has_value());
  RecordStream stream = reader.value().records(reader.value().slots()[0]);
  std::uint64_t n = 0;
  for (Record record; stream.next(record); ++n) {
    ASSERT_EQ(record.bytes, n);
    ASSERT_EQ(record.peer, 5 + (1 << 24));
    ASSERT_EQ(record.type, kUnknownType);
  }
  EXPECT_EQ(n, 700U);
}

TEST(Reader, TheOpenCallIsThereUntilItIsLeft) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  ThreadRecorder& recorder = file.add_thread(0);
  const auto open_now = [&] { return Reader::open(file.path()).value().slots()[0].open; };
  EXPECT_FALSE(open_now().has_value());
  OpenCall& open = recorder.header->open;
  store_words(open.call, words_of({0, 0, 4096, kAnySource, kAnyTag, 3, 9, 0, Role::receive, 2}));
  store_words(open.pending[0], words_of({0, 0, 16, 1, 5, 4, 8, 0, Role::send, 254}));
  open.requests = 3;
  open.listed = 1;
  EXPECT_FALSE(open_now().has_value());
  enter_call(recorder, 77);
  const std::optional<OpenRecord> found = open_now();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->call.start_ticks, 77U);
  EXPECT_EQ(found->call.role, Role::receive);
  EXPECT_EQ(found->call.procedure, 3);
  EXPECT_EQ(found->call.site, 9);
  EXPECT_EQ(found->call.peer, kAnySource);
  EXPECT_EQ(found->call.tag, kAnyTag);
  EXPECT_EQ(found->call.bytes, 4096U);
  EXPECT_EQ(found->call.type, 2);
  EXPECT_EQ(found->requests, 3U);
  ASSERT_EQ(found->pending.size(), 1U);
  EXPECT_EQ(found->pending[0].type, 254);
  EXPECT_EQ(found->pending[0].peer, 1);
  open.listed = UINT32_MAX;  // a damaged file
  EXPECT_EQ(open_now()->pending.size(), kListedRequests);
  leave_call(recorder);
  EXPECT_FALSE(open_now().has_value());
}

TEST(Reader, DatatypesAreReadAndRecordsNameThem) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  file.add_type(1, "MPI_DOUBLE", 8, 8);
  file.add_type(2, "vector", 800, 1600);
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::int32_t peer : {0, 8'388'607, kOutside})
    put_message(recorder, {1, 0, 8, peer, 0, 0, 0, 0, Role::send, 2});
  Result<Reader> reader = Reader::open(file.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value().datatypes().size(), 2U);
  EXPECT_EQ(reader.value().datatypes().at(2).name, "vector");
  EXPECT_EQ(reader.value().datatypes().at(2).extent_bytes, 1600);
  RecordStream stream = reader.value().records(reader.value().slots()[0]);
  std::vector<std::int32_t> peers;
  for (Record record; stream.next(record);) {
    EXPECT_EQ(record.type, 2);
    peers.push_back(record.peer);
  }
  EXPECT_EQ(peers, (std::vector<std::int32_t>{0, 8'388'607, kOutside}));
}

TEST(Reader, ADamagedEncodingIsCountedAndTheRestRead) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::uint64_t n = 0; n < 256 * 3 + 10; ++n) put_call(recorder, 1 + n, 0, 0, 0);
  // The middle chunk becomes a chunk that names no length: all its tokens say that a template follows.
  const std::string whole = [&] {
    std::ifstream in(file.path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  std::string damaged = whole;
  std::size_t found = 0;
  for (std::size_t at = kFirstBlock; at + sizeof(ChunkHeader) < damaged.size(); at += kBlockAlign) {
    ChunkHeader chunk;
    std::memcpy(&chunk, damaged.data() + at, sizeof chunk);
    if (chunk.block.kind != BlockKind::chunk || ++found != 2) continue;
    EXPECT_EQ(chunk.encoding, kDelta);
    EXPECT_EQ(chunk.record_bytes, 4096U);
    std::memset(damaged.data() + at + sizeof chunk, 0xff, chunk.payload_bytes);
  }
  ASSERT_EQ(found, 3U);
  std::unique_ptr<std::byte[]> copy(new std::byte[damaged.size()]);
  std::memcpy(copy.get(), damaged.data(), damaged.size());
  Result<Reader> reader = Reader::from_memory({copy.get(), damaged.size()}, "test");
  ASSERT_TRUE(reader.ok());
  RecordStream stream = reader.value().records(reader.value().slots()[0]);
  std::vector<std::uint64_t> starts;
  for (Record record; stream.next(record);) starts.push_back(record.start_ticks);
  EXPECT_GT(stream.damaged_bytes(), 0U);
  EXPECT_LE(stream.damaged_bytes(), 4096U);
  ASSERT_GE(starts.size(), 522U);
  EXPECT_EQ(starts[255], 256U);
  EXPECT_EQ(starts[starts.size() - 266], 513U);
}

TEST(Reader, ACutThroughAThreadsBlockIsDamage) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 4096);
  put_call(file.add_thread(0), 1, 0, 0, 0);
  const std::uint64_t whole = file.header().tail;
  for (const State state : {State::running, State::finalized}) {
    file.header().state = state;
    ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(whole - 100)), 0);
    Result<Reader> cut = Reader::open(file.path());
    ASSERT_TRUE(cut.ok());
    EXPECT_EQ(cut.value().damage().blocks, 1U);
    EXPECT_EQ(cut.value().damage().uncommitted, 0U);
  }
}

TEST(Reader, SaysHowMuchAFinishedRanksFileWasCut) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 16'384);
  file.encode = false;
  ThreadRecorder& recorder = file.add_thread(0);
  for (std::uint64_t n = 0; n < 1024 * 3; ++n) put_call(recorder, 1 + n, 0, 0, 0);
  file.header().state = State::finalized;
  EXPECT_EQ(Reader::open(file.path()).value().damage().cut_bytes, 0U);
  const std::uint64_t whole = file.header().tail;
  // The whole thread block and all behind it: nothing of them is left to tell, but for the header's tail.
  ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(kFirstBlock)), 0);
  Result<Reader> cut = Reader::open(file.path());
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut.value().damage().cut_bytes, whole - kFirstBlock);
}

TEST(Reader, ABlockThatAKillKeptFromBeingWrittenIsNoCut) {
  TemporaryFolder folder;
  RankFile file(folder.path() + "/rank.cwt", 0, 1, 16'384);
  put_call(file.add_thread(0), 1, 0, 0, 0);
  file.header().tail += sizeof(ChunkHeader) + 16'384;
  EXPECT_EQ(Reader::open(file.path()).value().damage().cut_bytes, 0U);
  file.header().state = State::finalized;
  EXPECT_EQ(Reader::open(file.path()).value().damage().cut_bytes, sizeof(ChunkHeader) + 16'384);
  file.header().lost_bytes = 16;  // the file system was full, and that is what is said
  EXPECT_EQ(Reader::open(file.path()).value().damage().cut_bytes, 0U);
  file.header().lost_bytes = 0;
  file.header().tail -= 16'384;  // within what a finished rank may leave: padding and alignment
  EXPECT_EQ(Reader::open(file.path()).value().damage().cut_bytes, 0U);
}

TEST(Reader, TurnsTicksIntoNanoseconds) {
  FileHeader header{};
  header.clock = Clock::tsc;
  header.start_ticks = 1'000'000;
  header.start_ns = 500;
  header.latest_ticks = 1'000'000 + 42'000'000;  // 2.1 GHz for 20 ms
  header.latest_ns = 500 + 20'000'000;
  Calibration clock = calibrate(header);
  EXPECT_TRUE(clock.known && clock.precise);
  EXPECT_EQ(clock.span_ns, 20'000'000);
  EXPECT_DOUBLE_EQ(clock.duration_ns(2'100), 1'000);
  EXPECT_DOUBLE_EQ(clock.time_ns(1'000'000 + 21'000), 10'000);
  EXPECT_DOUBLE_EQ(clock.time_ns(1'000'000 - 2'100), -1'000);
  header.latest_ns = 500 + 9'000'000;
  header.latest_ticks = 1'000'000 + 18'900'000;
  clock = calibrate(header);
  EXPECT_TRUE(clock.known);
  EXPECT_FALSE(clock.precise);
  for (std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{1'000'000}, std::uint64_t{1'000'001}, UINT64_MAX}) {
    header.latest_ticks = bad;
    EXPECT_FALSE(calibrate(header).known) << bad;
  }
  header.clock = Clock::monotonic_raw_ns;
  clock = calibrate(header);
  EXPECT_TRUE(clock.known && clock.precise);
  EXPECT_DOUBLE_EQ(clock.duration_ns(7), 7);
}

}  // namespace
}  // namespace corewise::trace
