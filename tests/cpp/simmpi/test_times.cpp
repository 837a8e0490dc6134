// Simulated times of messages against sums of their documented steps, and runs that fail. Ranks are C++ functions
// here. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "simmpi/include/mpi.h"
#include "simmpi/world.hpp"

extern "C" void cw_compute(double cycles);

namespace corewise::simmpi {
namespace {

Settings round_numbers() {
  Settings settings;
  settings.send_ns = 100;
  settings.receive_ns = 200;
  settings.call_ns = 10;
  settings.copy_gb_per_s = 5;
  settings.eager_bytes = 1000;
  settings.header_bytes = 40;
  return settings;
}

struct Ran {
  Status status;
  std::vector<double> end_ns;
  Traffic sent;
};

Ran run(int ranks, const std::function<void(int)>& program) {
  const auto machine = machine::from_synthetic("mesh:" + std::to_string(ranks) + "x1");
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  WorldOptions options;
  options.settings = round_numbers();
  std::vector<int> units;
  for (int rank = 0; rank < ranks; ++rank) units.push_back(rank);
  auto world = World::make(machine.value(), {units}, options);
  EXPECT_TRUE(world.ok()) << world.status().message();
  Ran ran;
  ran.status = world.value()->run([&](Rank& rank) {
    program(rank.world);
    return 0;
  });
  for (int rank = 0; rank < ranks; ++rank) {
    ran.end_ns.push_back(world.value()->engine().to_ns(world.value()->rank(rank).end));
  }
  if (ranks > 1) ran.sent = world.value()->traffic(0, 1);
  return ran;
}

/// Latency in ns and bytes per ns between neighbours of the machine that `run` uses.
std::array<double, 2> link() {
  const auto machine = machine::from_synthetic("mesh:2x1");
  return {machine.value().links[0].latency_ns, machine.value().links[0].bandwidth_gb_per_s};
}

TEST(Times, AnEagerMessageIsTheSumOfItsSteps) {
  const auto [latency, bandwidth] = link();
  std::vector<char> data(500);
  const Ran ran = run(2, [&](int rank) {
    if (rank == 0) MPI_Send(data.data(), 500, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data.data(), 500, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  const double sent = 100 + 500 / 5.0;
  EXPECT_NEAR(ran.end_ns[0], sent, 0.01);
  EXPECT_NEAR(ran.end_ns[1], sent + latency + 540 / bandwidth + 200 + 500 / 5.0, 0.01);
  EXPECT_EQ(ran.sent.messages, 1U);
  EXPECT_EQ(ran.sent.bytes, 500U);
}

TEST(Times, ALongMessageWaitsForItsReceive) {
  const auto [latency, bandwidth] = link();
  std::vector<char> out(5000, 'x');
  std::vector<char> in(5000);
  const Ran ran = run(2, [&](int rank) {
    if (rank == 0) MPI_Send(out.data(), 5000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
      cw_compute(1e6);
      MPI_Recv(in.data(), 5000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  const double header = latency + 40 / bandwidth;
  const double there = 1e6 + header + latency + 5000 / bandwidth;
  EXPECT_NEAR(ran.end_ns[0], there, 0.01);
  EXPECT_NEAR(ran.end_ns[1], there + 200, 0.01);
  EXPECT_EQ(out, in);
}

TEST(Times, ComputationCostsWhatIsDeclaredAndNothingElse) {
  const Ran ran = run(1, [](int) {
    volatile double sum = 0;
    for (int i = 0; i < 1000000; ++i) sum = sum + i;
    cw_compute(12345);
  });
  EXPECT_DOUBLE_EQ(ran.end_ns[0], 12345);
}

TEST(Failures, ADeadlockSaysWhoWaitsForWhomAndNamesTheCircle) {
  const Ran ran = run(3, [](int rank) {
    int value = 0;
    if (rank < 2) MPI_Recv(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(ran.status.code(), Code::io);
  const std::string& said = ran.status.message();
  EXPECT_NE(said.find("rank 0 in MPI_Recv waits for a message from rank 1, tag 7, MPI_COMM_WORLD"), said.npos)
      << said;
  EXPECT_NE(said.find("rank 1 in MPI_Recv waits for a message from rank 0"), said.npos) << said;
  EXPECT_EQ(said.find("rank 2"), said.npos) << said;
  EXPECT_NE(said.find("circle: 0 -> 1 -> 0"), said.npos) << said;
}

TEST(Failures, AnErrorEndsTheRunWithItsName) {
  const Ran ran = run(2, [](int rank) {
    if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 5, 0, MPI_COMM_WORLD);
  });
  EXPECT_EQ(ran.status.message(),
            "rank 1 in MPI_Send on MPI_COMM_WORLD: MPI_ERR_RANK: a rank that is not in the communicator");
}

}  // namespace
}  // namespace corewise::simmpi
