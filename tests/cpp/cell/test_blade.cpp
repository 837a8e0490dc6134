// The blade: two chips, two memories, the link between them; and the PS3's six SPEs.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/blade.hpp"
#include "cell/memory/target.hpp"
#include "cell/ppe/ppu.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

Parameters blade() {
  Parameters p;
  p.chips = 2;
  return p;
}

enum class Where { local_store, memory };

/// ns of one 128-byte command of SPE `spe` on something of chip `chip`.
double latency(int spe, Where what, int chip, bool put) {
  System system(blade());
  const EffectiveAddress memory = system.allocate(128, 128, chip);
  const EffectiveAddress ea = what == Where::memory ? memory : ls_address(chip * kSpesPerChip + 5);
  double ns = 0;
  system.run_on_spe(spe, "asker", [&](Spu& spu) {
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
}

/// Pages of 4 KB lie in the two memories by turns: half of the bytes go through each controller, and arrive whole.
TEST(Blade, InterleavedPagesLieInBothMemories) {
  constexpr std::uint32_t kBytes = 4 * kPageBytes;
  System system(blade());
  const EffectiveAddress from = system.allocate_interleaved(kBytes), to = system.allocate_interleaved(kBytes);
  const auto source = system.bytes(from, kBytes);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 5 + i / 256);
  system.run_on_spe(3, "copier", [from, to](Spu& spu) {
    spu.mfc_get(0, from, kBytes, 0);
    spu.mfc_putf(0, to, kBytes, 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  const auto target = system.bytes(to, kBytes);
  EXPECT_TRUE(std::equal(source.begin(), source.end(), target.begin()));
  for (const int memory : {0, 1}) {
    const MemoryStatistics& seen = system.memory(memory).controller().statistics();
    EXPECT_EQ(seen.read_bytes, kBytes / 2) << memory;
    EXPECT_EQ(seen.written_bytes, kBytes / 2) << memory;
  }
  EXPECT_EQ(locate(from).index, 0);
  EXPECT_EQ(locate(from + kPageBytes).index, 1);
}

TEST(Blade, InterleavedMemoryThatNobodyAllocatedIsAFault) {
  System system(blade());
  const EffectiveAddress some = system.allocate_interleaved(128);
  system.run_on_spe(0, "asker", [some](Spu& spu) { spu.mfc_get(0, some + 128, 128, 0); });
  EXPECT_NE(system.run().message().find("interleaved memory that was allocated"), std::string::npos);
}

TEST(Blade, WhatIsFurtherTakesLonger) {
  for (const bool put : {false, true}) {
    for (const int chip : {0, 1}) {
      SCOPED_TRACE(chip);
      const int spe = chip * kSpesPerChip;
      const double near_store = latency(spe, Where::local_store, chip, put);
      const double near_memory = latency(spe, Where::memory, chip, put);
      const double far_store = latency(spe, Where::local_store, 1 - chip, put);
      const double far_memory = latency(spe, Where::memory, 1 - chip, put);
      EXPECT_LT(near_store, near_memory);
      EXPECT_LT(near_memory, far_store);
      EXPECT_LT(far_store, far_memory);
    }
  }
}

/// GB/s of one SPE that streams 64 KB from or to SPE `other`'s local store.
double stream(int spe, int other, bool put) {
  System system(blade());
  double rate = 0;
  system.run_on_spe(spe, "stream", [&](Spu& spu) {
    const sim::Time begin = spu.now();
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (put) {
        spu.mfc_put(i * 16384, ls_address(other) + i * 16384, 16384, 0);
      } else {
        spu.mfc_get(i * 16384, ls_address(other) + i * 16384, 16384, 0);
      }
    }
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
    rate = 65536 / system.engine().to_ns(spu.now() - begin);
  });
  EXPECT_TRUE(system.run().ok());
  return rate;
}

TEST(Blade, ALineOfTheOtherChipTakesAbout480Nanoseconds) {
  // Sixteen lines per round trip (facts on paper 003: 4.28 GB/s are 478 ns), as the mean of both directions, since
  // one chip is nearer to the blade's address concentrator.
  for (const bool put : {false, true}) {
    const double mean = (stream(0, 8, put) + stream(8, 0, put)) / 2;
    EXPECT_NEAR(16 * 128 / mean, 480, 0.05 * 480) << put;
  }
}

TEST(Blade, TheLinkPassesItsRateEachWay) {
  // Eight SPEs of chip 1 get from eight of chip 0: 25.6 GB/s at most, and half of it over half a link.
  const auto sum = [](std::int64_t rate) {
    Parameters p = blade();
    p.bif_bytes_per_bus_cycle = rate;
    System system(p);
    sim::Time last = 0;
    for (int spe = 8; spe < 16; ++spe) {
      system.run_on_spe(spe, "getter", [&last, spe](Spu& spu) {
        for (std::uint32_t i = 0; i < 4; ++i) spu.mfc_get(i * 16384, ls_address(spe - 8) + i * 16384, 16384, 0);
        spu.mfc_write_tag_mask(1);
        spu.mfc_read_tag_status_all();
        last = std::max(last, spu.now());
      });
    }
    EXPECT_TRUE(system.run().ok());
    EXPECT_EQ(system.bif(0)->statistics().bytes_out, 8U * 65536U);
    EXPECT_EQ(system.bif(1)->statistics().bytes_out, 0U);
    EXPECT_EQ(system.bif(1)->statistics().reads, 8U * 512U);
    return 8 * 65536 / system.engine().to_ns(last);
  };
  const double full = sum(16), half = sum(8), quarter = sum(4);
  EXPECT_LT(full, 25.6);
  EXPECT_LT(half, 12.8);
  EXPECT_LT(quarter, 6.4);
  EXPECT_GT(quarter, 0.95 * 6.4);
  EXPECT_GT(half, 0.8 * 12.8);
  EXPECT_GT(full, half);
}

TEST(Blade, TwoMemoriesAreTwo) {
  System system(blade());
  const EffectiveAddress first = system.allocate(128, 128, 0), second = system.allocate(128, 128, 1);
  EXPECT_EQ(locate(first).offset, locate(second).offset);
  EXPECT_EQ(locate(first).index, 0);
  EXPECT_EQ(locate(second).index, 1);
  std::memset(system.bytes(first, 128).data(), 1, 128);
  std::memset(system.bytes(second, 128).data(), 2, 128);
  std::vector<std::byte> seen;
  for (const int spe : {0, 8}) {
    system.run_on_spe(spe, "reader", [&](Spu& spu) {
      spu.mfc_get(0, first, 128, 0);
      spu.mfc_get(128, second, 128, 0);
      spu.mfc_write_tag_mask(1);
      spu.mfc_read_tag_status_all();
      seen.push_back(spu.load<std::byte>(127));
      seen.push_back(spu.load<std::byte>(128));
    });
  }
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(seen, (std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{1}, std::byte{2}}));
}

TEST(Blade, DataCrossTheLinkBothWaysUnderContention) {
  System system(blade());
  constexpr std::uint32_t kArea = 32 * 1024;
  std::vector<EffectiveAddress> areas;
  std::vector<std::vector<std::byte>> images(16, std::vector<std::byte>(kArea));
  for (int spe = 0; spe < 16; ++spe) areas.push_back(system.allocate(kArea, 128, 1 - spe / kSpesPerChip));
  std::vector<int> wrong(16, 0);
  for (int spe = 0; spe < 16; ++spe) {
    system.run_on_spe(spe, "mover", [&, spe](Spu& spu) {
      Rng rng(static_cast<std::uint64_t>(spe + 1));
      const auto index = static_cast<std::size_t>(spe);
      std::vector<std::byte>& image = images[index];
      spu.mfc_write_tag_mask(1);
      for (int i = 0; i < 30; ++i) {
        const auto size = static_cast<std::uint32_t>(16 * (1 + rng.below(64)));
        const auto at = static_cast<std::uint32_t>(16 * rng.below((kArea - size) / 16));
        for (std::byte& byte : spu.ls(0, size)) byte = static_cast<std::byte>(rng.next());
        std::memcpy(image.data() + at, spu.ls(0, size).data(), size);
        // To the other chip's memory, and to the local store of the peer there.
        const EffectiveAddress peer = ls_address((spe + 8) % 16) + 0x10000;
        spu.mfc_put(0, areas[index] + at, size, 0);
        spu.mfc_put(0, peer + at, size, 0);
        spu.mfc_read_tag_status_all();
        spu.mfc_get(0x2000, areas[index] + at, size, 0);
        spu.mfc_get(0x3000, peer + at, size, 0);
        spu.mfc_read_tag_status_all();
        wrong[index] += std::memcmp(spu.ls(0x2000, size).data(), image.data() + at, size) != 0;
        wrong[index] += std::memcmp(spu.ls(0x3000, size).data(), image.data() + at, size) != 0;
      }
    });
  }
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(wrong, std::vector<int>(16, 0));
  for (std::size_t spe = 0; spe < 16; ++spe) {
    EXPECT_EQ(std::memcmp(system.bytes(areas[spe], kArea).data(), images[spe].data(), kArea), 0);
  }
}

TEST(Blade, AFencedFlagNeverOvertakesItsData) {
  // Data to the other chip's memory, whose tiny write queue refuses a lot; then, fenced, a flag to the local store
  // of an SPE there, which reads the data as soon as it sees the flag.
  Parameters p = blade();
  p.memory_write_queue = 1;
  System system(p);
  const EffectiveAddress area = system.allocate(4096, 128, 1);
  int stale = 0;
  constexpr std::uint32_t kRounds = 20;
  system.run_on_spe(0, "writer", [&](Spu& spu) {
    spu.mfc_write_tag_mask(1);
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      std::memset(spu.ls(0, 4096).data(), static_cast<int>(round), 4096);
      spu.store(0x2000, round);
      spu.mfc_put(0, area, 4096, 0);
      spu.mfc_putf(0x2000, ls_address(8) + 0x2000, 16, 0);
      spu.mfc_read_tag_status_all();
      spu.poll(0x2080, 4, [round](std::span<const std::byte> seen) { return seen[0] == std::byte(round); });
    }
  });
  system.run_on_spe(8, "reader", [&](Spu& spu) {
    spu.mfc_write_tag_mask(1);
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      spu.poll(0x2000, 4, [round](std::span<const std::byte> seen) { return seen[0] == std::byte(round); });
      spu.mfc_get(0, area, 4096, 0);
      spu.mfc_read_tag_status_all();
      for (const std::byte byte : spu.ls(0, 4096)) stale += byte != std::byte(round);
      spu.store(0x2080, round);
      spu.mfc_put(0x2080, ls_address(0) + 0x2080, 16, 0);
      spu.mfc_read_tag_status_all();
    }
  });
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(stale, 0);
}

TEST(Blade, SignalsReachTheOtherChip) {
  System system(blade());
  std::uint32_t got = 0;
  system.run_on_spe(12, "waiter", [&](Spu& spu) { got = spu.spu_read_signal1(); });
  system.run_on_spe(2, "signaller", [&](Spu& spu) {
    spu.store<std::uint32_t>(0x100C, 0xabcd1234);
    spu.mfc_sndsig(0x100C, register_address(12, kSignal1), 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
  });
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(got, 0xabcd1234U);
}

TEST(Blade, MoreRequestsThanTheLinkHoldsAreRefusedAndComeAgain) {
  Parameters p = blade();
  p.bif_requests = 2;
  System system(p);
  std::memset(system.bytes(ls_address(9), 16384).data(), 7, 16384);
  system.run_on_spe(0, "getter", [&](Spu& spu) {
    spu.mfc_get(0, ls_address(9), 16384, 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
    for (const std::byte byte : spu.ls(0, 16384)) ASSERT_EQ(byte, std::byte{7});
  });
  ASSERT_TRUE(system.run().ok());
  EXPECT_GT(system.bif(0)->statistics().refused, 0U);
}

TEST(PlayStation3, SixSpesMayBeUsed) {
  Parameters p;
  p.core_clock_ghz = 3.192;
  p.usable = {};
  for (const int spe : {0, 1, 2, 4, 5, 7}) p.usable[static_cast<std::size_t>(spe)] = true;
  System system(p);
  std::vector<int> given;
  bool seventh = true;
  system.run_on_ppe(0, "main", [&](Ppu& ppu) {
    for (int i = 0; i < 6; ++i) given.push_back(ppu.spe_context_create()->phys_id());
    seventh = ppu.spe_context_create() != nullptr;
  });
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(given, (std::vector<int>{0, 1, 2, 4, 5, 7}));
  EXPECT_FALSE(seventh);
  System refused(p);
  refused.run_on_spe(3, "nowhere", [](Spu&) {});
  EXPECT_FALSE(refused.run().ok());
}

}  // namespace
}  // namespace corewise::cell
