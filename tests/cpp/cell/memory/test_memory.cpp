// Main memory: the controller's timing against formulas written out here, data against a serial image, refusals on
// collisions made on purpose, and the published measurements that its parameters may be calibrated to.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/memory/memory.hpp"
#include "cell/memory/retry.hpp"
#include "cell/memory/target.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

// ---- the bytes ----

TEST(MemoryBytes, GivesOutAlignedZeroedRangesUntilItIsFull) {
  MemoryBytes memory(1 << 20);
  EXPECT_EQ(memory.allocate(100, 128), 0U);
  EXPECT_EQ(memory.allocate(1, 16), 112U);
  EXPECT_EQ(memory.allocate(4096, 4096), 4096U);
  EXPECT_TRUE(memory.holds(0, 8192));
  EXPECT_FALSE(memory.holds(8192, 1));
  EXPECT_FALSE(memory.holds(8191, 2));
  for (const std::byte byte : memory.at(0, 8192)) ASSERT_EQ(byte, std::byte{0});
  EXPECT_THROW(memory.allocate(1 << 20, 128), std::bad_alloc);
  EXPECT_THROW(memory.allocate(~std::uint64_t{0}, 128), std::bad_alloc);
  EXPECT_EQ(memory.allocate((1 << 20) - 8192, 128), 8192U);
}

// ---- the controller alone ----

struct Done {
  sim::Engine* engine;
  std::vector<sim::Time> times;
  static void at(void* self, std::uint64_t) {
    auto& done = *static_cast<Done*>(self);
    done.times.push_back(done.engine->now());
  }
};

struct Bench {
  explicit Bench(const Parameters& given = {}) : p(given), controller(engine, p), done{&engine, {}} {}
  bool read(std::uint64_t offset, std::uint32_t bytes = kLineBytes) {
    if (!controller.reserve_read(offset)) return false;
    controller.read(offset, bytes, {&Done::at, &done, 0});
    return true;
  }
  bool write(std::uint64_t offset, std::uint32_t bytes = kLineBytes) {
    if (!controller.reserve_write(offset)) return false;
    controller.write(offset, bytes);
    return true;
  }
  Parameters p;
  sim::Engine engine{0.3125};
  MemoryController controller;
  Done done;
};

TEST(MemoryController, EvenLinesAndOddLinesHaveDifferentChannelsAndSixteenLinesSixteenBanks) {
  Bench bench;
  for (std::uint64_t line = 0; line < 64; ++line) {
    EXPECT_EQ(bench.controller.channel_of(line * 128), static_cast<int>(line % 2));
    EXPECT_EQ(bench.controller.bank_of(line * 128 + 127), static_cast<int>(line % 16));
  }
}

TEST(MemoryController, OneReadTakesItsAccessAndItsBursts) {
  // 128 bytes at 12.8 GB/s are 10 ns: 32 cycles of 3.2 GHz; 16 bytes still are one burst of 64: 16 cycles.
  for (const auto& [bytes, burst] :
       {std::pair{128U, 32}, std::pair{16U, 16}, std::pair{64U, 16}, std::pair{80U, 32}}) {
    Bench bench;
    ASSERT_TRUE(bench.read(0, bytes));
    ASSERT_TRUE(bench.engine.run().ok());
    ASSERT_EQ(bench.done.times.size(), 1U);
    EXPECT_EQ(bench.done.times[0], bench.p.memory_access_cycles + burst) << bytes;
  }
}

TEST(MemoryController, LinesOfOneBankFollowAtItsRowCycle) {
  Bench bench;
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(bench.read(i * 16 * 128));
  ASSERT_TRUE(bench.engine.run().ok());
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(bench.done.times[i],
              static_cast<sim::Time>(i) * bench.p.memory_read_row_cycles + bench.p.memory_access_cycles + 32);
  }
}

TEST(MemoryController, LinesOfAllBanksFollowAtTheChannels) {
  Bench bench;
  for (std::uint64_t i = 0; i < 32; ++i) ASSERT_TRUE(bench.read(i * 128));
  ASSERT_TRUE(bench.engine.run().ok());
  // Sixteen lines on each of two channels, 32 cycles each: 25.6 GB/s together.
  EXPECT_EQ(bench.done.times.back(), 15 * 32 + bench.p.memory_access_cycles + 32);
}

TEST(MemoryController, ABusyBankIsPassedByALaterLineOfAnother) {
  Bench bench;
  ASSERT_TRUE(bench.read(0));
  ASSERT_TRUE(bench.read(16 * 128));  // the same bank
  ASSERT_TRUE(bench.read(2 * 128));   // the same channel, another bank
  ASSERT_TRUE(bench.engine.run().ok());
  const sim::Time first = bench.p.memory_access_cycles + 32;
  EXPECT_EQ(bench.done.times, (std::vector<sim::Time>{first, first + 32, first + bench.p.memory_read_row_cycles}));
  Parameters blind;
  blind.memory_scheduler_sight = 1;
  Bench in_order(blind);
  ASSERT_TRUE(in_order.read(0));
  ASSERT_TRUE(in_order.read(16 * 128));
  ASSERT_TRUE(in_order.read(2 * 128));
  ASSERT_TRUE(in_order.engine.run().ok());
  EXPECT_EQ(in_order.done.times.back(), first + blind.memory_read_row_cycles + 32);
}

TEST(MemoryController, QueuesAreFiniteAndEachChannelHasItsOwn) {
  Parameters p;
  p.memory_read_queue = 4;
  p.memory_write_queue = 3;
  Bench bench(p);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(bench.read(i * 256));
  EXPECT_FALSE(bench.read(4 * 256));
  EXPECT_TRUE(bench.read(128));
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(bench.write(i * 256));
  EXPECT_FALSE(bench.write(3 * 256));
  EXPECT_EQ(bench.controller.statistics().refused_reads, 1U);
  EXPECT_EQ(bench.controller.statistics().refused_writes, 1U);
  ASSERT_TRUE(bench.engine.run().ok());
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(bench.controller.reserve_read(i * 256));
  EXPECT_FALSE(bench.controller.reserve_read(0));
}

TEST(MemoryController, SmallWritesReadTheirLineFirst) {
  // 16 bytes are a masked write; less, or less than 128 with ECC (QS22), holds the bank for a read and a write.
  const auto second_start = [](std::int64_t masked, std::uint32_t bytes) {
    Parameters p;
    p.memory_masked_write_bytes = masked;
    Bench bench(p);
    EXPECT_TRUE(bench.write(0, bytes));
    EXPECT_TRUE(bench.write(16 * 128, 128));
    EXPECT_TRUE(bench.engine.run().ok());
    EXPECT_EQ(bench.controller.statistics().read_modify_writes,
              bytes < static_cast<std::uint32_t>(masked) ? 1U : 0U);
    return bench.engine.now() - p.memory_write_row_cycles;  // both events of a write: its start and its end
  };
  const Parameters p;
  const sim::Time turn = p.memory_read_to_write_cycles;
  EXPECT_EQ(second_start(16, 16), turn + p.memory_write_row_cycles);
  EXPECT_EQ(second_start(16, 8), turn + p.memory_write_row_cycles + p.memory_read_row_cycles);
  EXPECT_EQ(second_start(128, 16), turn + p.memory_write_row_cycles + p.memory_read_row_cycles);
  EXPECT_EQ(second_start(128, 128), turn + p.memory_write_row_cycles);
}

TEST(MemoryController, WritesGatherWhileReadsWaitAndATurnIsPaidOncePerBatch) {
  Bench bench;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(bench.read(i * 256));
    ASSERT_TRUE(bench.write(i * 256 + 256 * 64));
  }
  ASSERT_TRUE(bench.engine.run().ok());
  // Ten writes are below the high mark: all reads first, then one turn.
  EXPECT_EQ(bench.controller.statistics().turnarounds, 1U);
  Bench many;
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(many.read(i * 256));
    ASSERT_TRUE(many.write(i * 256 + 256 * 64));
  }
  ASSERT_TRUE(many.engine.run().ok());
  // Twenty are above it: to writes, back at the low mark, to the last writes when no read is left.
  EXPECT_EQ(many.controller.statistics().turnarounds, 3U);
}

TEST(MemoryController, RefreshTakesBanksInTurn) {
  Parameters p;
  p.memory_refresh_interval_cycles = 1000;
  p.memory_refresh_cycles = 500;
  Bench bench(p);
  bench.engine.spawn("asker", [&bench] {
    bench.engine.sleep(1000);  // bank 0 is refreshed at 1000, bank 1 at 2000
    bench.read(0);
    bench.read(128);
  });
  ASSERT_TRUE(bench.engine.run().ok());
  EXPECT_EQ(bench.done.times,
            (std::vector<sim::Time>{1000 + p.memory_access_cycles + 32, 1500 + p.memory_access_cycles + 32}));
}

// ---- with SPEs ----

/// GB/s of `spes` that each move `pieces` of 16 KB between their local stores and memory, four tags in flight.
struct Stream {
  double sum = 0, fastest = 0;
};
Stream stream(const Parameters& p, int spes, bool put, int pieces = 40, std::uint64_t stride = 16384) {
  System system(p);
  std::vector<EffectiveAddress> areas;
  for (int spe = 0; spe < spes; ++spe) areas.push_back(system.allocate(stride * 8 + 16384));
  std::vector<double> rates;
  sim::Time last = 0;
  for (int spe = 0; spe < spes; ++spe) {
    system.run_on_spe(spe, "stream", [&, area = areas[static_cast<std::size_t>(spe)]](Spu& spu) {
      const sim::Time begin = spu.now();
      for (int i = 0; i < pieces; ++i) {
        const auto tag = static_cast<std::uint32_t>(i % 4);
        spu.mfc_write_tag_mask(1U << tag);
        spu.mfc_read_tag_status_all();
        const EffectiveAddress ea = area + static_cast<std::uint64_t>(i % 8) * stride;
        if (put) {
          spu.mfc_put(tag * 16384, ea, 16384, tag);
        } else {
          spu.mfc_get(tag * 16384, ea, 16384, tag);
        }
      }
      spu.mfc_write_tag_mask(0xf);
      spu.mfc_read_tag_status_all();
      rates.push_back(pieces * 16384.0 / system.engine().to_ns(spu.now() - begin));
      last = std::max(last, spu.now());
    });
  }
  EXPECT_TRUE(system.run().ok());
  Stream result;
  for (const double rate : rates) result.fastest = std::max(result.fastest, rate);
  result.sum = spes * pieces * 16384.0 / system.engine().to_ns(last);
  return result;
}

TEST(Memory, OneSpeIsLimitedByItsCreditsOrByItsOutstandingLines) {
  const Parameters p;
  const double by_credits =
      static_cast<double>(p.memory_unit_slots) * 128 / (static_cast<double>(p.memory_slot_cycles) * 0.3125);
  EXPECT_NEAR(stream(p, 1, false).sum, by_credits, 0.02 * by_credits);
  EXPECT_NEAR(stream(p, 1, true).sum, by_credits, 0.02 * by_credits);
  // Without credits: 16 lines of 128 bytes per round trip. The trip, step by step: command, snoopers, front of the
  // controller, DRAM, one hop (the MIC is SPE0's neighbour) and eight beats, the place free again.
  Parameters free = p;
  free.memory_unit_slots = 0;
  const auto trip = static_cast<double>(p.command_send_cycles + p.command_snoop_cycles + p.memory_slot_cycles +
                                        p.memory_access_cycles + 32 + (1 + 8) * 2 + p.mfc_credit_cycles);
  const double by_lines = 16 * 128 / (trip * 0.3125);
  const double got = stream(free, 1, false).sum;
  EXPECT_LT(got, by_lines * 1.01);
  EXPECT_GT(got, by_lines * 0.93);
}

TEST(Memory, MeasuredBandwidthsOfTheCalibrationSet) {
  const Parameters p;
  EXPECT_NEAR(stream(p, 1, false).sum, 7.0, 0.35);  // paper 001, section 2: around 7 GB/s
  const Stream eight = stream(p, 8, false);
  EXPECT_LT(eight.sum, 25.6);
  EXPECT_LT(eight.fastest, 4.0);  // paper 000: each less than 4 GB/s
  EXPECT_GT(eight.sum, 0.85 * 25.6);
  Parameters ps3;
  ps3.core_clock_ghz = 3.192;
  EXPECT_NEAR(stream(ps3, 6, false).sum, 22.83, 0.05 * 22.83);  // public: six SPEs of a PS3
  const Stream writes = stream(p, 8, true);
  EXPECT_GT(writes.sum, 0.75 * 25.6);
  EXPECT_LT(writes.sum, 25.6);
}

TEST(Memory, LinesOfOneBankAloneAreMuchSlower) {
  // Lines 2 KB apart share a bank: 128 bytes per row cycle of 40 ns.
  System system{Parameters{}};
  const EffectiveAddress area = system.allocate(64 * 2048);
  double rate = 0;
  system.run_on_spe(3, "strider", [&](Spu& spu) {
    const sim::Time begin = spu.now();
    for (std::uint32_t i = 0; i < 64; ++i) spu.mfc_get(i * 128, area + i * 2048, 128, 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
    rate = 64 * 128 / system.engine().to_ns(spu.now() - begin);
  });
  ASSERT_TRUE(system.run().ok());
  EXPECT_NEAR(rate, 128 / 40.0, 0.1 * 128 / 40.0);
}

TEST(Memory, ShortLatencyIsAboutTwiceThatBetweenLocalStores) {
  const auto latency = [](bool memory, bool put) {
    System system{Parameters{}};
    const EffectiveAddress ea = memory ? system.allocate(128) : ls_address(5);
    double ns = 0;
    system.run_on_spe(0, "asker", [&](Spu& spu) {
      const sim::Time begin = spu.now();
      if (put) {
        spu.mfc_put(0, ea, 128, 0);
      } else {
        spu.mfc_get(0, ea, 128, 0);
      }
      spu.mfc_write_tag_mask(1);
      spu.mfc_read_tag_status_all();
      ns = system.engine().to_ns(spu.now() - begin);
    });
    EXPECT_TRUE(system.run().ok());
    return ns;
  };
  EXPECT_LT(latency(false, false), 100);
  EXPECT_NEAR(latency(true, false), 2 * latency(false, false), 0.25 * 2 * latency(false, false));
  EXPECT_NEAR(latency(true, true), 2 * latency(false, true), 0.25 * 2 * latency(false, true));
}

TEST(Memory, DataOfEightSpesUnderContentionEqualASerialImage) {
  System system{Parameters{}};
  constexpr std::uint32_t kArea = 64 * 1024;
  std::vector<EffectiveAddress> areas;
  std::vector<std::vector<std::byte>> images(8, std::vector<std::byte>(kArea));
  for (int spe = 0; spe < 8; ++spe) areas.push_back(system.allocate(kArea));
  std::vector<int> wrong(8, 0);
  for (int spe = 0; spe < 8; ++spe) {
    system.run_on_spe(spe, "mover", [&, spe](Spu& spu) {
      Rng rng(static_cast<std::uint64_t>(100 + spe));
      std::vector<std::byte>& image = images[static_cast<std::size_t>(spe)];
      const EffectiveAddress area = areas[static_cast<std::size_t>(spe)];
      spu.mfc_write_tag_mask(1);
      for (int i = 0; i < 60; ++i) {
        const auto size = static_cast<std::uint32_t>(16 * (1 + rng.below(i % 3 == 0 ? 64 : 7)));
        const auto at = static_cast<std::uint32_t>(16 * rng.below((kArea - size) / 16));
        for (std::byte& byte : spu.ls(0, size)) byte = static_cast<std::byte>(rng.next());
        std::memcpy(image.data() + at, spu.ls(0, size).data(), size);
        spu.mfc_put(0, area + at, size, 0);
        spu.mfc_read_tag_status_all();
        const auto size2 = static_cast<std::uint32_t>(16 * (1 + rng.below(64)));
        const auto at2 = static_cast<std::uint32_t>(16 * rng.below((kArea - size2) / 16));
        spu.mfc_get(0x8000, area + at2, size2, 0);
        spu.mfc_read_tag_status_all();
        if (std::memcmp(spu.ls(0x8000, size2).data(), image.data() + at2, size2) != 0) {
          ++wrong[static_cast<std::size_t>(spe)];
        }
      }
    });
  }
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
  for (std::size_t spe = 0; spe < 8; ++spe) {
    EXPECT_EQ(std::memcmp(system.bytes(areas[spe], kArea).data(), images[spe].data(), kArea), 0) << spe;
  }
}

// ---- conflicts and RETRY ----

/// Two SPEs meet on a line (or on two lines) at one time. The refusals on the first line.
std::uint64_t collide(const Parameters& p, bool first_writes, bool second_writes, bool same_line,
                      std::uint64_t* of_second = nullptr) {
  System system(p);
  const EffectiveAddress line = system.allocate(256);
  const auto program = [line](bool writes, std::uint64_t offset) {
    return [=](Spu& spu) {
      if (writes) {
        spu.mfc_put(0, line + offset, 16, 0);
      } else {
        spu.mfc_get(0, line + offset, 16, 0);
      }
      spu.mfc_write_tag_mask(1);
      spu.mfc_read_tag_status_all();
    };
  };
  system.run_on_spe(0, "first", program(first_writes, 0));
  system.run_on_spe(1, "second", program(second_writes, same_line ? 16 : 128));
  EXPECT_TRUE(system.run().ok());
  EXPECT_EQ(system.retries().total(), system.memory(0).statistics().conflicts);
  if (of_second != nullptr) *of_second = system.retries().retries_of(0, kSpeStop[1]);
  return system.retries().total();
}

TEST(Retry, ACommandOnALineInUseIsRefusedWhenOneOfTheTwoWrites) {
  const Parameters p;
  std::uint64_t of_second = 0;
  EXPECT_EQ(collide(p, false, false, true), 0U);
  EXPECT_GT(collide(p, true, false, true, &of_second), 0U);
  EXPECT_EQ(of_second, collide(p, true, false, true));
  EXPECT_GT(collide(p, false, true, true), 0U);
  EXPECT_GT(collide(p, true, true, true), 0U);
  EXPECT_EQ(collide(p, true, true, false), 0U);
  Parameters off = p;
  off.line_conflicts = 0;
  EXPECT_EQ(collide(off, true, true, true), 0U);
}

TEST(Retry, TheNumberOfRefusalsFollowsFromTheTimes) {
  // Two writes whose commands come one bus cycle apart. The first holds the line for its credit, from its data's
  // sending to their arrival; the second comes again every back-off and command phase.
  Parameters p;
  p.retry_cycles = 50;
  const std::int64_t period = p.retry_cycles + p.command_send_cycles + p.command_snoop_cycles;
  const std::int64_t least = p.memory_slot_cycles + 8 * kBusCycle;  // and hops, a slot of a ring, the local store
  const std::int64_t most = least + 6 * kBusCycle + 8 * kBusCycle + p.local_store_read_cycles + 8;
  const auto refused = static_cast<std::int64_t>(collide(p, true, true, true));
  EXPECT_GE(refused * period, least - period);
  EXPECT_LE((refused - 1) * period, most);
}

TEST(Retry, BackOffIsFixedOrGrowsToItsLimit) {
  Parameters p;
  System system(p);
  BusRequest request;
  request.eib = &system.eib(0);
  request.stop = 3;
  request.ea = kMemoryBase + 300;
  const auto delays = [&request](const Parameters& given) {
    BackoffRetry retry(given);
    std::vector<sim::Time> result;
    for (request.retries = 1; request.retries <= 6; ++request.retries) result.push_back(retry.delay(request));
    EXPECT_EQ(retry.total(), 6U);
    EXPECT_EQ(retry.retries_of(0, 3), 6U);
    EXPECT_EQ(retry.retries_of(0, 4), 0U);
    return result;
  };
  p.retry_cycles = 100;
  EXPECT_EQ(delays(p), std::vector<sim::Time>(6, 100));
  p.retry_growth_percent = 200;
  p.retry_max_cycles = 1000;
  EXPECT_EQ(delays(p), (std::vector<sim::Time>{100, 200, 400, 800, 1000, 1000}));
}

TEST(Retry, FullQueuesRefuseAndEverythingStillArrives) {
  Parameters p;
  p.memory_read_queue = 2;
  p.memory_write_queue = 2;
  System system(p);
  const EffectiveAddress area = system.allocate(8 * 16384);
  for (std::size_t i = 0; i < 8 * 16384; ++i)
    system.bytes(area, 8 * 16384)[i] = static_cast<std::byte>(i * 31 >> 3);
  const std::vector<std::byte> before(system.bytes(area, 8 * 16384).begin(), system.bytes(area, 8 * 16384).end());
  for (int spe = 0; spe < 8; ++spe) {
    system.run_on_spe(spe, "mover", [area, spe](Spu& spu) {
      const EffectiveAddress own = area + static_cast<std::uint64_t>(spe) * 16384;
      spu.mfc_get(0, own, 16384, 0);
      spu.mfc_putf(0, own, 16384, 0);
      spu.mfc_write_tag_mask(1);
      spu.mfc_read_tag_status_all();
    });
  }
  ASSERT_TRUE(system.run().ok());
  EXPECT_GT(system.memory(0).statistics().full_queues, 0U);
  EXPECT_EQ(system.memory(0).statistics().full_queues, system.retries().total());
  EXPECT_EQ(std::memcmp(system.bytes(area, 8 * 16384).data(), before.data(), before.size()), 0);
}

TEST(Retry, ARefusalAfterTheSlotCountsToo) {
  // One place for reads and a DRAM that takes long: the second read of the channel is refused after its slot, again
  // and again, and its policy must see how often.
  struct Counts final : RetryPolicy {
    sim::Time delay(const BusRequest& request) override {
      seen.push_back(request.retries);
      return 1000;
    }
    std::vector<std::int32_t> seen;
  } policy;
  struct Asker final : BusRequester {
    void delivered(BusRequest&) override { ++count; }
    int count = 0;
  } asker;
  Parameters p;
  p.memory_read_queue = 1;
  p.memory_access_cycles = 4000;
  sim::Engine engine(0.3125);
  Eib eib(engine, p, 0);
  MemoryBytes bytes(1 << 20);
  const std::uint64_t first = bytes.allocate(4096, 128);
  CoherentLines lines(4);
  MemoryTarget memory(eib, 0, bytes, lines, policy);
  eib.set_retry_policy(&policy);
  std::array<std::byte, 128> data{};
  std::array<BusRequest, 2> reads;
  for (std::size_t i = 0; i < 2; ++i) {
    reads[i].stop = static_cast<std::uint8_t>(kSpeStop[i]);
    reads[i].bytes = 128;
    reads[i].ea = kMemoryBase + first + i * 256;
    reads[i].data = data.data();
    reads[i].requester = &asker;
    eib.issue(reads[i]);
  }
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(asker.count, 2);
  ASSERT_GE(policy.seen.size(), 3U);
  for (std::size_t i = 0; i < policy.seen.size(); ++i) EXPECT_EQ(policy.seen[i], static_cast<std::int32_t>(i + 1));
}

}  // namespace
}  // namespace corewise::cell
