// A table of message costs: interpolation by hand, copies that share a core or slow each other down, and messages
// whose times are the table's. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "simmpi/include/mpi.h"
#include "simmpi/messages/copies.hpp"
#include "simmpi/messages/costs.hpp"
#include "simmpi/messages/uses.hpp"
#include "simmpi/world.hpp"

extern "C" void cw_compute(double cycles);

namespace corewise::simmpi {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Buffers that stay cached, and those that were last used 100,000 moved bytes ago.
MessageCosts table() {
  MessageCosts costs;
  costs.moved_bytes = {0, 100'000};
  costs.rows = {{100, 50, {{400, 450}, {600, 700}}},
                {1'000, 140, {{1'000, 1'100}, {2'000, 2'400}}},
                {10'000, 200, {{4'200, 5'200}, {8'200, 10'200}}}};
  return costs;
}

TEST(Costs, RowsAndColumnsAreInterpolated) {
  const MessageCosts costs = table();
  EXPECT_DOUBLE_EQ(costs.send_ns(10), 50);
  EXPECT_DOUBLE_EQ(costs.send_ns(550), 95);
  EXPECT_DOUBLE_EQ(costs.send_ns(20'000), 200);
  EXPECT_DOUBLE_EQ(costs.times(1'000, 0).one_way_ns, 1'000);
  EXPECT_DOUBLE_EQ(costs.times(1'000, kNever).one_way_ns, 2'000);
  EXPECT_DOUBLE_EQ(costs.times(1'000, 100'000).both_ns, 2'400);
  EXPECT_DOUBLE_EQ(costs.times(550, 0).one_way_ns, 700);
  // Two uses of a buffer of 1,000 bytes are never less than 2,000 moved bytes apart.
  EXPECT_DOUBLE_EQ(costs.times(1'000, 2'000).one_way_ns, 1'000);
  EXPECT_DOUBLE_EQ(costs.times(1'000, 51'000).one_way_ns, 1'500);
  EXPECT_DOUBLE_EQ(costs.times(1'000, 51'000).both_ns, 1'750);
  EXPECT_DOUBLE_EQ(costs.times(30'000, 0).one_way_ns, 3 * 4'200);
}

TEST(Costs, WhatIsNoTableIsRefused) {
  EXPECT_TRUE(check(table()).ok());
  EXPECT_TRUE(check(MessageCosts{}).ok());
  MessageCosts quicker = table();
  quicker.rows[0].times[0].both_ns = 390;  // than one way
  EXPECT_TRUE(check(quicker).ok());
  const auto refused = [](const std::function<void(MessageCosts&)>& spoil) {
    MessageCosts costs = table();
    spoil(costs);
    return check(costs).message();
  };
  EXPECT_NE(refused([](auto& costs) { costs.moved_bytes.clear(); }).find("one or more columns"), std::string::npos);
  EXPECT_NE(refused([](auto& costs) { costs.moved_bytes[1] = 0; }).find("rising"), std::string::npos);
  EXPECT_NE(refused([](auto& costs) { costs.rows[1].bytes = 100; }).find("row[1].bytes"), std::string::npos);
  EXPECT_NE(refused([](auto& costs) { costs.rows[2].times.pop_back(); }).find("one per column"), std::string::npos);
  EXPECT_NE(refused([](auto& costs) { costs.rows[0].send_ns = 401; }).find("send <= one way, both"),
            std::string::npos);
  EXPECT_NE(refused([](auto& costs) { costs.rows[0].times[0].both_ns = 49; }).find("row[0]"), std::string::npos);
}

TEST(Uses, BytesBetweenTwoUsesOfABufferAreCounted) {
  Uses uses;
  int communicator = 0;
  const Uses::Buffer first{&communicator, 1, 7};
  const Uses::Buffer second{&communicator, 1, 8};
  EXPECT_EQ(uses.use(first, 100), kNever);
  EXPECT_EQ(uses.use(second, 30), kNever);
  uses.touch(5);
  EXPECT_EQ(uses.use(first, 100), 135);
  EXPECT_EQ(uses.use(first, 100), 100);
  for (int tag = 100; tag < 132; ++tag) uses.use({&communicator, 2, tag}, 1);
  EXPECT_EQ(uses.use(second, 1), kNever);  // forgotten: others are newer
}

/// Ends of copies: (argument, time).
struct Copied {
  sim::Engine engine{1};
  std::vector<std::pair<std::uint64_t, sim::Time>> ends;
  Copies copies{engine, 3,
                [](void* self, std::uint64_t argument) {
                  auto& own = *static_cast<Copied*>(self);
                  own.ends.emplace_back(argument, own.engine.now());
                },
                this};
};

using Ends = std::vector<std::pair<std::uint64_t, sim::Time>>;

TEST(Copies, ARankCopiesOneAfterTheOther) {
  Copied copied;
  copied.copies.add(0, {1, 100, 150, 7});
  copied.copies.add(0, {2, 40, 60, 8});
  ASSERT_TRUE(copied.engine.run().ok());
  EXPECT_EQ(copied.ends, (Ends{{7, 100}, {8, 140}}));
}

TEST(Copies, TwoThatCopyFromOneAnotherAreSlower) {
  Copied copied;
  copied.copies.add(0, {1, 100, 200, 7});
  copied.copies.add(1, {0, 50, 100, 8});
  copied.copies.add(2, {0, 70, 700, 9});  // nobody copies from rank 2
  ASSERT_TRUE(copied.engine.run().ok());
  // At half their pace until 100; then rank 0 has 50 left, alone.
  EXPECT_EQ(copied.ends, (Ends{{9, 70}, {8, 100}, {7, 150}}));
}

TEST(Copies, TwoThatCopyFromOneAnotherMayBeQuicker) {
  Copied copied;
  copied.copies.add(0, {1, 100, 80, 7});
  copied.copies.add(1, {0, 50, 40, 8});
  ASSERT_TRUE(copied.engine.run().ok());
  // At five fourths of their pace until 40; then rank 0 has 50 left, alone.
  EXPECT_EQ(copied.ends, (Ends{{8, 40}, {7, 90}}));
}

TEST(Copies, WhoComesLaterSlowsTheRestOnly) {
  Copied copied;
  copied.copies.add(0, {1, 100, 200, 7});
  copied.engine.at(
      60,
      {[](void* self, std::uint64_t) { static_cast<Copied*>(self)->copies.add(1, {0, 100, 200, 8}); }, &copied, 0});
  ASSERT_TRUE(copied.engine.run().ok());
  // 40 are left at 60 and take 80; by then 40 of the other are done, and 60 remain.
  EXPECT_EQ(copied.ends, (Ends{{7, 140}, {8, 200}}));
}

std::vector<double> ends_of(const std::function<void(int)>& program) {
  const auto machine = machine::from_synthetic("flat:2");
  WorldOptions options;
  options.settings.eager_bytes = 1'000;
  options.settings.header_bytes = 0;
  options.costs = table();
  auto world = World::make(machine.value(), {{0, 1}}, options);
  EXPECT_TRUE(world.ok());
  const Status status = world.value()->run([&](Rank& rank) {
    program(rank.world);
    return 0;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<double> ends;
  for (int rank = 0; rank < 2; ++rank) ends.push_back(world.value()->engine().to_ns(world.value()->rank(rank).end));
  return ends;
}

/// Of the machine of `ends_of`, between its units.
double latency_ns() {
  const auto machine = machine::from_synthetic("flat:2");
  return 2 * machine.value().links[0].latency_ns;
}

double bytes_per_ns() {
  const auto machine = machine::from_synthetic("flat:2");
  return machine.value().links[0].bandwidth_gb_per_s;
}

TEST(Costs, AnEagerMessageTakesWhatTheTableSays) {
  std::vector<char> data(1'000);
  const auto ends = ends_of([&](int rank) {
    if (rank == 0) MPI_Send(data.data(), 1'000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data.data(), 1'000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  EXPECT_NEAR(ends[0], 140, 0.01);
  // A buffer that was never used before; the way of the data comes on top, its latency is in the table.
  EXPECT_NEAR(ends[1], 2'000 + 1'000 / bytes_per_ns(), 0.01);
}

TEST(Costs, ALongMessageIsCopiedOnceItsReceiverIsInMpi) {
  std::vector<char> data(10'000);
  const auto exchange = [&](double late) {
    return ends_of([&](int rank) {
      if (rank == 0) MPI_Send(data.data(), 10'000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      if (rank == 0) return;
      MPI_Request request;
      MPI_Irecv(data.data(), 10'000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
      cw_compute(late);  // of a core of 1 GHz
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
  };
  const auto at_once = exchange(0);
  EXPECT_NEAR(at_once[1], 8'200, 0.01);
  EXPECT_NEAR(at_once[0], 8'200, 0.01);
  const auto late = exchange(30'000);
  EXPECT_NEAR(late[1], 30'000 + 8'200 - 200 - latency_ns(), 0.01);
}

TEST(Costs, TheSecondUseOfABufferIsQuicker) {
  std::vector<char> data(10'000);
  const auto program = [&](int messages) {
    return ends_of([&](int rank) {
      for (int i = 0; i < messages; ++i) {
        if (rank == 0) MPI_Send(data.data(), 10'000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(data.data(), 10'000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    })[1];
  };
  EXPECT_NEAR(program(2) - program(1), 4'200, 0.01);
}

TEST(Costs, BothWaysTakeTheTimeOfBothWays) {
  std::vector<char> out(10'000);
  std::vector<char> in(10'000);
  const auto ends = ends_of([&](int rank) {
    MPI_Sendrecv(out.data(), 10'000, MPI_CHAR, 1 - rank, 0, in.data(), 10'000, MPI_CHAR, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  EXPECT_NEAR(ends[0], 10'200, 1);
  EXPECT_NEAR(ends[1], 10'200, 1);
}

}  // namespace
}  // namespace corewise::simmpi
