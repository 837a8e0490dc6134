// Ranks that share a unit: times worked out by hand, whose turn it is, and what is refused. Ranks are C++ functions
// here; to store or to load a context takes 150 ns. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "simmpi/include/mpi.h"
#include "simmpi/world.hpp"

extern "C" void cw_compute(double cycles);

namespace corewise::simmpi {
namespace {

constexpr double kContext = 150, kChange = 2 * kContext;
constexpr double kSend = 100, kReceive = 200, kCall = 10;
constexpr double kHeader = 4;  ///< the way of a header between two ranks of a unit

Settings shared(double tasks = 4) {
  Settings settings;
  settings.send_ns = kSend;
  settings.receive_ns = kReceive;
  settings.call_ns = kCall;
  settings.copy_gb_per_s = 5;
  settings.eager_bytes = 1000;
  settings.header_bytes = 40;
  settings.tasks_per_unit = tasks;
  settings.context_bytes = 1000;
  settings.context_ns = 50;
  settings.context_gb_per_s = 10;
  return settings;
}

struct Seen {
  double end_ns = 0;
  std::uint64_t changes = 0;
  double changing_ns = 0;
  double waiting_ns = 0;
};

struct Ran {
  Status status;
  std::vector<Seen> ranks;
};

struct Where {
  std::vector<int> units;
  std::string machine = "mesh:2x1";
  sim::Granularity granularity = sim::Granularity::flow;
};

Ran run(const Where& where, const std::function<void(int)>& program, const Settings& settings = shared()) {
  const auto machine = machine::from_synthetic(where.machine);
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  WorldOptions options;
  options.settings = settings;
  options.granularity = where.granularity;
  auto world = World::make(machine.value(), {where.units}, options);
  EXPECT_TRUE(world.ok()) << world.status().message();
  Ran ran;
  ran.status = world.value()->run([&](Rank& rank) {
    program(rank.world);
    return 0;
  });
  const auto ns = [&](sim::Time ticks) { return world.value()->engine().to_ns(ticks); };
  for (int rank = 0; rank < world.value()->size(); ++rank) {
    const Microtasks* microtasks = world.value()->microtasks();
    const Turns turns = microtasks != nullptr ? microtasks->turns(rank) : Turns();
    ran.ranks.push_back({ns(world.value()->rank(rank).end), turns.changes, ns(turns.changing), ns(turns.waiting)});
  }
  return ran;
}

void expect(const Ran& ran, const std::vector<Seen>& expected) {
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  ASSERT_EQ(ran.ranks.size(), expected.size());
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    EXPECT_NEAR(ran.ranks[rank].end_ns, expected[rank].end_ns, 0.01) << rank;
    EXPECT_EQ(ran.ranks[rank].changes, expected[rank].changes) << rank;
    EXPECT_NEAR(ran.ranks[rank].changing_ns, expected[rank].changing_ns, 0.01) << rank;
    EXPECT_NEAR(ran.ranks[rank].waiting_ns, expected[rank].waiting_ns, 0.01) << rank;
  }
}

/// The way of a message of no byte, with its header, between the two units of "mesh:2x1".
double way() {
  const auto machine = machine::from_synthetic("mesh:2x1");
  const machine::Link& link = machine.value().links[0];
  return link.latency_ns + 40 / link.bandwidth_gb_per_s;
}

void send(int to, int tag = 0) {
  MPI_Send(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

void receive(int from, int tag = 0) {
  MPI_Recv(nullptr, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Ranks 0 and 1 send each other 500 bytes in turn.
std::function<void(int)> ping_pong(int rounds) {
  return [rounds](int rank) {
    std::array<char, 500> data{};
    for (int i = 0; i < 2 * rounds; ++i) {
      if (i % 2 == rank) {
        MPI_Send(data.data(), 500, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
      } else {
        MPI_Recv(data.data(), 500, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  };
}

constexpr double kSent = kSend + 500 / 5.0;         ///< rank 0's or 1's part in sending such a message
constexpr double kReceived = kReceive + 500 / 5.0;  ///< and in receiving it
constexpr double kWay = 540 / 10.0;                 ///< it passes main memory, with its header

// ---- times ---------------------------------------------------------------------------------------------------

TEST(Microtasks, OneRoundOfAPingPongInsideAUnit) {
  // Rank 1 begins as rank 0 has sent and waits; the message comes while rank 0's context is stored and rank 1's
  // loaded.
  const double sent_back = kSent + kChange + kReceived + kSent;
  // It has ended then: nothing is stored before rank 0's context is loaded.
  const double end = sent_back + kWay + kContext + kReceived;
  expect(run({{0, 0}}, ping_pong(1)), {{end, 1, kContext, 0}, {sent_back, 1, kChange, kSent}});
}

TEST(Microtasks, EveryRoundCostsTwoChanges) {
  constexpr int kRounds = 7;
  const double half = kSent + kWay + kChange + kReceived;
  const double first = 2 * half - kWay;     // rank 1 had not begun, and its change hid the message's way
  const double last = 2 * half - kContext;  // rank 1 has ended: nothing to store
  const double end = first + (kRounds - 2) * 2 * half + last;
  const double before = end - kReceived - kContext - kWay;
  expect(run({{0, 0}}, ping_pong(kRounds)),
         {{end, kRounds, kRounds * kChange - kContext, 0}, {before, kRounds, kRounds * kChange, kSent}});
}

TEST(Microtasks, AMessageInsideAUnitTakesTheSameOnEveryNetwork) {
  const Ran expected = run({{0, 0}}, ping_pong(3));
  for (const char* machine : {"ring:8", "mesh:3x2", "flat:4", "pack:2 core:2"}) {
    for (const auto granularity : {sim::Granularity::flow, sim::Granularity::packet}) {
      expect(run({{1, 1}, machine, granularity}, ping_pong(3)), expected.ranks);
    }
  }
}

TEST(Microtasks, ALongMessagePassesMainMemoryOnce) {
  std::vector<char> out(5000, 'x');
  std::vector<char> in(5000);
  const Ran ran = run({{0, 0}}, [&](int rank) {
    if (rank == 0) MPI_Send(out.data(), 5000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in.data(), 5000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  // The receive is posted at the end of rank 1's change; an answer goes back, and the data come.
  const double there = kSend + kChange + kHeader + 5000 / 10.0;
  const double sender = there + kChange;
  expect(ran, {{sender, 1, kChange, 0}, {sender + kContext + kReceive, 2, kChange + kContext, kSend + kChange}});
  EXPECT_EQ(in, out);
}

// ---- turns ---------------------------------------------------------------------------------------------------

TEST(Microtasks, WhoIsReadyFirstIsServedFirst) {
  const Ran ran = run({{0, 0, 0, 1}}, [](int rank) {
    if (rank == 3) {
      cw_compute(10000);
      for (const int to : {2, 1, 0}) send(to);
      return;
    }
    receive(3);
    cw_compute(5000);
  });
  // All three begin and wait; the context of rank 2 is there as its message comes.
  const double work = kReceive + 5000;
  const std::array<double, 3> came = {10300 + way(), 10200 + way(), 10100 + way()};
  const double end2 = came[2] + work;
  const double end1 = end2 + kContext + work;
  const double end0 = end1 + kContext + work;
  expect(ran, {{end0, 1, kContext, end1 - came[0]},
               {end1, 2, kChange + kContext, end2 - came[1]},
               {end2, 1, kChange, kChange},
               {10300, 0, 0, 0}});
}

TEST(Microtasks, AWaitForWhatHasHappenedEndsNoTurn) {
  const Ran ran = run({{0, 0, 1}}, [](int rank) {
    if (rank == 2) send(0);
    if (rank == 1) cw_compute(1000);
    if (rank != 0) return;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(nullptr, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD, &request);
    cw_compute(100000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  const double end = 100000 + kReceive;
  expect(ran, {{end, 0, 0, 0}, {end + kContext + 1000, 1, kContext, end}, {kSend, 0, 0, 0}});
}

TEST(Microtasks, ATestThatFindsNothingLetsOthersGoFirst) {
  const Ran ran = run({{0, 0}}, [](int rank) {
    if (rank == 1) {
      cw_compute(1000);
      send(0);
      return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    for (int flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  });
  const double sent = kCall + kChange + 1000 + kSend;
  expect(ran, {{sent + kContext + kCall + kReceive, 1, kContext, sent - kCall}, {sent, 1, kChange, kCall}});
}

TEST(Microtasks, SoDoesAProbe) {
  int looks = 0;
  const Ran ran = run({{0, 0}}, [&](int rank) {
    if (rank == 1) {
      cw_compute(1000);
      send(0);
      return;
    }
    for (int flag = 0; flag == 0; ++looks) MPI_Iprobe(1, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    receive(1);
  });
  const double sent = kCall + kChange + 1000 + kSend;
  expect(ran, {{sent + kContext + kCall + kReceive, 1, kContext, sent - kCall}, {sent, 1, kChange, kCall}});
  EXPECT_EQ(looks, 2);
}

TEST(Microtasks, TestsCostNoChangeWhereNobodyElseIsReady) {
  const Ran ran = run({{0, 0, 1}}, [](int rank) {
    if (rank == 1) return receive(0);
    if (rank == 2) {
      cw_compute(10000);
      return send(0);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(nullptr, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD, &request);
    for (int flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    send(1);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(ran.ranks[0].changes, 1U);  // after its first look, when rank 1 begins
  EXPECT_EQ(ran.ranks[1].changes, 2U);
}

TEST(Microtasks, AProbeHasItsTurnWhenWhatItLooksForIsThere) {
  const Ran ran = run({{0, 0, 1}}, [](int rank) {
    if (rank == 2) {
      for (int i = 0; i < 5; ++i) {
        cw_compute(10000);
        send(0, i);
      }
    }
    if (rank == 1) receive(0);
    if (rank != 0) return;
    MPI_Probe(2, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; ++i) receive(2, i);
    send(1);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(ran.ranks[0].changes, 1U);
}

TEST(Microtasks, ACollectiveInTheBackgroundNeedsNoTurn) {
  // Rank 0 computes for long; the sum of the other two and it is there long before, as if each had a unit.
  const auto program = [](int rank) {
    int value = rank;
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    cw_compute(100000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(sum, 3);
  };
  expect(run({{0, 1, 2}, "mesh:3x1"}, program, shared(1)),
         {{100000, 0, 0, 0}, {100000, 0, 0, 0}, {100000, 0, 0, 0}});
  const Ran ran = run({{0, 1, 1}}, program);
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  // Rank 2 begins when rank 1 waits, after its computation; rank 1 goes on beside rank 2's.
  EXPECT_NEAR(ran.ranks[2].end_ns, 200000 + kChange, 0.01);
  EXPECT_NEAR(ran.ranks[1].end_ns, ran.ranks[2].end_ns + kContext, 0.01);
}

// ---- the same as without -------------------------------------------------------------------------------------

/// Everybody's number from its left neighbour, and the sum of all, with every protocol.
void exchange(int rank, int ranks, std::vector<long>& sums) {
  std::vector<int> out(2000, rank + 1);
  std::vector<int> in(2000);
  long sum = 0;
  for (const int count : {1, 100, 2000}) {
    const int left = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(out.data(), count, MPI_INT, (rank + 1) % ranks, 0, in.data(), count, MPI_INT, left, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    cw_compute(100 * (rank + 1));
    const long mine = std::accumulate(in.begin(), in.begin() + count, 0L);
    long all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    sum += all;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  sums[static_cast<std::size_t>(rank)] = sum;
}

TEST(Microtasks, ASharedUnitChangesTimesAndNoResult) {
  constexpr int kRanks = 6;
  for (const double receiver_initiated : {0.0, 1.0}) {
    Settings settings = shared(1);
    settings.receiver_initiated = receiver_initiated;
    std::vector<long> alone(kRanks);
    const Ran before =
        run({{0, 1, 2, 3, 4, 5}, "mesh:6x1"}, [&](int rank) { exchange(rank, kRanks, alone); }, settings);
    ASSERT_TRUE(before.status.ok()) << before.status.message();
    settings.tasks_per_unit = 3;
    std::vector<long> same(kRanks);
    expect(run(
               {{0, 1, 2, 3, 4, 5}, "mesh:6x1"}, [&](int rank) { exchange(rank, kRanks, same); }, settings),
           before.ranks);
    EXPECT_EQ(same, alone);
    for (const auto& units : {std::vector<int>{0, 0, 0, 1, 1, 1}, {0, 1, 0, 1, 0, 1}, {5, 5, 2, 1, 2, 2}}) {
      std::vector<long> together(kRanks);
      const Where where{units, "mesh:6x1"};
      const Ran ran = run(where, [&](int rank) { exchange(rank, kRanks, together); }, settings);
      ASSERT_TRUE(ran.status.ok()) << ran.status.message();
      EXPECT_EQ(together, alone);
      expect(run(where, [&](int rank) { exchange(rank, kRanks, together); }, settings), ran.ranks);
    }
  }
}

// ---- failures ------------------------------------------------------------------------------------------------

TEST(Microtasks, ADeadlockSaysWhoWaitsForWhom) {
  const Ran ran = run({{0, 0, 0}}, [](int rank) {
    if (rank < 2) receive(1 - rank, 7);
  });
  const std::string& said = ran.status.message();
  EXPECT_NE(said.find("rank 0 in MPI_Recv waits for a message from rank 1, tag 7"), said.npos) << said;
  EXPECT_NE(said.find("circle: 0 -> 1 -> 0"), said.npos) << said;
  EXPECT_EQ(said.find("rank 2"), said.npos) << said;
}

std::string refusal(const std::vector<int>& units, const Settings& settings, bool carries_data = true) {
  const auto machine = machine::from_synthetic("mesh:2x1");
  WorldOptions options;
  options.settings = settings;
  options.carries_data = carries_data;
  const auto world = World::make(machine.value(), {units}, options);
  return world.ok() ? "" : world.status().message();
}

TEST(Microtasks, MoreRanksThanMayShareAUnitAreRefused) {
  EXPECT_EQ(refusal({0, 0}, shared(1)),
            "field 'unit_of_rank[1]': found unit 0 of rank 0, allowed: a unit that no other rank has");
  EXPECT_EQ(refusal({1, 0, 1, 1}, shared(2)),
            "field 'unit_of_rank[3]': found unit 1 of rank 0, allowed: a unit that fewer than 2 other ranks have");
  EXPECT_EQ(refusal({1, 0, 1, 0}, shared(2)), "");
}

TEST(Microtasks, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(refusal({0, 0}, shared(1.5)), "field 'tasks_per_unit': found 1.5, allowed: a whole number");
  EXPECT_EQ(refusal({0, 0}, shared(2), false),
            "field 'tasks_per_unit': found 2, allowed: 1: ranks of a recording have a unit each");
  Settings settings = shared(2);
  settings.collective_level = 1;
  EXPECT_EQ(refusal({0, 0}, settings),
            "field 'collective_level': found 1, allowed: 0, where tasks_per_unit is not 1: ranks that take turns "
            "reach no "
            "local store of each other's");
}

}  // namespace
}  // namespace corewise::simmpi
