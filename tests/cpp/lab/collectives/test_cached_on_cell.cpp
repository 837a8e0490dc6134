// Collectives whose user data lie in main memory behind software caches: the data of every algorithm that leaves a
// rank's data to that rank, counts against a plain cache that is told which lines a broadcast touches, what is
// refused. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/table.hpp"
#include "lab/collectives/data.hpp"
#include "lab/collectives/kinds.hpp"
#include "lab/collectives/run.hpp"
#include "lab/collectives/tables/tables.hpp"
#include "plain_cache.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;

CollectiveRequest cached(Collective collective, const std::string& algorithm, std::uint64_t bytes,
                         const cell::SoftwareCacheShape& shape) {
  CollectiveRequest request;
  request.collective = collective;
  request.algorithm = algorithm;
  request.ranks = 5;
  request.bytes = bytes;
  request.cache_line_bytes = shape.line_bytes;
  request.cache_sets = shape.sets;
  request.cache_ways = shape.ways;
  return request;
}

Result<CollectiveTimes> run(const CollectiveRequest& request) {
  return run_collective_on_cell(cell::Parameters(), request);
}

constexpr std::uint64_t kBufferBytes = 16384;

/// Of a broadcast in which the root reads its data once and everybody else writes them once, buffer by buffer.
/// Counts do not depend on where a rank's area begins: another place only turns the sets around.
CacheUse expected_of_broadcast(const CollectiveRequest& request, int sets_of_data) {
  const CollectiveData data = CollectiveData::make(request, sets_of_data).value();
  CacheUse sum;
  for (int rank = 0; rank < request.ranks; ++rank) {
    test::PlainCache cache(request.cache_line_bytes, request.cache_sets, request.cache_ways);
    for (int call = 0; call < request.warm_up + request.calls; ++call) {
      if (call == request.warm_up) cache.forget_counts();
      const int set = call % sets_of_data;
      const bool root = rank == request.root;
      const std::uint64_t at = root ? data.send_at(rank, set) : data.receive_at(rank, set);
      for (std::uint64_t done = 0; done < request.bytes; done += kBufferBytes) {
        cache.touch(at + done, std::min(kBufferBytes, request.bytes - done), !root);
      }
    }
    sum.hits += static_cast<double>(cache.hits) / request.calls;
    sum.misses += static_cast<double>(cache.misses) / request.calls;
    sum.write_backs += static_cast<double>(cache.write_backs) / request.calls;
  }
  return sum;
}

TEST(CachedOnCell, CountsOfABroadcastAreThoseOfAPlainCache) {
  bool hits = false, write_backs = false;
  for (const auto& shape :
       std::vector<cell::SoftwareCacheShape>{{128, 64, 4}, {128, 512, 1}, {1024, 1, 16}, {256, 8, 2}}) {
    for (const std::uint64_t bytes : {128U, 3000U, 5120U, 40000U}) {
      CollectiveRequest request = cached(Collective::broadcast, "local_store_tree", bytes, shape);
      request.calls = 4;
      SCOPED_TRACE(std::to_string(shape.line_bytes) + ":" + std::to_string(shape.sets) + ":" +
                   std::to_string(shape.ways) + ", " + std::to_string(bytes) + " bytes");
      const auto times = run(request);
      ASSERT_TRUE(times.ok()) << times.status().message();
      const CacheUse expected = expected_of_broadcast(request, 3);
      const CacheUse& found = times.value().cache;
      EXPECT_EQ(found.hits, expected.hits);
      EXPECT_EQ(found.misses, expected.misses);
      EXPECT_EQ(found.write_backs, expected.write_backs);
      EXPECT_EQ(found.bytes, shape.bytes());
      hits = hits || found.hits > 0;
      write_backs = write_backs || found.write_backs > 0;
    }
  }
  EXPECT_TRUE(hits && write_backs);
}

class CachedCollective : public ::testing::TestWithParam<Collective> {};

TEST_P(CachedCollective, DataAreRightByEveryAlgorithmThatLeavesThemToTheirRank) {
  int ran = 0;
  for (const Algorithm& algorithm : algorithms_of(GetParam())) {
    const auto& row = rows_on_cached(GetParam())[static_cast<std::size_t>(ran)];
    ASSERT_EQ(row.name, algorithm.name);
    ++ran;
    const bool reaches = row.run == nullptr || (row.needs & (coll::kPpe | coll::kPeerMemory)) != 0;
    for (const std::uint64_t bytes : {64U, 4104U}) {
      if ((algorithm.needs & coll::kFitsEager) != 0 && bytes > 100) continue;
      for (const bool unaligned : {false, true}) {
        // Sixteen lines: data go in and out while the call runs.
        CollectiveRequest request = cached(GetParam(), std::string(algorithm.name), bytes, {128, 8, 2});
        request.uneven = has_uneven_blocks(GetParam());
        request.unaligned = unaligned;
        request.calls = 2;
        const auto times = run(request);
        ASSERT_EQ(times.ok(), !reaches) << algorithm.name << ": " << times.status().message();
        if (reaches) {
          EXPECT_NE(times.status().message().find("field 'algorithm': found '"), std::string::npos);
          EXPECT_NE(times.status().message().find("only that rank can reach"), std::string::npos);
          continue;
        }
        EXPECT_GT(times.value().cache.misses + times.value().cache.hits, 0) << algorithm.name;
      }
    }
  }
  EXPECT_GT(ran, 0);
}

std::vector<Collective> with_data() {
  return {all_collectives().begin() + 1, all_collectives().end()};
}
std::string test_name(const ::testing::TestParamInfo<Collective>& info) {
  return std::string(name_of(info.param));
}
INSTANTIATE_TEST_CASE_P(All, CachedCollective, ::testing::ValuesIn(with_data()), test_name);

TEST(CachedOnCell, AMissCostsItsTransfersAndAHitSavesThem) {
  const cell::SoftwareCacheShape shape{128, 64, 4};
  CollectiveRequest warm = cached(Collective::broadcast, "local_store_tree", 2048, shape);
  CollectiveRequest cold = warm;
  cold.warm_up = 0;
  cold.calls = 1;
  warm.warm_up = 3;
  CollectiveRequest direct = warm;
  direct.cache_line_bytes = 0;
  const auto in_cache = run(warm), brought = run(cold), by_dma = run(direct);
  ASSERT_TRUE(in_cache.ok() && brought.ok() && by_dma.ok());
  EXPECT_EQ(in_cache.value().cache.misses, 0);
  EXPECT_EQ(brought.value().cache.hits, 0);
  EXPECT_EQ(by_dma.value().cache.bytes, 0U);
  // A line that is brought waits for main memory, one after the other; direct DMA asks for all of them at once.
  EXPECT_GT(brought.value().mean_latency_ns(), 2 * by_dma.value().mean_latency_ns());
  EXPECT_LT(in_cache.value().mean_latency_ns(), by_dma.value().mean_latency_ns());
  EXPECT_GT(brought.value().dma_commands, in_cache.value().dma_commands + 79);  // 5 ranks of 16 lines
  EXPECT_EQ(in_cache.value().local_store_bytes, by_dma.value().local_store_bytes + shape.bytes());
}

TEST(CachedOnCell, WhatCannotBeIsRefused) {
  const auto refused = [](const CollectiveRequest& request) { return run(request).status().message(); };
  CollectiveRequest request = cached(Collective::broadcast, "local_store_tree", 4096, {128, 64, 4});
  request.cache_line_bytes = 100;
  EXPECT_NE(refused(request).find("field 'line_bytes': found 100"), std::string::npos);
  request.cache_line_bytes = 128;
  request.cache_ways = 25;
  EXPECT_NE(
      refused(request).find("field 'cache_ways': found 25, allowed: so many that the cache takes at most 196608"),
      std::string::npos)
      << refused(request);
  request.cache_ways = 4;
  request.memory = UserMemory::local_store;
  EXPECT_NE(refused(request).find("field 'memory': found local_store"), std::string::npos);
  CollectiveRequest barrier = cached(Collective::barrier, "flags", 0, {128, 64, 4});
  EXPECT_NE(refused(barrier).find("field 'cache_line_bytes': found a value for barrier"), std::string::npos);
}

}  // namespace
}  // namespace corewise::lab
