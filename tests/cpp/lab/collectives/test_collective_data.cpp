// The reference that collectives are checked against: it accepts exactly what MPI says, and sees every byte that is
// wrong. Written out here for one collective of each kind. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lab/collectives/data.hpp"
#include "lab/collectives/run.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;
using Area = std::vector<std::byte>;

struct Ranks {
  explicit Ranks(const CollectiveRequest& request) : data(CollectiveData::make(request).value()) {
    for (int rank = 0; rank < request.ranks; ++rank) {
      areas.emplace_back(data.area_bytes(rank));
      data.fill(rank, areas.back());
    }
  }
  std::byte* send(int rank) { return areas[static_cast<std::size_t>(rank)].data() + data.send_at(rank, 0); }
  std::byte* receive(int rank) { return areas[static_cast<std::size_t>(rank)].data() + data.receive_at(rank, 0); }
  bool right() const {
    for (std::size_t rank = 0; rank < areas.size(); ++rank) {
      if (!data.check(static_cast<int>(rank), areas[rank]).ok()) return false;
    }
    return true;
  }
  /// Every byte of every area, changed, is seen.
  void expect_to_see_every_byte() {
    EXPECT_TRUE(right());
    for (std::size_t rank = 0; rank < areas.size(); ++rank) {
      for (std::byte& byte : areas[rank]) {
        byte ^= std::byte{1};
        EXPECT_FALSE(data.check(static_cast<int>(rank), areas[rank]).ok());
        byte ^= std::byte{1};
      }
    }
  }

  CollectiveData data;
  std::vector<Area> areas;
};

CollectiveRequest request_of(Collective collective, int ranks, std::uint64_t bytes) {
  CollectiveRequest request;
  request.collective = collective;
  request.ranks = ranks;
  request.bytes = bytes;
  return request;
}

TEST(CollectiveData, AllCollectivesStartOutWrong) {
  for (const Collective collective : all_collectives()) {
    if (collective == Collective::barrier) continue;
    EXPECT_FALSE(Ranks(request_of(collective, 3, 24)).right()) << name_of(collective);
  }
  EXPECT_TRUE(Ranks(request_of(Collective::barrier, 3, 0)).right());
}

TEST(CollectiveData, ABroadcastCopiesTheRootsBytesBlockByBlock) {
  CollectiveRequest request = request_of(Collective::broadcast, 3, 40);
  request.root = 1;
  request.block_bytes = 16;
  request.stride_bytes = 24;
  request.unaligned = true;
  Ranks ranks(request);
  for (const int rank : {0, 2}) {
    std::memcpy(ranks.receive(rank), ranks.send(1), 16);
    std::memcpy(ranks.receive(rank) + 24, ranks.send(1) + 24, 16);
    std::memcpy(ranks.receive(rank) + 48, ranks.send(1) + 48, 8);
  }
  ranks.expect_to_see_every_byte();
}

/// 16 of 24 bytes are sent, 8 of 12 received; a block of 20 bytes extends over 28 at its receiver.
TEST(CollectiveData, StridedBlocksAreLaidOutAnew) {
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    CollectiveRequest request = request_of(collective, 2, 20);
    request.block_bytes = 16;
    request.stride_bytes = 24;
    request.receive_block_bytes = 8;
    request.receive_stride_bytes = 12;
    Ranks ranks(request);
    for (int rank = 0; rank < 2; ++rank) {
      const bool gathers = collective == Collective::gather;
      // As they are sent the same 20 bytes extend over 28 too.
      std::byte* const from = gathers ? ranks.send(rank) : ranks.send(0) + std::ptrdiff_t{28} * rank;
      std::byte* const to = gathers ? ranks.receive(0) + std::ptrdiff_t{28} * rank : ranks.receive(rank);
      for (int at = 0; at < 20; ++at) to[at / 8 * 12 + at % 8] = from[at / 16 * 24 + at % 16];
    }
    ranks.expect_to_see_every_byte();
  }
}

TEST(CollectiveData, AnAllToAllTransposes) {
  for (const bool uneven : {false, true}) {
    CollectiveRequest request = request_of(uneven ? Collective::alltoallv : Collective::alltoall, 3, 20);
    request.uneven = uneven;
    Ranks ranks(request);
    for (int from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) {
        const coll::Blocks sent = ranks.data.send_blocks(from), received = ranks.data.receive_blocks(to);
        EXPECT_EQ(sent.bytes(to), received.bytes(from));
        std::memcpy(ranks.receive(to) + received.offset(from), ranks.send(from) + sent.offset(to), sent.bytes(to));
      }
    }
    ranks.expect_to_see_every_byte();
  }
}

TEST(CollectiveData, AReductionSumsAndAScanStops) {
  Ranks reduced(request_of(Collective::reduce, 4, 12));
  Ranks scanned(request_of(Collective::exscan, 4, 12));
  for (std::size_t i = 0; i < 3; ++i) {
    std::uint32_t sum = 0;
    for (int rank = 0; rank < 4; ++rank) {
      if (rank > 0) std::memcpy(scanned.receive(rank) + 4 * i, &sum, 4);
      std::uint32_t value = 0;
      std::memcpy(&value, scanned.send(rank) + 4 * i, 4);
      sum += value;
    }
    std::memcpy(reduced.receive(0) + 4 * i, &sum, 4);  // the same values: the same seed
  }
  reduced.expect_to_see_every_byte();
  scanned.expect_to_see_every_byte();
}

/// x -> a x + b modulo 2^32: rank 0's first.
TEST(CollectiveData, AnOperatorThatDoesNotCommuteKeepsTheOrderOfTheRanks) {
  CollectiveRequest request = request_of(Collective::allreduce, 3, 8);
  request.operation = "user_compose";
  Ranks ranks(request);
  std::uint32_t result[2] = {1, 0};
  for (int rank = 0; rank < 3; ++rank) {
    std::uint32_t next[2];
    std::memcpy(next, ranks.send(rank), 8);
    result[0] *= next[0];
    result[1] = next[0] * result[1] + next[1];
  }
  for (int rank = 0; rank < 3; ++rank) std::memcpy(ranks.receive(rank), result, 8);
  ranks.expect_to_see_every_byte();
}

TEST(CollectiveData, ACallIsCheckedByItselfAndForgotten) {
  const CollectiveRequest request = request_of(Collective::broadcast, 2, 40);
  const CollectiveData data = CollectiveData::make(request, 2).value();
  std::vector<std::byte> root(data.area_bytes(0)), other(data.area_bytes(1));
  data.fill(0, root);
  data.fill(1, other);
  std::memcpy(other.data() + data.receive_at(1, 1), root.data() + data.send_at(0, 1), 40);
  EXPECT_FALSE(data.check_call(1, 0, other).ok());  // which did nothing
  EXPECT_TRUE(data.check_call(1, 1, other).ok());
  EXPECT_TRUE(data.check_call(0, 1, root).ok());  // the root receives nothing
  data.forget_call(1, 1, other);
  EXPECT_FALSE(data.check_call(1, 1, other).ok());
  std::memcpy(other.data() + data.receive_at(1, 1), root.data() + data.send_at(0, 0), 40);
  EXPECT_FALSE(data.check_call(1, 1, other).ok());  // another call's data
}

/// Every need, lacking alone, is refused by its field.
TEST(CollectiveSettings, WhatIsLackingIsNamed) {
  const auto refusal = [](std::uint32_t needs, const coll::Shape& shape, const coll::Facts& facts) {
    Algorithm algorithm;
    algorithm.name = "one";
    algorithm.needs = needs;
    return std::string(check_usable(algorithm, shape, facts).message());
  };
  const coll::Shape paper = coll::Shape::paper(8);
  coll::Facts facts;
  facts.bytes = 4096;
  EXPECT_EQ(refusal(coll::kAnything, paper, facts), "");
  facts.commutative = facts.contiguous = false;
  const std::pair<std::uint32_t, const char*> fields[] = {
      {coll::kCommutative, "'operation'"},   {coll::kContiguous, "'stride'"},
      {coll::kFitsEager, "'eager_slots'"},   {coll::kEagerSlots, "'eager_slots'"},
      {coll::kAtomicWord, "'atomic_words'"}, {coll::kPpe, "'ppe'"},
      {coll::kWorkspace, "'workspace'"}};
  for (const auto& [need, field] : fields) {
    EXPECT_NE(refusal(need, paper, facts).find(field), std::string::npos) << refusal(need, paper, facts);
  }
  EXPECT_NE(refusal(coll::kFitsEager, coll::Shape::eager(8), facts).find("'bytes'"), std::string::npos);
  facts.element_bytes = paper.most_element_bytes() + 1;
  EXPECT_NE(refusal(coll::kAnything, paper, facts).find("'element'"), std::string::npos);
  EXPECT_NE(refusal(coll::kAnything, coll::Shape::paper(coll::kMostRanks + 1), {}).find("'ranks'"),
            std::string::npos);
}

/// Tables of all collectives, on both ports: names agree, once each; settings are within their ranges and have an
/// effect on what is run.
TEST(CollectiveSettings, DefaultsAreAllowedAndSettingsAreSet) {
  for (const Collective collective : all_collectives()) {
    for (const Algorithm& algorithm : algorithms_of(collective)) {
      const Configuration usual = default_configuration(algorithm, 4);
      for (const SettingRow& row : setting_rows()) {
        const std::int64_t value = value_of(row, usual);
        const std::string name(row.name);
        const auto same = configure(algorithm, 4, {{name, value}});
        EXPECT_EQ(same.ok(), takes(algorithm, row)) << algorithm.name << " " << name;
        EXPECT_FALSE(configure(algorithm, 4, {{name, row.least - 1}}).ok()) << name;
        EXPECT_FALSE(configure(algorithm, 4, {{name, row.most + row.step}}).ok()) << name;
        if (!takes(algorithm, row)) continue;
        const auto least = configure(algorithm, 4, {{name, row.least}});
        ASSERT_TRUE(least.ok()) << least.status().message();
        EXPECT_EQ(value_of(row, least.value()), row.least) << name;
      }
    }
  }
}

TEST(CollectiveRun, BothPortsHaveTheSameTables) {
  for (const Collective collective : all_collectives()) {
    const auto cell = rows_on_cell(collective);
    const auto ideal = rows_on_ideal(collective);
    ASSERT_EQ(cell.size(), ideal.size()) << name_of(collective);
    for (std::size_t i = 0; i < cell.size(); ++i) {
      EXPECT_EQ(cell[i].name, ideal[i].name);
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(cell[i].name, cell[j].name);
    }
  }
}

/// The harness's own figures: what a broadcast by a tree of local stores has to move, where, and that every call
/// starts for all at one time.
TEST(CollectiveRun, CountsWhatMustMoveAndStartsAllAtOnce) {
  cell::Parameters machine;
  machine.chips = 2;
  CollectiveRequest request = request_of(Collective::broadcast, 16, 64 * 1024);
  request.algorithm = "local_store_tree";
  request.memory = UserMemory::own;
  request.calls = 2;
  const auto run = run_collective_on_cell(machine, request);
  ASSERT_TRUE(run.ok()) << run.status().message();
  const CollectiveTimes& times = run.value();
  EXPECT_EQ(times.memories[0].read_bytes, 64.0 * 1024);
  EXPECT_EQ(times.memories[0].written_bytes, 7 * 64.0 * 1024);
  EXPECT_EQ(times.memories[1].written_bytes, 8 * 64.0 * 1024);
  EXPECT_EQ(times.latency_ns.size(), 2U);
  EXPECT_EQ(*std::ranges::max_element(times.rank_end_ns), times.latency_ns.back());
  EXPECT_LE(times.local_store_bytes, cell::kPortBudgetBytes);
  // The same again, tick by tick.
  EXPECT_EQ(run_collective_on_cell(machine, request).value().latency_ns, times.latency_ns);
}

TEST(CollectiveRun, NothingGoesBeyondTheBudgetOfALocalStore) {
  CollectiveRequest request = request_of(Collective::broadcast, 8, 64);
  request.algorithm = "pieces";
  request.settings = {{"buffer", 16384}, {"eager_slots", 8}, {"eager_128", 1}};
  const Status status = run_collective_on_ideal(request);
  EXPECT_EQ(status.code(), Code::invalid_input);
  EXPECT_NE(status.message().find("36864"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace corewise::lab
