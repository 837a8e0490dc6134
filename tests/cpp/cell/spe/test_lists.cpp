// DMA lists: gathering and scattering against a serial reference, elements of less than a quadword, stall and
// notify. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/spe/mfc.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

constexpr LsAddress kList = 0x1000;  // 2048 elements end at 0x5000
constexpr LsAddress kData = 0x10000;
constexpr EffectiveAddress kHigh = ls_address(0) & ~EffectiveAddress{0xffffffff};

using Image = std::vector<std::byte>;

Image image(System& system, int spe) {
  const std::span<std::byte> all = system.bytes(ls_address(spe), kLocalStoreBytes);
  return {all.begin(), all.end()};
}

void fill_random(System& system, int spe, std::uint64_t seed) {
  Rng rng(seed);
  for (std::byte& one : system.bytes(ls_address(spe), kLocalStoreBytes)) one = static_cast<std::byte>(rng.next());
}

void write_list(System& system, int spe, const std::vector<MfcListElement>& list) {
  std::memcpy(system.bytes(ls_address(spe) + kList, list.size() * 8).data(), list.data(), list.size() * 8);
}

MfcListElement element(EffectiveAddress ea, std::uint32_t size, bool notify = false) {
  return {static_cast<std::uint16_t>(notify), static_cast<std::uint16_t>(size), static_cast<std::uint32_t>(ea)};
}

/// What a list does, byte by byte: every element at the quadword after the one before, with the low four bits of
/// its effective address.
void replay(const std::vector<MfcListElement>& list, bool get, LsAddress ls, Image& mine, Image& theirs, int peer) {
  for (const MfcListElement& one : list) {
    const std::size_t there = (kHigh | one.eal) - ls_address(peer);
    const std::size_t here = ls + one.eal % 16;
    for (std::size_t i = 0; i < one.size; ++i) {
      if (get) {
        mine[here + i] = theirs[there + i];
      } else {
        theirs[there + i] = mine[here + i];
      }
    }
    if (one.size != 0) ls = static_cast<LsAddress>((here + one.size + 15) / 16 * 16);
  }
}

/// Elements of random legal sizes at random places of SPE `peer` that do not overlap.
std::vector<MfcListElement> random_list(Rng& rng, int peer, std::size_t count) {
  std::vector<MfcListElement> list;
  EffectiveAddress ea = ls_address(peer) + 256;
  for (std::size_t i = 0; i < count; ++i) {
    const bool small = rng.below(3) == 0;
    const auto size = static_cast<std::uint32_t>(small ? 1U << rng.below(4) : 16 * rng.below(12));
    ea = (ea + 15) / 16 * 16 + rng.below(4) * 16;
    if (small) ea += size * rng.below(16 / size);
    list.push_back(element(ea, size));
    ea += size;
  }
  return list;
}

void run_list(bool get, std::uint64_t seed, std::size_t count) {
  Parameters parameters;
  parameters.mfc_shuffle_seed = static_cast<std::int64_t>(seed);
  System system(parameters);
  fill_random(system, 3, seed);
  fill_random(system, 4, seed + 1000);
  Rng rng(seed);
  const std::vector<MfcListElement> list = random_list(rng, 4, count);
  write_list(system, 3, list);
  Image mine = image(system, 3), theirs = image(system, 4);
  replay(list, get, kData, mine, theirs, 4);
  system.run_on_spe(3, "lister", [&](Spu& spu) {
    const auto bytes = static_cast<std::uint32_t>(count * 8);
    if (get) {
      spu.mfc_getl(kData, kHigh, kList, bytes, 9);
    } else {
      spu.mfc_putl(kData, kHigh, kList, bytes, 9);
    }
    spu.mfc_write_tag_mask(1U << 9);
    EXPECT_EQ(spu.mfc_read_tag_status_all(), 1U << 9);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(image(system, 3) == mine);
  EXPECT_TRUE(image(system, 4) == theirs);
}

TEST(SpuLists, GatherAsTheSerialReference) {
  for (const std::size_t count : {1U, 2U, 3U, 8U, 33U, 100U, 500U}) run_list(true, count, count);
}

TEST(SpuLists, ScatterAsTheSerialReference) {
  for (const std::size_t count : {1U, 2U, 3U, 8U, 33U, 100U, 500U}) run_list(false, count, count);
}

TEST(SpuLists, TakeTheirMostElementsAndOneQueueEntry) {
  System system{Parameters{}};
  std::vector<MfcListElement> list;
  for (std::uint32_t i = 0; i < kMaxListElements; ++i) list.push_back(element(ls_address(1) + 65536 + i * 32, 16));
  write_list(system, 0, list);
  for (std::uint32_t i = 0; i < kMaxListElements; ++i) {
    std::memcpy(system.bytes(ls_address(1) + 65536 + i * 32, 4).data(), &i, 4);
  }
  system.run_on_spe(0, "lister", [&](Spu& spu) {
    spu.mfc_getl(kData, kHigh, kList, kMaxListElements * 8, 0);
    EXPECT_EQ(spu.mfc_stat_cmd_queue(), 15u);
    spu.mfc_write_tag_mask(1);
    (void)spu.mfc_read_tag_status_all();
    EXPECT_EQ(spu.mfc_stat_cmd_queue(), 16u);
    for (std::uint32_t i = 0; i < kMaxListElements; ++i) {
      ASSERT_EQ(spu.load<std::uint32_t>(kData + i * 16), i);
    }
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(system.spe(0).mfc().statistics().list_elements, kMaxListElements);
}

TEST(SpuLists, AnEmptyListCompletes) {
  System system{Parameters{}};
  system.run_on_spe(0, "lister", [&](Spu& spu) {
    spu.mfc_putl(kData, kHigh, kList, 0, 0);
    spu.mfc_write_tag_mask(1);
    EXPECT_EQ(spu.mfc_read_tag_status_all(), 1u);
  });
  EXPECT_TRUE(system.run().ok());
}

TEST(SpuLists, OneOfManyElementsTakesLongerThanOneTransferOfAllBytes) {
  const auto duration = [](bool list) {
    System system{Parameters{}};
    sim::Time total = 0;
    std::vector<MfcListElement> elements(64, element(ls_address(1), 16));
    write_list(system, 0, elements);
    system.run_on_spe(0, "lister", [&](Spu& spu) {
      spu.mfc_write_tag_mask(1);
      const sim::Time begin = spu.now();
      if (list) {
        spu.mfc_getl(kData, kHigh, kList, 64 * 8, 0);
      } else {
        spu.mfc_get(kData, ls_address(1), 1024, 0);
      }
      (void)spu.mfc_read_tag_status_all();
      total = spu.now() - begin;
    });
    EXPECT_TRUE(system.run().ok());
    return total;
  };
  EXPECT_GT(duration(true), 2 * duration(false));
}

/// Three elements; the second stalls. The program changes the third while it is stalled.
TEST(SpuLists, StallAfterAnElementAndGoOnWhenAcknowledged) {
  System system{Parameters{}};
  write_list(
      system, 0,
      {element(ls_address(1), 16), element(ls_address(1) + 128, 256, true), element(ls_address(1) + 1024, 16)});
  const std::uint32_t marks[] = {11, 22, 33, 44};
  std::memcpy(system.bytes(ls_address(1), 4).data(), &marks[0], 4);
  std::memcpy(system.bytes(ls_address(1) + 128, 4).data(), &marks[1], 4);
  std::memcpy(system.bytes(ls_address(1) + 1024, 4).data(), &marks[2], 4);
  std::memcpy(system.bytes(ls_address(1) + 2048, 4).data(), &marks[3], 4);
  system.run_on_spe(0, "lister", [&](Spu& spu) {
    spu.mfc_getl(kData, kHigh, kList, 24, 6);
    spu.mfc_write_tag_mask(1U << 6);
    EXPECT_EQ(spu.mfc_stat_list_stall_status(), 0u);
    EXPECT_EQ(spu.mfc_read_list_stall_status(), 1U << 6);
    EXPECT_EQ(spu.mfc_stat_list_stall_status(), 0u);  // told once
    EXPECT_EQ(spu.load<std::uint32_t>(kData), 11u);
    EXPECT_EQ(spu.load<std::uint32_t>(kData + 16), 22u);
    EXPECT_EQ(spu.load<std::uint32_t>(kData + 16 + 256), 0u);
    spu.spu_cycles(10000);
    EXPECT_EQ(spu.mfc_read_tag_status_immediate(), 0u);
    spu.store(kList + 16, element(ls_address(1) + 2048, 16));
    spu.mfc_write_list_stall_ack(6);
    (void)spu.mfc_read_tag_status_all();
    EXPECT_EQ(spu.load<std::uint32_t>(kData + 16 + 256), 44u);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(SpuLists, AStallOnTheLastElementHoldsTheTagGroup) {
  System system{Parameters{}};
  write_list(system, 0, {element(ls_address(1), 16, true)});
  system.run_on_spe(0, "lister", [&](Spu& spu) {
    spu.mfc_putl(kData, kHigh, kList, 8, 1);
    EXPECT_EQ(spu.mfc_read_list_stall_status(), 2u);
    spu.mfc_write_tag_mask(2);
    EXPECT_EQ(spu.mfc_read_tag_status_immediate(), 0u);
    spu.mfc_write_list_stall_ack(1);
    EXPECT_EQ(spu.mfc_read_tag_status_all(), 2u);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(SpuLists, OtherCommandsPassAStalledList) {
  System system{Parameters{}};
  write_list(system, 0, {element(ls_address(1), 16, true), element(ls_address(1) + 64, 16)});
  system.run_on_spe(0, "lister", [&](Spu& spu) {
    spu.mfc_putl(kData, kHigh, kList, 16, 1);
    EXPECT_EQ(spu.mfc_read_list_stall_status(), 2u);
    spu.mfc_get(0, ls_address(2), 4096, 2);
    spu.mfc_write_tag_mask(6);
    EXPECT_EQ(spu.mfc_read_tag_status_any(), 4u);
    spu.mfc_write_list_stall_ack(1);
    EXPECT_EQ(spu.mfc_read_tag_status_all(), 6u);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace corewise::cell
