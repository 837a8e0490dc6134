// Every algorithm of every collective, on every small number of ranks: all its messages meet, and what must reach
// a rank does. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "replay/collectives.hpp"
#include "simmpi/world.hpp"

namespace corewise::replay {
namespace {

struct Ran {
  Status status;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

Ran run(const AlgorithmRow& row, int ranks, std::int64_t bytes, int root) {
  const auto machine = machine::from_synthetic("flat:16");
  simmpi::WorldOptions options;
  options.carries_data = false;
  options.settings.eager_bytes = 100;  // so that most of them wait for their receives
  std::vector<int> units;
  for (int rank = 0; rank < ranks; ++rank) units.push_back(rank);
  auto world = simmpi::World::make(machine.value(), {units}, options);
  EXPECT_TRUE(world.ok()) << world.status().message();
  Ran ran;
  ran.status = world.value()->run([&](simmpi::Rank& rank) {
    Job job;
    job.bytes = bytes;
    job.root = root;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank.world) job.shares.push_back({peer, bytes});
    }
    simmpi::Context call{rank.program, rank.world_comm, rank.world_comm.collectives++};
    row.expand(call, job);
    return 0;
  });
  world.value()->traffic().for_each([&](int, int, const simmpi::Traffic& pair) {
    ran.messages += pair.collective_messages;
    ran.bytes += pair.collective_bytes;
  });
  return ran;
}

TEST(Algorithms, AllMessagesMeetOnEveryNumberOfRanks) {
  for (const AlgorithmRow& row : algorithm_rows()) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const Ran ran = run(row, ranks, 1000, ranks / 2);
      EXPECT_TRUE(ran.status.ok()) << row.collective << " " << row.name << " on " << ranks << ": "
                                   << ran.status.message();
      EXPECT_GE(ran.messages + 1, static_cast<std::uint64_t>(ranks)) << row.collective << " " << row.name;
    }
  }
}

std::uint64_t bytes_of(const std::string& collective, const std::string& name, int ranks, std::int64_t bytes) {
  for (const AlgorithmRow& row : algorithm_rows()) {
    if (row.collective == collective && row.name == name) return run(row, ranks, bytes, 0).bytes;
  }
  ADD_FAILURE() << collective << " " << name << " is not in the table";
  return 0;
}

TEST(Algorithms, TheyMoveWhatTheyMustOnEightRanks) {
  EXPECT_EQ(bytes_of("bcast", "binomial", 8, 1000), 7000U);
  EXPECT_EQ(bytes_of("bcast", "linear", 8, 1000), 7000U);
  EXPECT_EQ(bytes_of("reduce", "binomial", 8, 1000), 7000U);
  EXPECT_EQ(bytes_of("gather", "linear", 8, 1000), 7000U);
  EXPECT_EQ(bytes_of("gather", "binomial", 8, 1000), 12000U);   // 8/2 log2 8 blocks
  EXPECT_EQ(bytes_of("scatter", "binomial", 8, 1000), 12000U);  // likewise
  EXPECT_EQ(bytes_of("allreduce", "recursive_doubling", 8, 1000), 24000U);
  EXPECT_EQ(bytes_of("allreduce", "ring", 8, 1000), 14000U);  // 2 (p - 1) times all of it
  EXPECT_EQ(bytes_of("allgather", "ring", 8, 1000), 56000U);
  EXPECT_EQ(bytes_of("allgather", "bruck", 8, 1000), 56000U);
  EXPECT_EQ(bytes_of("alltoall", "pairwise", 8, 1000), 56000U);
  EXPECT_EQ(bytes_of("alltoall", "bruck", 8, 100), 9600U);  // log2 8 times half of the blocks
  EXPECT_EQ(bytes_of("alltoallv", "pairwise", 8, 1000), 56000U);
  EXPECT_EQ(bytes_of("scan", "chain", 8, 1000), 7000U);
  EXPECT_EQ(bytes_of("barrier", "dissemination", 8, 1000), 0U);
}

TEST(Algorithms, AnUnknownChoiceNamesThoseThereAre) {
  Selection selection;
  EXPECT_TRUE(selection.choose("allreduce", "ring").ok());
  const Status algorithm = selection.choose("allreduce", "magic");
  EXPECT_EQ(algorithm.code(), Code::invalid_input);
  EXPECT_NE(algorithm.message().find("recursive_doubling, ring, reduce_broadcast"), std::string::npos)
      << algorithm.message();
  EXPECT_NE(selection.choose("all", "ring").message().find("barrier, bcast, scatter, scatterv"), std::string::npos);
  EXPECT_EQ(selection.of("nothing"), nullptr);
}

}  // namespace
}  // namespace corewise::replay
