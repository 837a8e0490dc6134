// Data of simulated ranks in main memory behind a software cache: hits, misses and write-backs against a plain
// cache, their time against what a simulated Cell takes, messages, and what is refused. SPDX-License-Identifier:
// BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/cache_costs.hpp"
#include "plain_cache.hpp"
#include "simmpi/include/mpi.h"
#include "simmpi/world.hpp"

extern "C" void cw_main_memory(const void* start, std::size_t bytes);
extern "C" void cw_local_store(const void* start);
extern "C" void cw_touch(const void* start, std::size_t bytes, int write);

namespace corewise::simmpi {
namespace {

struct Ran {
  Status status;
  std::vector<double> end_ns;
  std::vector<cell::SoftwareCacheStatistics> seen;
  std::vector<double> spent_ns;
};

Settings cached(double line_bytes, double sets, double ways) {
  Settings settings;
  settings.cache_line_bytes = line_bytes;
  settings.cache_sets = sets;
  settings.cache_ways = ways;
  return settings;
}

Ran run(int ranks, const Settings& settings, const std::function<void(int)>& program) {
  const auto machine = machine::from_synthetic("mesh:" + std::to_string(ranks) + "x1");
  WorldOptions options;
  options.settings = settings;
  std::vector<int> units;
  for (int rank = 0; rank < ranks; ++rank) units.push_back(rank);
  auto world = World::make(machine.value(), {units}, options);
  Ran ran;
  ran.status = world.status();
  if (!world.ok()) return ran;
  ran.status = world.value()->run([&](Rank& rank) {
    program(rank.world);
    return 0;
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const Rank& each = world.value()->rank(rank);
    ran.end_ns.push_back(world.value()->engine().to_ns(each.end));
    if (!each.memory) continue;
    ran.seen.push_back(each.memory->statistics());
    ran.spent_ns.push_back(world.value()->engine().to_ns(each.memory->spent()));
  }
  return ran;
}

TEST(MainMemory, CountsAreThoseOfAPlainCacheAndTheirTimeIsTheCells) {
  constexpr std::size_t kBytes = 1 << 16;
  for (const auto& [line, sets, ways] :
       std::vector<std::array<int, 3>>{{128, 64, 4}, {128, 32, 1}, {1024, 1, 8}, {2048, 4, 2}}) {
    SCOPED_TRACE(std::to_string(line) + ":" + std::to_string(sets) + ":" + std::to_string(ways));
    // At odd places of the host's memory: where it has them is of no meaning.
    std::vector<std::byte> first(kBytes + 13), second(kBytes + 7);
    test::PlainCache plain(static_cast<std::uint64_t>(line), static_cast<std::uint64_t>(sets),
                           static_cast<std::uint64_t>(ways));
    const Ran ran = run(1, cached(line, sets, ways), [&](int) {
      cw_main_memory(first.data() + 13, kBytes);
      cw_main_memory(second.data() + 7, kBytes);
      Rng random(3);
      for (int i = 0; i < 4000; ++i) {
        const bool other = random.below(2) == 1, write = random.below(3) == 0;
        const std::uint64_t at = i % 2 == 0 ? random.below(kBytes - 300) : random.below(3000);
        const std::uint64_t bytes = 1 + random.below(300);
        cw_touch((other ? second.data() + 7 : first.data() + 13) + at, bytes, write ? 1 : 0);
        plain.touch((other ? kBytes : 0) + at, bytes, write);
      }
    });
    ASSERT_TRUE(ran.status.ok()) << ran.status.message();
    EXPECT_EQ(ran.seen[0].hits, plain.hits);
    EXPECT_EQ(ran.seen[0].misses, plain.misses);
    EXPECT_EQ(ran.seen[0].write_backs, plain.write_backs);
    EXPECT_GT(plain.hits, 0U);
    EXPECT_GT(plain.write_backs, 0U);
    const cell::SoftwareCacheShape shape{.line_bytes = static_cast<std::uint32_t>(line),
                                         .sets = static_cast<std::uint32_t>(sets),
                                         .ways = static_cast<std::uint32_t>(ways)};
    const auto costs = cell::software_cache_costs(cell::Parameters(), shape).value();
    const double clean = static_cast<double>(plain.misses - plain.write_backs);
    const double expected = static_cast<double>(plain.hits) * costs.hit_ns + clean * costs.miss_ns +
                            static_cast<double>(plain.write_backs) * costs.dirty_miss_ns;
    EXPECT_NEAR(ran.spent_ns[0], expected, 1e-6 * expected);
    EXPECT_DOUBLE_EQ(ran.end_ns[0], ran.spent_ns[0]);
  }
}

TEST(MainMemory, MessagesTouchTheirBuffersThere) {
  std::vector<char> out(1000), in(1000);
  const auto program = [&](int rank) {
    cw_main_memory(rank == 0 ? out.data() : in.data(), 1000);
    if (rank == 0) MPI_Send(out.data(), 1000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in.data(), 1000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) cw_touch(in.data(), 1000, 0);
  };
  const Ran with = run(2, cached(128, 64, 4), program);
  const Ran without = run(2, Settings(), program);
  ASSERT_TRUE(with.status.ok()) << with.status.message();
  EXPECT_EQ(with.seen[0].misses, 8U);
  EXPECT_EQ(with.seen[1].misses, 8U);
  EXPECT_EQ(with.seen[1].hits, 8U);
  EXPECT_NEAR(with.end_ns[0], without.end_ns[0] + with.spent_ns[0], 0.01);
  EXPECT_NEAR(with.end_ns[1], without.end_ns[1] + with.spent_ns[0] + with.spent_ns[1], 0.01);
  EXPECT_TRUE(without.seen.empty());
}

TEST(MainMemory, OnlyTheBytesThatALayoutSpansAreTouched) {
  std::vector<int> out(300), in(300);
  const Ran ran = run(2, cached(128, 64, 4), [&](int rank) {
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(3, 1, 32, MPI_INT, &column);  // an int in each of three lines
    MPI_Type_commit(&column);
    cw_main_memory(rank == 0 ? out.data() : in.data(), 1200);
    if (rank == 0) MPI_Send(out.data(), 1, column, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in.data(), 1, column, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(ran.seen[0].misses, 3U);
  EXPECT_EQ(ran.seen[1].misses, 3U);
}

TEST(MainMemory, WhatLiesInTheLocalStoreCostsNothing) {
  std::vector<char> data(1000);
  const Ran ran = run(1, cached(128, 64, 4), [&](int) {
    cw_touch(data.data(), 1000, 1);
    cw_main_memory(data.data(), 1000);
    cw_local_store(data.data());
    cw_touch(data.data(), 1000, 1);
  });
  ASSERT_TRUE(ran.status.ok()) << ran.status.message();
  EXPECT_EQ(ran.end_ns[0], 0);
  EXPECT_EQ(ran.seen[0].misses, 0U);
}

TEST(MainMemory, WhatCannotBeIsRefused) {
  std::vector<char> data(1000);
  const auto said = [&](const std::function<void()>& program) {
    return run(1, cached(128, 64, 4), [&](int) { program(); }).status.message();
  };
  EXPECT_NE(said([&] {
              cw_main_memory(data.data(), 500);
              cw_main_memory(data.data() + 499, 500);
            }).find("rank 0 in cw_main_memory: field 'start': found data that lie in main memory already"),
            std::string::npos);
  EXPECT_NE(said([&] { cw_local_store(data.data()); }).find("rank 0 in cw_local_store: field 'start'"),
            std::string::npos);
  EXPECT_NE(said([&] {
              cw_main_memory(data.data(), 500);
              cw_touch(data.data() + 400, 200, 0);
            }).find("rank 0 in cw_touch: field 'bytes': found 200 bytes, of which a part lies in main memory"),
            std::string::npos);
  const auto refused = [&](const Settings& settings) { return run(1, settings, [](int) {}).status.message(); };
  EXPECT_NE(refused(cached(100, 64, 4)).find("field 'line_bytes': found 100"), std::string::npos);
  EXPECT_NE(refused(cached(128, 64.5, 4)).find("field 'cache_sets': found 64.5"), std::string::npos);
  EXPECT_NE(refused(cached(128, 64, 25)).find("field 'cache_ways': found 25"), std::string::npos);
}

}  // namespace
}  // namespace corewise::simmpi
