// Figure 2 of paper 001 on the simulated Cell: the six observations of its section 2, the copies from memory to
// memory, strided buffers. The times of the figure are not in the text of the paper; they are properties of the
// test's report. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <string>

#include "effort.hpp"
#include "lab/collectives/dma_study.hpp"

namespace corewise::lab {
namespace {

using test::effort;

constexpr std::uint32_t kKb = 1024;
constexpr std::array<std::uint32_t, 6> kSizes = {16, 128, kKb, 4 * kKb, 16 * kKb, 64 * kKb};
constexpr std::array kWays = {DmaWay::put, DmaWay::get};
constexpr std::array kTargets = {DmaTarget::local_store, DmaTarget::other_local_store, DmaTarget::memory,
                                 DmaTarget::other_memory};

cell::Parameters blade() {
  cell::Parameters parameters;
  parameters.chips = 2;
  return parameters;
}

DmaTimes times(DmaWay way, DmaTarget target, std::uint32_t bytes, int spes = 1,
               std::uint32_t command_bytes = 16 * kKb) {
  const auto timed = time_dma(blade(), {way, target, bytes, command_bytes, spes, 20, 1});
  EXPECT_TRUE(timed.ok()) << timed.status().message();
  return timed.ok() ? timed.value() : DmaTimes{};
}

double copy_us(std::uint64_t bytes, std::uint32_t buffer_bytes, int buffers) {
  const auto ns = time_copy_ns(cell::Parameters{}, {bytes, buffer_bytes, buffers, 0, 0});
  EXPECT_TRUE(ns.ok()) << ns.status().message();
  return ns.ok() ? ns.value() / 1000 : 0;
}

double ppe_us(std::uint64_t bytes) {
  const auto ns = time_ppe_copy_ns(cell::Parameters{}, {bytes, kKb, 1, 0, 0});
  EXPECT_TRUE(ns.ok()) << ns.status().message();
  return ns.ok() ? ns.value() / 1000 : 0;
}

StridedTimes strided(DmaWay way, std::uint32_t block_bytes, bool list) {
  const auto timed = time_strided(cell::Parameters{}, {way, 16 * kKb, block_bytes, 2 * block_bytes, list});
  EXPECT_TRUE(timed.ok()) << timed.status().message();
  return timed.ok() ? timed.value() : StridedTimes{};
}

/// Observation i, and paper 000, section 2: a short transfer between local stores takes less than 100 ns, one to or
/// from memory about twice that.
TEST(DmaStudy, LocalStoresAreMuchFasterThanMainMemory) {
  for (const DmaWay way : kWays) {
    EXPECT_LT(times(way, DmaTarget::local_store, 128).mean_ns, 100);
    for (const std::uint32_t bytes : kSizes) {
      EXPECT_GT(times(way, DmaTarget::memory, bytes).mean_ns,
                1.7 * times(way, DmaTarget::local_store, bytes).mean_ns)
          << bytes;
    }
  }
  const double memory =
      (times(DmaWay::put, DmaTarget::memory, 128).mean_ns + times(DmaWay::get, DmaTarget::memory, 128).mean_ns) / 2;
  EXPECT_NEAR(memory / times(DmaWay::put, DmaTarget::local_store, 128).mean_ns, 2.0, 0.15 * 2.0);
}

/// Observation ii: the same 16 KB in smaller commands takes longer, wherever they go; in quadwords many times.
TEST(DmaStudy, ManySmallCommandsAreSlowerThanFewLongOnes) {
  for (const DmaWay way : kWays) {
    for (const DmaTarget target : kTargets) {
      const auto in_pieces = [&](std::uint32_t bytes) { return times(way, target, 16 * kKb, 1, bytes).mean_ns; };
      EXPECT_GT(in_pieces(64), 1.5 * in_pieces(16 * kKb));
      EXPECT_GT(in_pieces(16), 1.9 * in_pieces(64));
      EXPECT_GT(in_pieces(128), in_pieces(16 * kKb));
    }
    EXPECT_GT(times(way, DmaTarget::local_store, 16 * kKb, 1, 128).mean_ns,
              1.5 * times(way, DmaTarget::local_store, 16 * kKb).mean_ns);
  }
}

/// Observation iii.
TEST(DmaStudy, TheOtherChipOfABladeIsMuchFarther) {
  for (const DmaWay way : kWays) {
    for (const std::uint32_t bytes : kSizes) {
      EXPECT_GT(times(way, DmaTarget::other_local_store, bytes).mean_ns,
                3 * times(way, DmaTarget::local_store, bytes).mean_ns)
          << bytes;
      EXPECT_GT(times(way, DmaTarget::other_memory, bytes).mean_ns,
                1.7 * times(way, DmaTarget::memory, bytes).mean_ns)
          << bytes;
    }
  }
}

/// Observation iv: around 7 GB/s with memory, around 25 GB/s between SPEs.
TEST(DmaStudy, OneSpeMoves7GigabytesASecondToMemoryAnd25ToAnother) {
  for (const DmaWay way : kWays) {
    constexpr std::uint32_t kBytes = 64 * kKb;
    EXPECT_NEAR(times(way, DmaTarget::memory, kBytes).gb_per_s(kBytes), 7, 0.05 * 7);
    EXPECT_NEAR(times(way, DmaTarget::local_store, kBytes).gb_per_s(kBytes), 25, 0.05 * 25);
  }
}

/// Observations v and vi; paper 000: each of eight SPEs has less than 4 GB/s of the memory.
TEST(DmaStudy, CongestionRaisesTheLatencyAndItsVariance) {
  for (const DmaWay way : kWays) {
    for (const DmaTarget target : kTargets) {
      for (const std::uint32_t bytes : kSizes) {
        const DmaTimes alone = times(way, target, bytes), crowded = times(way, target, bytes, 8);
        if (bytes >= kKb) {
          EXPECT_GT(crowded.mean_ns, alone.mean_ns) << bytes;
          EXPECT_GT(crowded.deviation_ns, 2 * alone.deviation_ns) << bytes;
        }
        if (bytes >= 16 * kKb) {
          EXPECT_GT(crowded.mean_ns, 1.1 * alone.mean_ns) << bytes;
        }
      }
    }
    EXPECT_LT(times(way, DmaTarget::memory, 16 * kKb, 8).gb_per_s(16 * kKb), 4.0);
  }
}

TEST(DmaStudy, TheFigureIsInTheReport) {
  const std::array<std::string, 4> names = {"local_store", "other_local_store", "memory", "other_memory"};
  for (const DmaTarget target : kTargets) {
    for (const int spes : effort({1, 8, 16}, {8})) {
      for (const std::uint32_t bytes : kSizes) {
        const DmaTimes put = times(DmaWay::put, target, bytes, spes);
        const std::string name = "put_" + names[static_cast<std::size_t>(target)] + "_spes_" +
                                 std::to_string(spes) + "_bytes_" + std::to_string(bytes);
        RecordProperty(name + "_ns", std::to_string(put.mean_ns));
        RecordProperty(name + "_deviation_ns", std::to_string(put.deviation_ns));
        EXPECT_LE(put.least_ns, put.mean_ns);
        EXPECT_GE(put.most_ns, put.mean_ns);
      }
    }
  }
  for (const std::uint64_t bytes :
       effort({std::uint64_t{128}, std::uint64_t{16 * kKb}, std::uint64_t{1024 * kKb}}, {128, 16 * kKb})) {
    for (const std::uint32_t buffer : {kKb, 2 * kKb, 4 * kKb, 8 * kKb, 16 * kKb}) {
      for (const int buffers : {1, 2}) {
        const double us = copy_us(bytes, buffer, buffers);
        RecordProperty("copy_" + std::to_string(bytes) + "_by_" + std::to_string(buffers) + "x" +
                           std::to_string(buffer) + "_us",
                       std::to_string(us));
        EXPECT_GT(us, 0);
      }
    }
    RecordProperty("copy_" + std::to_string(bytes) + "_by_ppe_us", std::to_string(ppe_us(bytes)));
  }
}

/// Section 6.1: "double buffering yields a significant improvement". What it hides is the latency of each piece, so
/// it gains most with small buffers; the SPE's bandwidth to memory is the same in both.
TEST(DmaStudy, DoubleBufferingIsAheadOfSingle) {
  for (const std::uint64_t bytes : {64 * kKb, 256 * kKb, 1024 * kKb}) {
    for (const std::uint32_t buffer : {kKb, 2 * kKb, 4 * kKb, 8 * kKb, 16 * kKb}) {
      EXPECT_GT(copy_us(bytes, buffer, 1), 1.04 * copy_us(bytes, buffer, 2)) << bytes << " by " << buffer;
    }
    EXPECT_GT(copy_us(bytes, 4 * kKb, 1), 1.2 * copy_us(bytes, 4 * kKb, 2)) << bytes;
  }
}

/// Published elsewhere (Jimenez-Gonzalez, Martorell and Ramirez, ISPASS 2007, abstract): between local stores
/// commands of 1 KB and more nearly reach the peak. Smaller ones fall behind, one after the other.
TEST(DmaStudy, CommandsOfOneKilobyteNearlyReachThePeak) {
  for (const DmaWay way : kWays) {
    const double long_ones = times(way, DmaTarget::local_store, 64 * kKb).mean_ns;
    EXPECT_LT(times(way, DmaTarget::local_store, 64 * kKb, 1, kKb).mean_ns, 1.05 * long_ones);
    EXPECT_GT(times(way, DmaTarget::local_store, 64 * kKb, 1, 256).mean_ns, 1.5 * long_ones);
  }
}

/// Section 4: "buffers of 4 KB each would yield comparable performance" to 16 KB.
TEST(DmaStudy, BuffersOf4KilobytesAreAboutAsGoodAsOf16) {
  for (const std::uint64_t bytes : {16 * kKb, 64 * kKb, 256 * kKb, 1024 * kKb}) {
    const double large = copy_us(bytes, 16 * kKb, 2);
    EXPECT_NEAR(copy_us(bytes, 4 * kKb, 2), large, 0.05 * large) << bytes;
  }
}

/// Section 6.3.
TEST(DmaStudy, MemcpyOnThePpeIsMuchSlower) {
  for (const std::uint64_t bytes : {4 * kKb, 64 * kKb, 1024 * kKb}) {
    EXPECT_GT(ppe_us(bytes), 4 * copy_us(bytes, 16 * kKb, 2)) << bytes;
  }
}

/// What a list adds to a contiguous buffer: nothing to speak of while a block fills two lines of 128 bytes, a
/// little while it fills one, twice the time and more when each block is half a line or less. A list costs what
/// single commands do.
TEST(DmaStudy, StridedBuffersAddLatencyBelowALine) {
  for (const DmaWay way : kWays) {
    for (const std::uint32_t block : {128U, 256U, 1024U, 4096U}) {
      const StridedTimes list = strided(way, block, true);
      EXPECT_GT(list.added_ns(), 0) << block;
      EXPECT_LT(list.added_ns(), (block == 128 ? 0.12 : 0.03) * list.contiguous_ns) << block;
    }
    double least = 1.8;
    for (const std::uint32_t block : {64U, 32U, 16U}) {
      const StridedTimes list = strided(way, block, true), commands = strided(way, block, false);
      EXPECT_GT(list.strided_ns, least * list.contiguous_ns) << block;
      EXPECT_NEAR(list.strided_ns, commands.strided_ns, 0.05 * commands.strided_ns) << block;
      least *= 1.9;
      RecordProperty(std::string(way == DmaWay::put ? "putl" : "getl") + "_16_kb_in_blocks_of_" +
                         std::to_string(block) + "_added_ns",
                     std::to_string(list.added_ns()));
    }
  }
}

/// On every machine, any SPE's count; the same input gives the same result.
TEST(DmaStudy, IsAFunctionOfItsInput) {
  cell::Parameters ps3;
  ps3.usable[7] = ps3.usable[6] = false;
  const DmaCase crowded{DmaWay::put, DmaTarget::local_store, 4096, 1024, 6, 10, 7};
  EXPECT_EQ(time_dma(ps3, crowded).value().mean_ns, time_dma(ps3, crowded).value().mean_ns);
  DmaCase other = crowded;
  other.seed = 8;
  EXPECT_NE(time_dma(ps3, crowded).value().mean_ns, time_dma(ps3, other).value().mean_ns);
  EXPECT_GT(time_copy_ns(blade(), {kKb, kKb, 1, 0, 1}).value(), time_copy_ns(blade(), {kKb, kKb, 1, 0, 0}).value());
}

TEST(DmaStudy, NamesWhatCannotBe) {
  const cell::Parameters one;
  const auto message = [&](const DmaCase& asked) { return time_dma(one, asked).status().message(); };
  DmaCase asked;
  asked.bytes = 20;
  EXPECT_EQ(message(asked), "field 'bytes': found 20, allowed: multiples of 16 from 16 to 65536");
  asked = {};
  asked.command_bytes = 32 * kKb;
  EXPECT_EQ(message(asked), "field 'command_bytes': found 32768, allowed: multiples of 16 from 16 to 16384");
  asked = {};
  asked.spes = 9;
  EXPECT_EQ(message(asked), "field 'spes': found 9, allowed: 1 to 8");
  asked = {};
  asked.target = DmaTarget::other_memory;
  EXPECT_EQ(message(asked),
            "field 'target': found the other chip, allowed: local_store, memory: the machine has one chip");
  EXPECT_EQ(time_copy_ns(one, {kKb, kKb, 3, 0, 0}).status().message(), "field 'buffers': found 3, allowed: 1 to 2");
  EXPECT_EQ(time_copy_ns(one, {kKb, kKb, 1, 0, 1}).status().message(),
            "field 'to_memory': found 1, allowed: 0 to 0");
  EXPECT_EQ(time_strided(one, {DmaWay::get, 256, 128, 64, true}).status().message(),
            "field 'stride_bytes': found 64, allowed: at least block_bytes, 128");
  EXPECT_EQ(time_strided(one, {DmaWay::get, 256, 96, 128, true}).status().message(),
            "field 'bytes': found 256, allowed: multiples of block_bytes, 96");
}

}  // namespace
}  // namespace corewise::lab
