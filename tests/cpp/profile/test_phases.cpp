// Phases and regions over several threads, times per pair, sends cancelled in a later phase: against sums by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

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

void mark(trace::ThreadRecorder& thread, std::uint64_t when, Role role, std::uint32_t name) {
  trace::put_short(thread, when, role, name, 0);
}

void send(trace::ThreadRecorder& thread, std::uint64_t start, std::uint64_t ticks, std::uint64_t bytes) {
  trace::put_message(thread, {start, ticks, bytes, 1, 0, kSend, 1, 0, Role::send});
}

/// The one pair's bytes, count and time in a phase.
std::string sent(const World& world, int phase) {
  std::string out;
  for (const PairTraffic& pair : pairs(world, Traffic::sent, kNoComm, phase))
    out += std::to_string(pair.bytes) + "/" + std::to_string(pair.count) + "/" +
           std::to_string(static_cast<int>(pair.time_ns)) + " ";
  return out;
}

TEST(Phases, OneThreadsPhaseCountsForWhatTheOthersFinishAfterIt) {
  MadeUpRun run(2);
  trace::ThreadRecorder& first = run[0].recorder();
  trace::ThreadRecorder& second = run[0].file().add_thread(1);
  mark(first, 2'000, Role::phase, 0);
  send(first, 2'010, 5, 1);
  mark(first, 3'000, Role::phase, 1);
  send(second, 1'900, 50, 10);        // returns before
  send(second, 1'960, 100, 200);      // returns within
  send(second, 2'500, 1'000, 3'000);  // returns in the next one
  const Profile profile = read(run.path());
  const World& world = profile.worlds[0];
  EXPECT_EQ(world.phases, (std::vector<std::string>{"", "region 0", "region 1"}));
  EXPECT_EQ(sent(world, 0), "10/1/50 ");
  EXPECT_EQ(sent(world, 1), "201/2/105 ");
  EXPECT_EQ(sent(world, 2), "3000/1/1000 ");
  EXPECT_EQ(sent(world, kAnyPhase), "3211/4/1155 ");
}

TEST(Phases, TheNumberOfThreadsDoesNotMatter) {
  for (const int threads : {1, 2, 3, 5, 8, 11, 16}) {
    MadeUpRun run(2);
    std::vector<trace::ThreadRecorder*> recorders{&run[0].recorder()};
    for (int thread = 1; thread < threads; ++thread)
      recorders.push_back(&run[0].file().add_thread(static_cast<std::uint32_t>(thread)));
    for (std::uint64_t at = 0; at < 90; ++at) {
      if (at == 30) mark(*recorders[0], 1'500, Role::phase, 0);
      send(*recorders[at % recorders.size()], 1'201 + 10 * at, 4, 1);
    }
    const Profile profile = read(run.path());
    // Sends that return before 1 500 start at 1 201 to 1 491: thirty of ninety.
    EXPECT_EQ(sent(profile.worlds[0], 0), "30/30/120 ") << threads;
    EXPECT_EQ(sent(profile.worlds[0], 1), "60/60/240 ") << threads;
  }
}

TEST(Phases, ASendCancelledInALaterPhaseIsTakenBackWhereItWasCounted) {
  MadeUpRun run(2);
  run[0].put(Role::send, kIsend, 1, 300);
  run[0].put(Role::send, kIsend, 1, 40);
  mark(run[0].recorder(), 1'300, Role::phase, 0);
  run[0].put_at(1'310, Role::cancel, kIsend, 1, 300);
  const Profile profile = read(run.path());
  EXPECT_EQ(matrix(profile.worlds[0], Traffic::sent, kNoComm, 0).total_bytes(), 40U);
  EXPECT_EQ(matrix(profile.worlds[0], Traffic::sent, kNoComm, 1).total_bytes(), 0U);
}

TEST(Phases, CollectivesAreModelledPerPhase) {
  MadeUpRun run(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    run[rank].put(Role::collective, kAlltoall, trace::kNoPeer, 10);
    mark(run[rank].recorder(), run[rank].now() + 1, Role::phase, 0);
    run[rank].put_at(run[rank].now() + 5, Role::collective, kAlltoall, trace::kNoPeer, 100);
  }
  const Profile profile = read(run.path());
  const World& world = profile.worlds[0];
  EXPECT_EQ(matrix(world, Traffic::collective, kNoComm, 0).total_bytes(), 60U);
  EXPECT_EQ(matrix(world, Traffic::collective, kNoComm, 1).total_bytes(), 600U);
  EXPECT_EQ(matrix(world, Traffic::collective).total_bytes(), 660U);
  for (const PairTraffic& pair : pairs(world, Traffic::collective)) EXPECT_EQ(pair.time_ns, 0);
}

TEST(Regions, EveryThreadHasItsOwn) {
  MadeUpRun run(2);
  trace::ThreadRecorder& first = run[0].recorder();
  trace::ThreadRecorder& second = run[0].file().add_thread(1);
  mark(first, 2'000, Role::region_enter, 7);
  send(second, 2'050, 10, 1'000);  // in no region of its own thread
  send(first, 2'100, 20, 64);
  mark(first, 2'200, Role::region_exit, 7);
  mark(second, 2'300, Role::region_enter, 7);
  send(second, 2'310, 30, 8);
  mark(second, 2'400, Role::region_exit, 7);
  const Profile profile = read(run.path());
  ASSERT_EQ(profile.worlds[0].region_totals.size(), 1U);
  const Section& region = profile.worlds[0].region_totals[0];
  EXPECT_EQ(profile.worlds[0].regions[static_cast<std::size_t>(region.name)], "region 7");
  EXPECT_EQ(region.entered, 2U);
  EXPECT_EQ(region.sent_bytes, 72U);
  EXPECT_DOUBLE_EQ(region.mpi_ns, 50);
  EXPECT_DOUBLE_EQ(region.wall_ns, 300);
}

TEST(Functions, AreCountedAndInNoTotal) {
  MadeUpRun run(2);
  run[0].put(Role::send, kSend, 1, 8);
  for (std::uint64_t at = 0; at < 10; ++at)
    trace::put_function(run[0].recorder(), 1'500 + at, at % 2 == 0 ? Role::function_enter : Role::function_exit,
                        reinterpret_cast<const void*>(0x401000));
  // The second record of a call that started two operations, with functions between the two: still one call.
  run[0].put_at(1'600, Role::send, kStartall, 1, 16);
  trace::put_function(run[0].recorder(), 1'605, Role::function_enter, reinterpret_cast<const void*>(0x401000));
  run[0].put_at(1'600, Role::send, kStartall, 1, 32, 0, 0);
  const Profile profile = read(run.path());
  const Rank& rank = profile.worlds[0].ranks[0];
  EXPECT_EQ(rank.functions, 11U);
  EXPECT_EQ(rank.records, 14U);
  EXPECT_EQ(rank.calls, 2U);
  EXPECT_DOUBLE_EQ(rank.mpi_ns, 20);
}

}  // namespace
}  // namespace corewise::profile
