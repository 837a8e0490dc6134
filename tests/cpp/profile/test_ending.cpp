// Where a rank was when its file ends: open calls, crashes, collectives made, and the time until the launcher
// ended. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "profile/reading.hpp"
#include "run_folder.hpp"

namespace corewise::profile {
namespace {

using corewise::testing::kBarrier;
using corewise::testing::kBcast;
using corewise::testing::kSend;
using corewise::testing::MadeUpRank;
using corewise::testing::MadeUpRun;
using trace::Role;

World read(const MadeUpRun& run, std::int64_t ended_realtime_ns) {
  RunQuestion question;
  question.totals = true;
  question.ended_realtime_ns = ended_realtime_ns;
  Result<RunAnswer> answer = read_run(run.path(), question);
  EXPECT_TRUE(answer.ok());
  return answer.value().totals.worlds.at(0);
}

/// Rank 0 made two collectives and hangs in a send since tick 2000; ticks are nanoseconds, 1000 the first.
void hang_in_send(MadeUpRun& run) {
  MadeUpRank& rank = run[0];
  rank.file().header().state = trace::State::running;
  rank.file().header().start_realtime_ns = 1'000'000;
  rank.file().add_type(1, "MPI_INT", 4, 4);
  rank.put(Role::collective, kBarrier, trace::kNoPeer, 0);
  rank.put(Role::collective, kBcast, 1, 64);
  trace::store_words(rank.recorder().header->open.call,
                     trace::words_of({0, 0, 400, 1, 7, kSend, 1, 0, Role::send, 1}));
  trace::enter_call(rank.recorder(), 2'000);
}

TEST(Ending, AnOpenCallCountsUpToTheEndOfTheRun) {
  MadeUpRun run(2);
  hang_in_send(run);
  const World world = read(run, 1'005'000);
  const Rank& rank = world.ranks.at(0);
  ASSERT_EQ(rank.end.open.size(), 1U);
  const OpenOperation& call = rank.end.open[0].call;
  EXPECT_EQ(call.procedure, "MPI_Send");
  EXPECT_EQ(call.peer, 1);
  EXPECT_EQ(call.tag, 7);
  EXPECT_EQ(call.bytes, 400U);
  EXPECT_EQ(world.datatypes.at(static_cast<std::size_t>(call.datatype)).name, "MPI_INT");
  EXPECT_EQ(world.communicators.at(static_cast<std::size_t>(call.comm)).name, "MPI_COMM_WORLD");
  EXPECT_DOUBLE_EQ(call.since_ns, 1'000);
  EXPECT_DOUBLE_EQ(rank.wall_ns, 5'000);
  EXPECT_EQ(rank.calls, 3U);
  const auto send =
      std::find(world.procedures.begin(), world.procedures.end(), "MPI_Send") - world.procedures.begin();
  EXPECT_DOUBLE_EQ(world.totals[static_cast<std::size_t>(send)].time_ns, 4'000);
  EXPECT_EQ(rank.end.last.procedure, "MPI_Bcast");
  // It has moved nothing.
  EXPECT_TRUE(pairs(world, Traffic::sent).empty());
}

TEST(Ending, WithoutAWordFromTheLauncherTheRankEndsWithItsLastSignOfLife) {
  MadeUpRun run(2);
  hang_in_send(run);
  run[0].finish(1'500);
  EXPECT_DOUBLE_EQ(read(run, 0).ranks.at(0).wall_ns, 1'500);
}

TEST(Ending, ACallWhoseRecordIsThereIsOver) {
  MadeUpRun run(2);
  hang_in_send(run);
  run[0].put_at(2'000, Role::send, kSend, 1, 400);
  EXPECT_TRUE(read(run, 1'005'000).ranks.at(0).end.open.empty());
}

TEST(Ending, CollectivesAreCountedByCommunicator) {
  MadeUpRun run(2);
  hang_in_send(run);
  const World world = read(run, 1'005'000);
  ASSERT_EQ(world.ranks[0].end.collectives.size(), 1U);
  const CollectivesMade& made = world.ranks[0].end.collectives[0];
  EXPECT_EQ(made.count, 2U);
  ASSERT_EQ(made.newest.size(), 2U);
  EXPECT_EQ(made.newest[1].ordinal, 1U);
  EXPECT_EQ(made.newest[1].procedure, "MPI_Bcast");
  EXPECT_EQ(made.newest[1].root, 1);
}

TEST(Ending, ACrashEndsTheRankAndNamesItsPlace) {
  MadeUpRun run(2);
  hang_in_send(run);
  trace::Crash& crash = run[0].file().header().crash;
  run[0].file().add_text(trace::BlockKind::maps, "400000-500000 r-xp 00001000 08:01 7 /opt/solve\n");
  crash.signal = 11;
  crash.ticks = 2'600;
  crash.instruction = 0x400123;
  const World world = read(run, 1'005'000);
  const Rank& rank = world.ranks.at(0);
  ASSERT_EQ(rank.end.crash.size(), 1U);
  EXPECT_EQ(rank.end.crash[0].signal, 11);
  EXPECT_EQ(rank.end.crash[0].at.object, "/opt/solve");
  EXPECT_EQ(rank.end.crash[0].at.offset, 0x1123U);
  EXPECT_DOUBLE_EQ(rank.end.crash[0].at_ns, 1'600);
  EXPECT_DOUBLE_EQ(rank.wall_ns, 1'600);
}

}  // namespace
}  // namespace corewise::profile
