// Waits and matching, on made-up runs whose waits are computed by hand. Ticks are ns, all ranks share a clock.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "profile/reading.hpp"
#include "profile/run_folder.hpp"
#include "profile/shards/shards.hpp"
#include "profile/waits/ledger.hpp"
#include "profile/waits/matching.hpp"
#include "profile/waits/waits.hpp"

namespace corewise::testing {
namespace {

using profile::Channel;
using profile::Matcher;
using profile::ReceivedMessage;
using profile::SentMessage;
using profile::Wait;
using profile::WaitKind;
using profile::WaitWorld;
using trace::Role;

Result<profile::RunAnswer> read_waits(const std::string& directory) {
  profile::RunQuestion question;
  question.waits = true;
  return profile::read_run(directory, question);
}

WaitWorld waits_of(MadeUpRun& run) {
  Result<profile::RunAnswer> read = read_waits(run.path());
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? read.value().waits.front() : WaitWorld{};
}

double total(const WaitWorld& world, WaitKind kind, int rank, int cause) {
  double sum = 0;
  for (const Wait& wait : world.waits)
    if (wait.kind == kind && wait.rank == rank && wait.cause == cause) sum += wait.wait_ns;
  return sum;
}

double total(const WaitWorld& world) {
  double sum = 0;
  for (const Wait& wait : world.waits) sum += wait.wait_ns;
  return sum;
}

TEST(Waits, ReceiverWaitsForLateSend) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::receive, kRecv, 1, 64, 0, 500);
  run[1].put_at(1'400, Role::send, kSend, 0, 64, 0, 50);
  const WaitWorld world = waits_of(run);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::late_sender, 0, 1), 300);
  EXPECT_DOUBLE_EQ(total(world), 300);
  EXPECT_EQ(world.matched, 1U);
  EXPECT_TRUE(world.notes.empty());
}

TEST(Waits, PunctualSendIsNoWait) {
  MadeUpRun run(2);
  run[0].put_at(1'400, Role::receive, kRecv, 1, 64, 0, 500);
  run[1].put_at(1'100, Role::send, kSend, 0, 64, 0, 50);
  EXPECT_DOUBLE_EQ(total(waits_of(run)), 0);
}

TEST(Waits, NeverLongerThanTheCall) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::receive, kRecv, 1, 64, 0, 100);
  run[1].put_at(1'400, Role::send, kSend, 0, 64, 0, 50);  // after the receive ended: the clocks are wrong
  const WaitWorld world = waits_of(run);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::late_sender, 0, 1), 100);
  EXPECT_EQ(world.contradictions, 1U);
  EXPECT_EQ(world.notes.size(), 1U);
}

TEST(Waits, ClocksOfTwoNodesAreMovedUntilNothingArrivesBeforeItWasSent) {
  MadeUpRun run(2);
  std::strcpy(run[0].file().header().node, "a");
  std::strcpy(run[1].file().header().node, "b");
  run[0].put_at(1'100, Role::receive, kRecv, 1, 64, 0, 100);
  run[0].put_at(1'300, Role::send, kSend, 1, 64, 0, 10);
  run[1].put_at(1'400, Role::send, kSend, 0, 64, 0, 50);
  run[1].put_at(1'500, Role::receive, kRecv, 0, 64, 0, 50);
  run[1].put_at(1'600, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 50);
  run[0].put_at(1'900, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 50);  // 250 after rank 1 has left
  const WaitWorld world = waits_of(run);
  EXPECT_EQ(world.corrections, 2U);
  EXPECT_DOUBLE_EQ(world.largest_correction_ns, 250);
  EXPECT_EQ(world.contradictions, 0U);
}

TEST(Waits, NonBlockingReceiveWaitsInItsWait) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::post_receive, kIrecv, 1, 64, 0, 10);
  run[0].put_at(1'300, Role::plain, kWait, 0, 0, 0, 400);
  run[0].put_at(1'100, Role::arrival, kIrecv, 1, 64, 0, 600);
  run[1].put_at(1'450, Role::send, kSend, 0, 64, 0, 50);
  const WaitWorld world = waits_of(run);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::late_sender, 0, 1), 150);
  ASSERT_EQ(world.waits.size(), 1U);
  EXPECT_EQ(world.waits[0].procedure, "MPI_Wait");
}

TEST(Waits, SeveralLateSendersOfOneCallShareItsTime) {
  MadeUpRun run(3);
  run[0].put_at(1'100, Role::post_receive, kIrecv, 1, 8, 0, 10);
  run[0].put_at(1'120, Role::post_receive, kIrecv, 2, 8, 0, 10);
  run[0].put_at(1'200, Role::plain, kWait, 0, 0, 0, 400);
  run[0].put_at(1'100, Role::arrival, kIrecv, 1, 8, 0, 500);
  run[0].put_at(1'120, Role::arrival, kIrecv, 2, 8, 0, 480);
  run[1].put_at(1'300, Role::send, kSend, 0, 8, 0, 10);
  run[2].put_at(1'500, Role::send, kSend, 0, 8, 0, 10);
  const WaitWorld world = waits_of(run);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::late_sender, 0, 1), 100);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::late_sender, 0, 2), 200);
}

TEST(Waits, SendWaitsForLateReceive) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::send, kSend, 1, 1 << 20, 0, 700);
  run[1].put_at(1'600, Role::receive, kRecv, 0, 1 << 20, 0, 250);
  const WaitWorld world = waits_of(run);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::late_receiver, 0, 1), 500);
  EXPECT_DOUBLE_EQ(total(world), 500);
}

TEST(Waits, BufferedSendDidNotWait) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::send, kSend, 1, 8, 0, 20);
  run[1].put_at(1'600, Role::receive, kRecv, 0, 8, 0, 10);
  EXPECT_DOUBLE_EQ(total(waits_of(run)), 0);
}

/// In shares, as parts that are bytes; the last one comes first, and twice.
WaitWorld waits_in_shares(MadeUpRun& run, int shares) {
  const profile::ShardFolder folder{run.path(), "shown"};
  profile::ShardMerge merge({});
  for (int share = shares; share >= 0; --share) {
    const int number = share % shares;
    const Result<std::string> part = profile::read_waits(folder, {number, shares});
    EXPECT_TRUE(part.ok()) << part.status().message();
    EXPECT_TRUE(merge.add_waits(static_cast<std::size_t>(number), part.value()).ok());
  }
  Result<profile::RunAnswer> answer = merge.finish();
  EXPECT_TRUE(answer.ok() && answer.value().waits.size() == 1);
  return answer.value().waits.front();
}

TEST(Waits, SharesSayTogetherWhatOneReaderSays) {
  MadeUpRun run(4);
  for (std::uint64_t round = 0; round < 20; ++round)
    for (int rank = 0; rank < 4; ++rank) {
      const std::uint64_t at = 1'000 + 10'000 * round + 171 * static_cast<std::uint64_t>(rank);
      auto& trace = run[static_cast<std::size_t>(rank)];
      trace.put_at(at, Role::send, kSend, (rank + 1) % 4, 64, 0, 500);
      trace.put_at(at + 600, Role::receive, kRecv, (rank + 3) % 4, 64, 0, 900);
      trace.put_at(at + 1'600, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 2'000);
    }
  const WaitWorld whole = waits_of(run);
  EXPECT_EQ(whole.matched, 80U);
  EXPECT_EQ(whole.collectives, 20U);
  EXPECT_GT(whole.waits.size(), 3U);
  for (const int shares : {1, 2, 3, 16}) {
    const WaitWorld world = waits_in_shares(run, shares);
    EXPECT_EQ(world.matched, whole.matched);
    EXPECT_EQ(world.collectives, whole.collectives);
    EXPECT_EQ(world.phases.size(), whole.phases.size());
    EXPECT_EQ(world.arrivals[0].spread_ns, whole.arrivals[0].spread_ns);
    ASSERT_EQ(world.waits.size(), whole.waits.size());
    for (std::size_t i = 0; i < whole.waits.size(); ++i) {
      EXPECT_EQ(world.waits[i].wait_ns, whole.waits[i].wait_ns);
      EXPECT_EQ(world.waits[i].count, whole.waits[i].count);
    }
  }
}

TEST(Waits, OfADamagedFileAddUpToWhatASumHolds) {
  profile::SummedTime sum;
  sum.add(0.5);
  sum.add(1e9);
  EXPECT_EQ(sum.ns(), 1e9 + 0.5);
  sum.add(4e16);
  EXPECT_EQ(sum.ns(), profile::SummedTime::kLongest_ns);
  const profile::SummedTime full = sum;
  sum.add(full);
  EXPECT_EQ(sum.ns(), profile::SummedTime::kLongest_ns);
}

TEST(Waits, BarrierWaitsForTheLastRank) {
  MadeUpRun run(3);
  run[0].put_at(1'100, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 420);
  run[1].put_at(1'500, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 20);
  run[2].put_at(1'300, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 220);
  const WaitWorld world = waits_of(run);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::barrier, 0, 1), 400);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::barrier, 2, 1), 200);
  EXPECT_DOUBLE_EQ(total(world), 600);
  ASSERT_EQ(world.arrivals.size(), 1U);
  EXPECT_EQ(world.arrivals[0].latest, 1);
  EXPECT_NEAR(world.arrivals[0].spread_ns, 200, 1e-6);
}

TEST(Waits, RootOfReduceAndRanksOfBroadcast) {
  MadeUpRun run(3);
  run[0].put_at(1'100, Role::collective, kReduce, 0, 8, 0, 300);
  run[1].put_at(1'250, Role::collective, kReduce, 0, 8, 0, 10);
  run[2].put_at(1'300, Role::collective, kReduce, 0, 8, 0, 10);
  run[0].put_at(2'400, Role::collective, kBcast, 0, 8, 0, 10);
  run[1].put_at(2'000, Role::collective, kBcast, 0, 8, 0, 450);
  run[2].put_at(2'500, Role::collective, kBcast, 0, 8, 0, 10);
  const WaitWorld world = waits_of(run);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::early_reduce, 0, 2), 200);
  EXPECT_DOUBLE_EQ(total(world, WaitKind::late_broadcast, 1, 0), 400);
  EXPECT_DOUBLE_EQ(total(world), 600);
}

TEST(Waits, NonBlockingCollectivesKeepTheOrderButDoNotWait) {
  MadeUpRun run(2);
  for (const std::size_t rank : {0, 1}) {
    run[rank].put_at(1'100 + 400 * rank, Role::collective, kIallgather, trace::kNoPeer, 8, 0, 5);
    run[rank].put_at(2'000, Role::collective, kAllreduce, trace::kNoPeer, 8, 0, 50);
  }
  const WaitWorld world = waits_of(run);
  EXPECT_EQ(world.collectives, 2U);
  EXPECT_DOUBLE_EQ(total(world), 0);
}

TEST(Waits, MissingRankIsSaid) {
  TemporaryFolder folder;
  MadeUpRank one(folder.path() + "/rank-00001.cwt", 1, 2);
  one.put_at(1'100, Role::receive, kRecv, 0, 8, 0, 100);
  Result<profile::RunAnswer> read = read_waits(folder.path());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().waits[0].notes.size(), 2U);
  EXPECT_TRUE(read.value().waits[0].waits.empty());
}

TEST(Waits, CollectiveThatNotAllReachedIsCounted) {
  MadeUpRun run(2);
  run[0].put_at(1'100, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 400);
  run[1].file().header().state = trace::State::running;
  const WaitWorld world = waits_of(run);
  EXPECT_EQ(world.incomplete_collectives, 1U);
  EXPECT_EQ(world.notes.size(), 2U);
}

TEST(Waits, StartingAndStoppingMpiIsInNoShare) {
  MadeUpRun run(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    run[rank].put_at(1'100, Role::plain, kInit, 0, 0, 0, 5'000);
    run[rank].put_at(7'000, Role::collective, kBarrier, trace::kNoPeer, 0, 0, 100);
    run[rank].put_at(8'000, Role::plain, kFinalize, 0, 0, 0, 3'000);
  }
  const WaitWorld world = waits_of(run);
  ASSERT_EQ(world.phases.size(), 2U);
  EXPECT_DOUBLE_EQ(world.phases[0].mpi_ns, 100);
  EXPECT_DOUBLE_EQ(world.phases[0].span_ns, 100 + 900 + 100 + 900);  // the file began at 1 000
}

TEST(Waits, CallsThatWereNotRecordedAreSaid) {
  MadeUpRun run(2);
  run[1].file().header().kinds = trace::kMessages;
  const WaitWorld world = waits_of(run);
  ASSERT_EQ(world.notes.size(), 1U);
  EXPECT_EQ(world.notes[0].rfind("1 ranks recorded no calls", 0), 0U);
}

TEST(Waits, NoFolderIsAnError) {
  EXPECT_FALSE(read_waits("/nowhere").ok());
}

// ---- matching ----

struct Pairs {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> where;
  Matcher matcher{[this](const Channel&, const SentMessage& sent, const ReceivedMessage& received) {
    where.emplace_back(sent.where, received.where);
  }};
};

SentMessage sent(std::uint64_t where) {
  SentMessage message;
  message.start_ticks = message.where = where;
  return message;
}

ReceivedMessage received(std::uint64_t where) {
  ReceivedMessage message;
  message.where = where;
  return message;
}

TEST(Matching, PostsDecideNotCompletions) {
  Pairs pairs;
  const Channel channel{0, 1, 0, 7};
  pairs.matcher.post(0, 10, {0, 1, 7});
  pairs.matcher.post(0, 20, {0, -3, -1});
  pairs.matcher.send(channel, sent(1));
  pairs.matcher.send(channel, sent(2));
  pairs.matcher.arrival(channel, 20, received(20));
  EXPECT_TRUE(pairs.where.empty());
  pairs.matcher.arrival(channel, 10, received(10));
  EXPECT_EQ(pairs.where, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 10}, {2, 20}}));
}

TEST(Matching, OpenPostsOfOtherTagsDoNotHoldBack) {
  Pairs pairs;
  pairs.matcher.post(0, 10, {0, 1, 8});
  pairs.matcher.post(0, 11, {1, 1, 7});
  pairs.matcher.post(0, 12, {0, 2, 7});
  pairs.matcher.send({0, 1, 0, 7}, sent(1));
  pairs.matcher.arrival({0, 1, 0, 7}, 20, received(20));
  EXPECT_EQ(pairs.where.size(), 1U);
}

TEST(Matching, CancelledOnesStepAside) {
  Pairs pairs;
  const Channel channel{0, 1, 0, 7};
  pairs.matcher.post(0, 10, {0, 1, 7});
  pairs.matcher.send(channel, sent(1));
  pairs.matcher.send(channel, sent(2));
  pairs.matcher.arrival(channel, 20, received(20));
  pairs.matcher.cancel_send(channel, 1);
  pairs.matcher.cancel_post(0, 10, {0, 1, 7});
  EXPECT_EQ(pairs.where, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{2, 20}}));
}

TEST(Matching, MemoryIsBounded) {
  std::size_t pairs = 0;
  Matcher matcher([&](const Channel&, const SentMessage&, const ReceivedMessage&) { ++pairs; }, 16);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    matcher.send({0, 0, 1, 0}, sent(i));
    matcher.post(1, i, {0, 2, 0});
    EXPECT_LE(matcher.held(), 16U);
  }
  EXPECT_GT(matcher.counts().dropped, 0U);
}

TEST(Matching, OnlyEarlierPostsHoldBack) {
  Pairs pairs;
  const Channel channel{0, 1, 0, 7};
  pairs.matcher.send(channel, sent(1));
  pairs.matcher.send(channel, sent(2));
  pairs.matcher.post(0, 10, {0, 1, 7});
  pairs.matcher.post(0, 10, {0, -3, 7});  // one MPI_Startall
  pairs.matcher.post(0, 30, {0, 1, 7});
  pairs.matcher.arrival(channel, 10, received(10));
  EXPECT_EQ(pairs.where.size(), 1U);
  pairs.matcher.arrival(channel, 20, received(20));  // the wildcard may take what was sent second
  EXPECT_EQ(pairs.where.size(), 1U);
  pairs.matcher.cancel_post(0, 10, {0, -3, 7});
  EXPECT_EQ(pairs.where.size(), 2U);
  EXPECT_EQ(pairs.matcher.held(), 1U);  // the last post
}

/// A receiver that posts in any order of wildcards and completes in any order, against MPI's own rule played out.
TEST(Matching, RandomOrdersFollowTheRule) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    struct Posted {
      std::uint64_t ticks;
      profile::Post post;
      int message = -1;
    };
    struct Message {
      Channel channel;
      std::uint64_t where;
    };
    std::vector<Posted> posts;
    std::vector<Message> messages;
    const int count = 2 + static_cast<int>(random() % 12);
    for (int i = 0; i < count; ++i) {
      const Channel channel{0, 1 + static_cast<int>(random() % 2), 0, static_cast<int>(random() % 2)};
      messages.push_back({channel, static_cast<std::uint64_t>(i + 1)});
      const bool any_source = random() % 3 == 0;
      const bool any_tag = random() % 3 == 0;
      posts.push_back({100 + static_cast<std::uint64_t>(i),
                       {0, any_source ? -3 : channel.from, any_tag ? -1 : channel.tag},
                       -1});
    }
    std::shuffle(posts.begin(), posts.end(), random);
    for (std::size_t i = 0; i < posts.size(); ++i) posts[i].ticks = 100 + i;
    // MPI: each message, in order of arrival, takes the first open post that fits.
    for (std::size_t m = 0; m < messages.size(); ++m)
      for (Posted& each : posts) {
        const bool fits = (each.post.from < 0 || each.post.from == messages[m].channel.from) &&
                          (each.post.tag < 0 || each.post.tag == messages[m].channel.tag);
        if (each.message >= 0 || !fits) continue;
        each.message = static_cast<int>(m);
        break;
      }
    Pairs pairs;
    for (const Posted& each : posts) pairs.matcher.post(0, each.ticks, each.post);
    for (const Message& each : messages) pairs.matcher.send(each.channel, sent(each.where));
    std::vector<Posted> completed = posts;
    std::shuffle(completed.begin(), completed.end(), random);
    std::size_t expected = 0;
    for (const Posted& each : completed) {
      if (each.message < 0) continue;
      ++expected;
      const Message& message = messages[static_cast<std::size_t>(each.message)];
      pairs.matcher.arrival(message.channel, each.ticks, received(message.where));
    }
    pairs.matcher.finish();
    // A message may lack a post that fits: then later ones of its channel must not be compared.
    if (expected == messages.size()) {
      for (const auto& [from, to] : pairs.where) EXPECT_EQ(from, to) << "round " << round;
    }
    EXPECT_EQ(pairs.where.size(), expected);
  }
}

}  // namespace
}  // namespace corewise::testing
