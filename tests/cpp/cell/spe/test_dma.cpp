// DMA between local stores as programs see it: the bytes against a serial reference, latency, order, waiting.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/spe/mfc.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

void fill_random(System& system, int spe, std::uint64_t seed) {
  Rng rng(seed);
  for (std::byte& one : system.bytes(ls_address(spe), kLocalStoreBytes)) one = static_cast<std::byte>(rng.next());
}

std::vector<std::byte> image(System& system, int spe) {
  const std::span<std::byte> all = system.bytes(ls_address(spe), kLocalStoreBytes);
  return {all.begin(), all.end()};
}

void wait_all(Spu& spu, std::uint32_t mask) {
  spu.mfc_write_tag_mask(mask);
  EXPECT_EQ(spu.mfc_read_tag_status_all(), mask);
}

std::vector<std::uint32_t> all_sizes() {
  std::vector<std::uint32_t> sizes = {1, 2, 4, 8};
  for (std::uint32_t size = 16; size <= 256; size += 16) sizes.push_back(size);
  for (const std::uint32_t quadwords : {17U, 33U, 127U, 255U, 511U, 1023U, 1024U}) sizes.push_back(quadwords * 16);
  return sizes;
}

struct Copy {
  std::uint32_t here, there, size;
};

/// Every size at every alignment it may have within a line, one after the other through the local store.
std::vector<Copy> all_copies() {
  std::vector<Copy> copies;
  for (const std::uint32_t size : all_sizes()) {
    const std::uint32_t step = std::min(size, 16U);
    for (std::uint32_t offset = 0; offset < 128; offset += step) {
      const std::uint32_t other = size < 16 ? (offset + 48) % 128 : (offset * 5 + 16) % 128;
      copies.push_back({4096 + offset, 65536 + other, size});
    }
  }
  return copies;
}

TEST(SpuDma, PutsEverySizeAtEveryAlignment) {
  System system{Parameters{}};
  fill_random(system, 0, 1);
  fill_random(system, 5, 2);
  const std::vector<std::byte> mine = image(system, 0);
  std::vector<std::byte> expected = image(system, 5);
  system.run_on_spe(0, "putter", [&](Spu& spu) {
    for (const Copy& copy : all_copies()) {
      spu.mfc_put(copy.here, ls_address(5) + copy.there, copy.size, 3);
      wait_all(spu, 1U << 3);
      std::copy_n(mine.begin() + copy.here, copy.size, expected.begin() + copy.there);
      const std::span<std::byte> got = system.bytes(ls_address(5) + copy.there - 64, copy.size + 128);
      ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + copy.there - 64))
          << copy.size << " bytes from " << copy.here << " to " << copy.there;
    }
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(image(system, 5) == expected);
  EXPECT_TRUE(image(system, 0) == mine);
}

TEST(SpuDma, GetsEverySizeAtEveryAlignment) {
  System system{Parameters{}};
  fill_random(system, 2, 3);
  fill_random(system, 7, 4);
  const std::vector<std::byte> theirs = image(system, 7);
  std::vector<std::byte> expected = image(system, 2);
  system.run_on_spe(2, "getter", [&](Spu& spu) {
    for (const Copy& copy : all_copies()) {
      spu.mfc_get(copy.here, ls_address(7) + copy.there, copy.size, 31);
      wait_all(spu, 1U << 31);
      std::copy_n(theirs.begin() + copy.there, copy.size, expected.begin() + copy.here);
      const std::span<std::byte> got = system.bytes(ls_address(2) + copy.here - 64, copy.size + 128);
      ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + copy.here - 64))
          << copy.size << " bytes from " << copy.there << " to " << copy.here;
    }
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(image(system, 2) == expected);
  EXPECT_TRUE(image(system, 7) == theirs);
}

TEST(SpuDma, ALineArrivesAsAWhole) {
  // Two writers put lines of equal bytes to one place while a reader gets it: it never sees a mixture.
  System system{Parameters{}};
  const auto uniform = [](std::span<const std::byte> line) {
    return std::all_of(line.begin(), line.end(), [&](std::byte one) { return one == line.front(); });
  };
  for (int writer = 0; writer < 2; ++writer) {
    system.run_on_spe(writer, "writer", [writer](Spu& spu) {
      spu.mfc_write_tag_mask(1);
      for (int turn = 0; turn < 200; ++turn) {
        for (std::byte& one : spu.ls(0, 128)) one = static_cast<std::byte>(2 * turn + writer);
        spu.mfc_put(0, ls_address(5) + 1024, 128, 0);
        (void)spu.mfc_read_tag_status_all();
      }
    });
  }
  int changes = 0;
  system.run_on_spe(4, "reader", [&](Spu& spu) {
    spu.mfc_write_tag_mask(1);
    std::byte last{};
    for (int turn = 0; turn < 300; ++turn) {
      spu.mfc_get(0, ls_address(5) + 1024, 128, 0);
      (void)spu.mfc_read_tag_status_all();
      ASSERT_TRUE(uniform(spu.ls(0, 128))) << turn;
      changes += spu.ls(0, 1)[0] != last ? 1 : 0;
      last = spu.ls(0, 1)[0];
    }
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(changes, 100);
}

/// Stops between two SPEs on the ring PPE 1 3 5 7 IOIF1 IOIF0 6 4 2 0 MIC, the shorter way.
int hops_between(int a, int b) {
  constexpr std::array<int, 8> kPlace = {10, 1, 9, 2, 8, 3, 7, 4};
  const int apart = std::abs(kPlace[static_cast<std::size_t>(a)] - kPlace[static_cast<std::size_t>(b)]);
  return std::min(apart, 12 - apart);
}

/// From the call of a DMA of one line to the end of the wait for it, the mean over many starting points, as the
/// phase of the rings' slots differs.
double dma_ns(int from, int to, bool get, std::uint32_t size) {
  System system{Parameters{}};
  constexpr int kTries = 64;
  sim::Time total = 0;
  system.run_on_spe(from, "measurer", [&](Spu& spu) {
    spu.mfc_write_tag_mask(1);
    for (int turn = 0; turn < kTries; ++turn) {
      spu.spu_cycles(100 + turn);
      const sim::Time begin = spu.now();
      if (get) {
        spu.mfc_get(0, ls_address(to) + 4096, size, 0);
      } else {
        spu.mfc_put(0, ls_address(to) + 4096, size, 0);
      }
      (void)spu.mfc_read_tag_status_all();
      total += spu.now() - begin;
    }
  });
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  return system.engine().to_ns(total) / kTries;
}

TEST(SpuDma, ShortMessagesCostTheSameForEveryPairButForTheHops) {
  constexpr double kHopNs = 0.625;
  for (const bool get : {true, false}) {
    const double base = dma_ns(0, 2, get, 128) - kHopNs * hops_between(0, 2);
    for (int from = 0; from < 8; ++from) {
      for (int to = 0; to < 8; ++to) {
        if (from == to) continue;
        SCOPED_TRACE(std::to_string(from) + (get ? " gets from " : " puts to ") + std::to_string(to));
        const double ns = dma_ns(from, to, get, 128);
        EXPECT_LT(ns, 100);
        EXPECT_NEAR(ns, base + kHopNs * hops_between(from, to), 4 * 0.625);  // a ring starts one packet in 4 cycles
      }
    }
  }
}

TEST(SpuDma, ShortMessagesOfAnySizeStayUnderAHundredNs) {
  for (const std::uint32_t size : {1U, 4U, 16U, 64U, 128U}) EXPECT_LT(dma_ns(0, 7, false, size), 100) << size;
}

/// Half the round trip of a 16-byte flag, put by the sender and polled by the receiver.
double one_way_ns(int from, int to) {
  System system{Parameters{}};
  constexpr std::uint32_t kTrips = 50;
  sim::Time begin = 0, end = 0;
  const auto player = [&](int peer, bool first) {
    return [&, peer, first](Spu& spu) {
      spu.mfc_write_tag_mask(1);
      for (std::uint32_t trip = 1; trip <= kTrips; ++trip) {
        const auto arrived = [&](std::span<const std::byte>) { return spu.load<std::uint32_t>(128) == trip; };
        if (first && trip == 2) begin = spu.now();
        if (!first) spu.poll(128, 4, arrived);
        spu.store(256, trip);
        spu.mfc_put(256, ls_address(peer) + 128, 16, 0);
        if (first) spu.poll(128, 4, arrived);
        (void)spu.mfc_read_tag_status_all();
      }
      if (first) end = spu.now();
    };
  };
  system.run_on_spe(from, "first", player(to, true));
  system.run_on_spe(to, "second", player(from, false));
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  return system.engine().to_ns(end - begin) / (2 * (kTrips - 1));
}

TEST(SpuDma, AFlagTravelsInUnderAHundredNs) {
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from == to) continue;
      SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
      const double ns = one_way_ns(from, to);
      EXPECT_GT(ns, 20);
      EXPECT_LT(ns, 100);
    }
  }
}

}  // namespace
}  // namespace corewise::cell
