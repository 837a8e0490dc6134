// Point-to-point and one-sided traffic, per-procedure and per-site totals, histograms: against sums done by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "profile/addresses.hpp"
#include "profile/profile.hpp"
#include "profile/reading.hpp"
#include "run_folder.hpp"

namespace corewise::profile {
namespace {

using namespace corewise::testing;
using trace::Role;

Profile read(const std::string& path) {
  Result<Profile> profile = read_directory(path);
  EXPECT_TRUE(profile.ok()) << profile.status().message();
  return std::move(profile).value();
}

std::string text(const pattern::Matrix& matrix) {
  std::string out;
  for (const pattern::Message& entry : matrix.entries)
    out += std::to_string(entry.from) + ">" + std::to_string(entry.to) + " " + std::to_string(entry.bytes) + "/" +
           std::to_string(entry.count) + " ";
  return out;
}

const ProcedureTotals& totals(const World& world, std::size_t rank, const std::string& procedure) {
  const auto at = std::find(world.procedures.begin(), world.procedures.end(), procedure);
  EXPECT_NE(at, world.procedures.end()) << procedure;
  return world.totals[rank * world.procedures.size() + static_cast<std::size_t>(at - world.procedures.begin())];
}

TEST(Traffic, BlockingAndNonblockingMessagesAddUpPerPair) {
  MadeUpRun run(3);
  run[0].put(Role::send, kSend, 1, 100);
  run[0].put(Role::send, kIsend, 1, 50);
  run[0].put(Role::send, kSend, 2, 7);
  run[0].put(Role::send, kSend, 0, 5);  // to itself: legal
  run[0].put(Role::receive, kRecv, 0, 5);
  run[1].put(Role::receive, kRecv, 0, 100);
  run[1].put(Role::post_receive, kIrecv, trace::kAnySource, 4'096);
  run[1].put(Role::plain, kWait, 0, 0);
  run[1].put_at(1'110, Role::arrival, kIrecv, 0, 50, 0, 500);
  run[2].put(Role::receive, kRecv, 0, 7);
  const Profile profile = read(run.path());
  ASSERT_EQ(profile.worlds.size(), 1U);
  const World& world = profile.worlds[0];
  EXPECT_EQ(text(matrix(world, Traffic::sent)), "0>0 5/1 0>1 150/2 0>2 7/1 ");
  EXPECT_EQ(text(matrix(world, Traffic::received)), "0>0 5/1 0>1 150/2 0>2 7/1 ");
  EXPECT_TRUE(compare_sent_and_received(world).empty());
  // A posted receive is a call without bytes; its arrival brings the bytes and is no call.
  EXPECT_EQ(totals(world, 1, "MPI_Irecv").calls, 1U);
  EXPECT_EQ(totals(world, 1, "MPI_Irecv").bytes, 50U);
  EXPECT_DOUBLE_EQ(totals(world, 1, "MPI_Irecv").time_ns, 10);
  EXPECT_EQ(world.ranks[1].calls, 3U);
  EXPECT_EQ(world.ranks[1].records, 4U);
  EXPECT_DOUBLE_EQ(world.ranks[1].mpi_ns, 30);
  const pattern::Pattern pattern = to_pattern(world, "made up");
  EXPECT_EQ(pattern.ranks, 3);
  ASSERT_EQ(pattern.phases.size(), 1U);
  EXPECT_TRUE(pattern::check(pattern).ok());
  EXPECT_EQ(pattern.phases[0].messages.size(), 3U);
}

TEST(Traffic, NullPeersAndOtherWorldsStayOutOfTheMatrix) {
  MadeUpRun run(2);
  run[0].put(Role::send, kSend, trace::kProcNull, 100);
  run[0].put(Role::receive, kRecv, trace::kProcNull, 0);
  run[0].put(Role::send, kSend, trace::kOutside, 64);
  run[0].put(Role::receive, kRecv, trace::kOutside, 32);
  run[0].put(Role::send, kSend, 17, 9);  // no such rank: a damaged record
  const World world = read(run.path()).worlds[0];
  EXPECT_EQ(text(matrix(world, Traffic::sent)), "");
  EXPECT_EQ(text(matrix(world, Traffic::received)), "");
  EXPECT_EQ(world.ranks[0].outside_sent_bytes, 64U);
  EXPECT_EQ(world.ranks[0].outside_received_bytes, 32U);
  EXPECT_EQ(world.ranks[0].losses.bad_peers, 1U);
  EXPECT_EQ(totals(world, 0, "MPI_Send").calls, 3U);
  EXPECT_EQ(totals(world, 0, "MPI_Send").bytes, 64U + 9U);
}

TEST(Traffic, ACancelledSendIsTakenBackAndACancelledReceiveWasNeverCounted) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::send, kIsend, 1, 100);
  run[0].put_at(1'200, Role::send, kIsend, 1, 300);
  run[0].put_at(1'200, Role::cancel, kIsend, 1, 300);
  run[0].put_at(1'300, Role::post_receive, kIrecv, 1, 70);
  run[0].put_at(1'300, Role::cancel, kIrecv, 1, 70);
  run[1].put_at(1'400, Role::send, kIsend, 0, 8);
  run[1].put_at(1'400, Role::cancel, kIsend, 0, 8);
  run[1].put(Role::receive, kRecv, 0, 100);
  const World world = read(run.path()).worlds[0];
  EXPECT_EQ(text(matrix(world, Traffic::sent)), "0>1 100/1 ");
  EXPECT_EQ(world.ranks[0].cancelled, 2U);
  EXPECT_EQ(world.sent_sizes.count[9], 0U);  // 256..511
  EXPECT_EQ(world.sent_sizes.count[7], 1U);  // 64..127
  EXPECT_TRUE(compare_sent_and_received(world).empty());
}

TEST(Traffic, SaysForWhichPairsBothSidesDisagree) {
  MadeUpRun run(3);
  run[0].put(Role::send, kSend, 1, 100);
  run[0].put(Role::send, kSend, 2, 10);
  run[2].put(Role::receive, kRecv, 0, 10);
  run[2].put(Role::receive, kRecv, 1, 4);
  const std::vector<PairDifference> differences = compare_sent_and_received(read(run.path()).worlds[0]);
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].to, 1);
  EXPECT_EQ(differences[0].sent_bytes, 100U);
  EXPECT_EQ(differences[0].received_count, 0U);
  EXPECT_EQ(differences[1].from, 1);
  EXPECT_EQ(differences[1].sent_count, 0U);
  EXPECT_EQ(differences[1].received_bytes, 4U);
}

TEST(Traffic, OneCallThatStartsSeveralOperationsIsOneCall) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::send, kStartall, 1, 8, 0, 40);
  run[0].put_at(1'100, Role::send, kStartall, 1, 8, 0, 0);
  run[0].put_at(1'100, Role::post_receive, kStartall, 1, 8, 0, 0);
  run[0].put_at(1'200, Role::send, kStartall, 1, 8, 0, 40);
  const World world = read(run.path()).worlds[0];
  EXPECT_EQ(totals(world, 0, "MPI_Startall").calls, 2U);
  EXPECT_DOUBLE_EQ(totals(world, 0, "MPI_Startall").time_ns, 80);
  EXPECT_EQ(text(matrix(world, Traffic::sent)), "0>1 24/3 ");
}

TEST(Traffic, TheStartOfAPersistentCollectiveIsNoCallOfItsInit) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::plain, kStartall, 0, 0, 0, 40);
  run[0].put_at(1'100, Role::collective, kBcast, 1, 8, 0, 0);
  const World world = read(run.path()).worlds[0];
  EXPECT_EQ(totals(world, 0, "MPI_Startall").calls, 1U);
  EXPECT_EQ(totals(world, 0, "MPI_Bcast").calls, 0U);
}

TEST(Traffic, OneSidedTrafficFlowsFromItsSourceToItsSink) {
  MadeUpRun run(2);
  run[0].put(Role::rma_put, kPut, 1, 100);
  run[0].put(Role::rma_get, kGet, 1, 30);
  run[0].put(Role::rma_get, kGet, 1, 30);
  const World world = read(run.path()).worlds[0];
  EXPECT_EQ(text(matrix(world, Traffic::put)), "0>1 100/1 ");
  EXPECT_EQ(text(matrix(world, Traffic::get)), "1>0 60/2 ");
  EXPECT_EQ(text(matrix(world, Traffic::sent)), "");
}

TEST(Traffic, MissesAreCallsWhoseTimeIsKeptApart) {
  MadeUpRun run(1);
  for (std::uint64_t n = 0; n < 100; ++n) trace::put_miss(run[0].recorder(), 2'000 + 10 * n, 4, kIprobe, 3);
  run[0].put_at(3'000, Role::probe, kIprobe, 0, 12, 0, 6, 3);
  run[0].finish(5'000);
  const World world = read(run.path()).worlds[0];
  const ProcedureTotals& probes = totals(world, 0, "MPI_Iprobe");
  EXPECT_EQ(probes.calls, 101U);
  EXPECT_EQ(probes.misses, 100U);
  EXPECT_DOUBLE_EQ(probes.time_ns, 6);
  EXPECT_DOUBLE_EQ(probes.polling_ns, 994);
  EXPECT_EQ(probes.bytes, 0U);
  EXPECT_EQ(world.ranks[0].probes, 1U);
  EXPECT_DOUBLE_EQ(world.ranks[0].wall_ns, 5'000);
}

TEST(Traffic, SizesFallIntoPowersOfTwo) {
  MadeUpRun run(2);
  for (std::uint64_t bytes : {0U, 1U, 2U, 3U, 4U, 1'023U, 1'024U}) run[0].put(Role::send, kSend, 1, bytes);
  const World world = read(run.path()).worlds[0];
  std::vector<std::uint64_t> expected(kSizeBins, 0);
  expected[0] = expected[1] = expected[3] = expected[10] = expected[11] = 1;
  expected[2] = 2;
  EXPECT_EQ(std::vector<std::uint64_t>(world.sent_sizes.count.begin(), world.sent_sizes.count.end()), expected);
  EXPECT_EQ(world.sent_sizes.bytes[2], 5U);
  EXPECT_EQ(world.sent_sizes.bytes[10], 1'023U);
}

TEST(Traffic, CallSitesOfDifferentRanksMeetAtTheSamePlaceInTheFile) {
  MadeUpRun run(2);
  const std::uint64_t bases[] = {0x7f0000400000, 0x55aa00000000};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    char maps[200];
    std::snprintf(maps, sizeof maps, "%llx-%llx r-xp 00001000 08:01 42                 /opt/my app\nbroken line\n",
                  static_cast<unsigned long long>(bases[rank]),
                  static_cast<unsigned long long>(bases[rank] + 0x9000));
    run[rank].file().add_text(trace::BlockKind::maps, maps);
    run[rank].file().set_site(5, bases[rank] + 0x234);
    run[rank].put(Role::send, kSend, 0, 8, 0, 10, 5);
    run[rank].put(Role::plain, kBarrier, 0, 0, 0, 20, 5);
  }
  run[1].file().set_site(6, 0x99);
  run[1].put(Role::send, kSend, 0, 2, 0, 10, 6);
  const World world = read(run.path()).worlds[0];
  ASSERT_EQ(world.sites.size(), 3U);
  EXPECT_EQ(world.sites[0].object, "");
  EXPECT_EQ(world.sites[0].file_offset, 0x99U);
  EXPECT_EQ(world.sites[1].object, "/opt/my app");
  EXPECT_EQ(world.sites[1].file_offset, 0x1234U);
  EXPECT_EQ(world.procedures[static_cast<std::size_t>(world.sites[1].procedure)], "MPI_Barrier");
  EXPECT_EQ(world.sites[1].ranks, 2);
  EXPECT_DOUBLE_EQ(world.sites[1].time_ns, 40);
  EXPECT_EQ(world.sites[2].bytes, 16U);
  EXPECT_EQ(world.sites[2].calls, 2U);
}

TEST(Addresses, TheLastMappingOfAnAddressWins) {
  const Mappings mappings(
      "1000-2000 r-xp 0 00:00 1 /old\n1000-1800 r-xp 100 00:00 2 /new\n3000-4000 r-xp 0 00:00 0\n");
  EXPECT_EQ(mappings.find(0x1000).object, "/new");
  EXPECT_EQ(mappings.find(0x17ff).offset, 0x8ffU);
  EXPECT_EQ(mappings.find(0x1800).object, "/old");
  EXPECT_EQ(mappings.find(0x2000).object, "");
  EXPECT_EQ(mappings.find(0x3000).object, "");  // anonymous memory is no file
}

}  // namespace
}  // namespace corewise::profile
