// Large collectives against what their memory controller can stream at all: the same reads and writes of one memory
// by the same SPEs, without any protocol (memory_stream.hpp). Also what a stream gives by itself.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lab/collectives/memory_stream.hpp"
#include "lab/collectives/run.hpp"

namespace corewise::lab {
namespace {

constexpr std::uint64_t kBytes = 1 << 20;

cell::Parameters machine_for(int ranks) {
  cell::Parameters machine;
  machine.chips = ranks > cell::kSpesPerChip ? 2 : 1;
  return machine;
}

MemoryStream stream_of(int ranks, std::uint64_t reads, std::uint64_t writes) {
  MemoryStream stream;
  for (int spe = 0; spe < ranks; ++spe) stream.spes.push_back(spe);
  stream.reads = reads;
  stream.writes = writes;
  return stream;
}

double stream_gb_per_s(int ranks, std::uint64_t reads, std::uint64_t writes) {
  const auto rate = stream_memory_gb_per_s(machine_for(ranks), stream_of(ranks, reads, writes));
  EXPECT_TRUE(rate.ok()) << rate.status().message();
  return rate.ok() ? rate.value() : 0;
}

struct Large {
  const char* name;
  coll::Collective collective;
  const char* algorithm;
  int ranks;
  Settings settings;
  int reads, writes;  ///< of the operand
};

class LargeCollectives : public testing::TestWithParam<Large> {};

TEST_P(LargeCollectives, ReachNineteenTwentiethsOfTheControllersOwnStream) {
  const Large large = GetParam();
  CollectiveRequest request;
  request.collective = large.collective;
  request.ranks = large.ranks;
  request.bytes = kBytes;
  request.algorithm = large.algorithm;
  request.settings = large.settings;
  request.warm_up = 0;
  request.calls = 1;
  const auto times = run_collective_on_cell(machine_for(large.ranks), request);
  ASSERT_TRUE(times.ok()) << times.status().message();
  const MemoryTraffic& memory = times.value().memories.front();
  EXPECT_NEAR(memory.read_bytes, static_cast<double>(large.reads) * kBytes, 0.02 * large.reads * kBytes);
  EXPECT_NEAR(memory.written_bytes, static_cast<double>(large.writes) * kBytes, 0.02 * large.writes * kBytes);
  const double limit = stream_gb_per_s(large.ranks, 64 * static_cast<std::uint64_t>(large.reads),
                                       64 * static_cast<std::uint64_t>(large.writes));
  EXPECT_GE(memory.gb_per_s, 0.95 * limit);
  EXPECT_LE(memory.gb_per_s, 1.01 * limit);
}

using coll::Collective;
const Settings kSmallPieces = {{"piece", 4096}};
const Settings kUneven = {{"piece", 4096}, {"far_percent", 35}};

INSTANTIATE_TEST_CASE_P(
    OfAMegabyte, LargeCollectives,
    testing::Values(Large{"broadcast8", Collective::broadcast, "pieces", 8, kSmallPieces, 1, 7},
                    Large{"broadcast16", Collective::broadcast, "local_store_tree", 16, {{"degree", 1}}, 1, 15},
                    Large{"reduce8", Collective::reduce, "pieces", 8, kSmallPieces, 8, 1},
                    Large{"reduce16", Collective::reduce, "pieces", 16, kUneven, 16, 1},
                    Large{"allreduce8", Collective::allreduce, "pieces", 8, {}, 8, 8},
                    Large{"allreduce16", Collective::allreduce, "pieces", 16, kUneven, 16, 16}),
    [](const testing::TestParamInfo<Large>& case_info) { return std::string(case_info.param.name); });

TEST(MemoryStream, IsFastestWithBothKindsAndSlowFromAfar) {
  EXPECT_GT(stream_gb_per_s(8, 64, 448), stream_gb_per_s(8, 512, 0));
  EXPECT_LT(stream_gb_per_s(8, 256, 256), 25.6);
  // One SPE alone: paper 001, section 2, about 7 GB/s.
  EXPECT_NEAR(stream_gb_per_s(1, 64, 0), 7.0, 1.4);
}

TEST(MemoryStream, RefusesWhatIsNoStream) {
  EXPECT_FALSE(stream_memory_gb_per_s(machine_for(8), stream_of(0, 1, 1)).ok());
  EXPECT_FALSE(stream_memory_gb_per_s(machine_for(8), stream_of(8, 0, 0)).ok());
  MemoryStream elsewhere = stream_of(8, 1, 1);
  elsewhere.memory = 1;
  const auto refused = stream_memory_gb_per_s(machine_for(8), elsewhere);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "field 'memory': found 1, allowed: 0..0");
}

}  // namespace
}  // namespace corewise::lab
