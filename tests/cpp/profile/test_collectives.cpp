// The collective model: every collective's volumes per pair by hand, the names that lead to it, communicators that
// are one although every rank numbers them differently.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "profile/procedures.hpp"
#include "profile/profile.hpp"
#include "profile/reading.hpp"
#include "run_folder.hpp"

namespace corewise::profile {
namespace {

using namespace corewise::testing;
using trace::Role;

World read(const MadeUpRun& run) {
  Result<Profile> profile = read_directory(run.path());
  EXPECT_TRUE(profile.ok()) << profile.status().message();
  return std::move(profile).value().worlds.at(0);
}

/// Bytes per pair, row by row.
std::vector<std::uint64_t> bytes(const World& world, int comm = kNoComm) {
  return matrix(world, Traffic::collective, comm).dense_bytes();
}

using Row = std::vector<std::uint64_t>;

TEST(Collectives, NamesInAllTheirForms) {
  EXPECT_EQ(procedure_facts("MPI_Bcast").volume, Volume::from_root);
  EXPECT_EQ(procedure_facts("MPI_Ibcast").volume, Volume::from_root);
  EXPECT_EQ(procedure_facts("MPI_Bcast_init").volume, Volume::from_root);
  EXPECT_EQ(procedure_facts("MPI_Bcast_init_c").volume, Volume::from_root);
  EXPECT_EQ(procedure_facts("MPI_Ireduce_scatter_block_c").volume, Volume::from_each);
  EXPECT_EQ(procedure_facts("MPI_Ineighbor_alltoallw").volume, Volume::per_peer);
  EXPECT_EQ(procedure_facts("Iallreduce").volume, Volume::reduced);
  EXPECT_EQ(procedure_facts("MPI_Ibarrier").volume, Volume::none);
  EXPECT_EQ(procedure_facts("MPI_Iexscan").volume, Volume::from_previous);
  for (const char* other : {"MPI_Send", "MPI_Init", "", "i", "MPI_Iibcast", "procedure 3"})
    EXPECT_EQ(procedure_facts(other).volume, Volume::unknown) << other;
}

TEST(Collectives, RootedOnesConnectTheRootWithEveryone) {
  MadeUpRun run(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    run[rank].put(Role::collective, kBcast, 1, 100);
    run[rank].put(Role::collective, kReduce, 0, 10);
    run[rank].put(Role::collective, kGather, 2, rank + 1);
    run[rank].put(Role::collective, kScatterv, 0, 1'000 * rank);
  }
  const World world = read(run);
  EXPECT_EQ(bytes(world), (Row{0, 1'000, 2'000 + 1,   //
                               100 + 10, 0, 100 + 2,  //
                               10, 0, 0}));
  // Collective volumes never leak into what was observed.
  EXPECT_TRUE(matrix(world, Traffic::sent).entries.empty());
}

TEST(Collectives, RootlessOnesSpreadOverAllPairs) {
  MadeUpRun run(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    run[rank].put(Role::collective, kIallgather, trace::kNoPeer, 5);        // 5 to each
    run[rank].put(Role::collective, kAlltoall, trace::kNoPeer, 7);          // 7 to each
    run[rank].put(Role::collective, kAllreduce, trace::kNoPeer, 100);       // 2 * 100 / 4 to each
    run[rank].put(Role::collective, kReduceScatter, trace::kNoPeer, rank);  // `rank` from each
    run[rank].put(Role::collective, kBarrier, trace::kNoPeer, 0);
  }
  Row expected(16, 0);
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to)
      if (from != to) expected[from * 4 + to] = 5 + 7 + 50 + to;
  EXPECT_EQ(bytes(read(run)), expected);
}

TEST(Collectives, PrefixSumsAreAChainAndVectorsSayTheirParts) {
  MadeUpRun run(3);
  for (std::size_t rank = 0; rank < 3; ++rank) run[rank].put(Role::collective, kScan, trace::kNoPeer, 8);
  run[2].put(Role::collective, kAlltoallv, trace::kNoPeer, 33);
  run[2].put_at(run[2].now() - 10, Role::collective_part, kAlltoallv, 0, 11, 0, 0);
  run[2].put_at(run[2].now() - 10, Role::collective_part, kAlltoallv, 1, 20, 0, 0);
  run[2].put_at(run[2].now() - 10, Role::collective_part, kAlltoallv, 2, 2, 0, 0);
  const World world = read(run);
  EXPECT_EQ(bytes(world), (Row{0, 8, 0,  //
                               0, 0, 8,  //
                               11, 20, 0}));
  EXPECT_EQ(world.ranks[2].calls, 2U);
}

TEST(Collectives, WhatTheModelDoesNotKnowIsCountedNotGuessed) {
  MadeUpRun run(2);
  run[0].put(Role::collective, kSpecial, trace::kNoPeer, 40);
  run[0].put(Role::collective, kAllreduce, trace::kNoPeer, 2, /*comm=*/77);
  const World world = read(run);
  EXPECT_EQ(bytes(world), Row(4, 0));
  EXPECT_EQ(world.ranks[0].unmodelled_bytes, 42U);
}

TEST(Communicators, AreOneWhateverNumberEachRankGaveThem) {
  MadeUpRun run(4);
  // Ranks 1 and 3 share two communicators that they number differently; each also has its MPI_COMM_SELF.
  for (std::size_t rank = 0; rank < 4; ++rank)
    run[rank].file().add_comm(
        {.index = 1, .ranks = {static_cast<int>(rank)}, .size = 0, .remote = {}, .name = "self", .my_rank = 0});
  run[1].file().add_comm({.index = 2, .ranks = {1, 3}, .size = 0, .remote = {}, .name = "", .my_rank = 0});
  run[1].file().add_comm({.index = 3, .ranks = {1, 3}, .size = 0, .remote = {}, .name = "", .my_rank = 0});
  run[3].file().add_comm({.index = 6, .ranks = {1, 3}, .size = 0, .remote = {}, .name = "odd", .my_rank = 1});
  run[3].file().add_comm({.index = 9, .ranks = {1, 3}, .size = 0, .remote = {}, .name = "", .my_rank = 1});
  run[1].put(Role::collective, kAllreduce, trace::kNoPeer, 100, 2);
  run[3].put(Role::collective, kAllreduce, trace::kNoPeer, 100, 6);
  run[1].put(Role::send, kSend, 3, 9, 3);
  run[3].put(Role::receive, kRecv, 1, 9, 9);
  const World world = read(run);
  ASSERT_EQ(world.communicators.size(), 4U);
  int first = -1;
  int second = -1;
  for (int i = 0; i < 4; ++i) {
    if (world.communicators[static_cast<std::size_t>(i)].ranks.empty()) continue;
    (first < 0 ? first : second) = i;
  }
  ASSERT_GE(second, 0);
  EXPECT_EQ(world.communicators[static_cast<std::size_t>(first)].name, "odd");
  Row expected(16, 0);
  expected[1 * 4 + 3] = expected[3 * 4 + 1] = 100;  // 2 * 100 / 2
  EXPECT_EQ(bytes(world, first), expected);
  EXPECT_EQ(bytes(world, second), Row(16, 0));
  EXPECT_EQ(matrix(world, Traffic::sent, first).entries.size(), 0U);
  EXPECT_EQ(matrix(world, Traffic::sent, second).bytes(1, 3), 9U);
  EXPECT_EQ(matrix(world, Traffic::received, second).bytes(1, 3), 9U);
}

TEST(Communicators, EveryonesOwnOneConnectsNobody) {
  MadeUpRun run(2);
  // Rank 0 alone is world rank 0, so that its communicator of one is called identical to the world's order.
  run[0].file().add_comm({.index = 1, .ranks = {}, .size = 1, .remote = {}, .name = "MPI_COMM_SELF", .my_rank = 0});
  run[1].file().add_comm(
      {.index = 1, .ranks = {1}, .size = 0, .remote = {}, .name = "MPI_COMM_SELF", .my_rank = 0});
  for (std::size_t rank = 0; rank < 2; ++rank) run[rank].put(Role::collective, kAllreduce, trace::kNoPeer, 100, 1);
  const World world = read(run);
  EXPECT_EQ(world.communicators.size(), 2U);
  EXPECT_EQ(bytes(world), Row(4, 0));
}

TEST(Communicators, BetweenTwoGroupsBytesGoAcross) {
  MadeUpRun run(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const bool low = rank < 2;
    run[rank].file().add_comm({.index = 1,
                               .ranks = low ? std::vector{0, 1} : std::vector{2, 3},
                               .size = 0,
                               .remote = low ? std::vector{2, 3} : std::vector{0, 1},
                               .name = "bridge",
                               .my_rank = static_cast<int>(rank % 2)});
    run[rank].put(Role::collective, kIallgather, trace::kNoPeer, 10 + rank, 1);
    run[rank].put(Role::collective, kAllreduce, trace::kNoPeer, 100, 1);  // 100 / 2 to each across
  }
  const World world = read(run);
  ASSERT_EQ(world.communicators.size(), 2U);
  EXPECT_EQ(world.communicators[1].remote_size, 2);
  EXPECT_EQ(bytes(world), (Row{0, 0, 60, 60,  //
                               0, 0, 61, 61,  //
                               62, 62, 0, 0,  //
                               63, 63, 0, 0}));
}

}  // namespace
}  // namespace corewise::profile
