// Which loop is chosen, and every loop of every set against the slow reference.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kernels/packing/plans/choice.hpp"
#include "pack_message.hpp"

namespace corewise::kernels {
namespace {

using namespace reference;

std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all;
  for (std::int64_t block = 1; block <= 130; ++block) {
    all.push_back(block);
  }
  for (std::int64_t power = 192; power <= 4096; power *= 2) {
    all.insert(all.end(), {power - 1, power, power + 1});
  }
  return all;
}

PackPlan compiled(const KernelSet& set, const Layout& layout, std::int64_t extent) {
  return std::move(*PackPlan::compile_for(set.name, layout, extent));
}

TEST(PackChoice, EveryLengthHasALoopInBothDirectionsAndACost) {
  for (const KernelSet* set : usable_pack_sets()) {
    for (const std::int64_t block : lengths()) {
      const Kernels<Blocks> blocks = loops_for_blocks(*set, block);
      const Kernels<Table> table = loops_for_table(*set, block);
      ASSERT_TRUE(blocks.pack != nullptr && blocks.unpack != nullptr && table.pack != nullptr &&
                  table.unpack != nullptr);
      ASSERT_TRUE(block_ns(block, true, false) > 0 && block_ns(block, false, false) > 0 && uneven_ns(block) > 0);
      if (block < 64) {
        ASSERT_TRUE(loops_for_tiles(*set, block, 512).pack != nullptr);
      }
    }
    EXPECT_EQ(loops_for_blocks(*set, 65).packing, "registers");
    EXPECT_EQ(loops_for_blocks(*set, 512).unpacking, "memcpy");
    EXPECT_EQ(loops_for_tiles(*set, 16, 4096).packing, "columns, one line high");
    EXPECT_EQ(loops_for_tiles(*set, 16, 3072).packing, "columns, three lines high");
    EXPECT_EQ(loops_for_tiles(*set, 24, 4096).packing, "columns, three lines high");
  }
}

TEST(PackChoice, EveryLoopOfEverySetMovesEveryLength) {
  for (const KernelSet* set : usable_pack_sets()) {
    for (const std::int64_t block : lengths()) {
      const auto shift = static_cast<std::size_t>(block * 7) % 64;
      for (const std::int64_t count : {1, 3, 37}) {
        const Layout blocks = repeat(count, 2 * block + (count == 3 ? 1 : 0), run(block));
        check(compiled(*set, blocks, 9), {blocks, 9, 1}, shift);
      }
      const Layout backwards = repeat(5, -2 * block - 3, run(block));
      check(compiled(*set, backwards, 7), {backwards, 7, 1}, shift);
      const Layout listed = list({0, 5 * block, 2 * block, 9 * block, 7 * block + 1}, run(block));
      check(compiled(*set, listed, 11 * block), {listed, 11 * block, 5}, shift);
    }
  }
}

TEST(PackChoice, EveryLoopForTilesMovesEveryMatrix) {
  for (const KernelSet* set : usable_pack_sets()) {
    for (const std::int64_t block : {1, 2, 3, 4, 8, 12, 13, 16, 24, 32, 48, 63}) {
      // As high as the highest tiles and a line more; rows of the packed stream that are pages, and others.
      for (const std::int64_t wide : {std::int64_t{64 + 21}, 4096 / (block & -block)}) {
        const Layout matrix = repeat(200 / block + 2, block, repeat(wide, 1031, run(block)));
        for (const std::size_t shift : {16, 33}) {
          check(compiled(*set, matrix, 9), {matrix, 9, 1}, shift);
        }
        const Layout apart = repeat(10, block + 1, repeat(wide, 1024, run(block)));
        check(compiled(*set, apart, 9), {apart, 9, 1}, 7);
      }
    }
  }
}

TEST(PackChoice, TilesRunWhereRowsShareLines) {
  const auto text = [&](const Layout& layout) { return PackPlan::compile(layout, 9).describe(); };
  EXPECT_NE(text(repeat(40, 16, repeat(50, 4096, run(16)))).find("pack: columns, three"), std::string::npos);
  EXPECT_NE(text(repeat(40, 16, repeat(256, 4096, run(16)))).find("unpack: columns, one"), std::string::npos);
  EXPECT_EQ(text(repeat(40, 64, repeat(50, 4096, run(16)))).find("columns"), std::string::npos);
  EXPECT_EQ(text(repeat(40, 1024, repeat(50, 32, run(16)))).find("columns"), std::string::npos);
  EXPECT_EQ(text(repeat(40, 16, repeat(3, 4096, run(16)))).find("columns"), std::string::npos);
}

TEST(PackChoice, WindowsAndStoresAtEveryAlignment) {
  for (const KernelSet* set : usable_pack_sets()) {
    for (const std::int64_t block : {1, 2, 4, 8, 16, 32, 64, 65, 129, 200, 1000}) {
      // As many elements as four of the largest groups, and one more.
      const std::int64_t count = block < 32 ? 129 : 17;
      const Case what = {run(block), 2 * block, count};
      const PackPlan plan = compiled(*set, what.layout, what.extent);
      for (std::size_t shift = 0; shift < 64; ++shift) {
        check(plan, what, shift);
      }
    }
  }
}

TEST(PackChoice, WindowsRunOnlyWhereTheyCostLess) {
  if (usable_pack_sets().front()->windows.vector_bytes == 0) {
    return;
  }
  const auto text = [](std::int64_t stride, std::int64_t bytes) {
    return PackPlan::compile(repeat(100, stride, run(bytes)), 100 * stride).describe();
  };
  EXPECT_NE(text(24, 8).find("[unpack: windows of 3 vectors for 8 blocks]"), std::string::npos) << text(24, 8);
  EXPECT_NE(text(8, 4).find("[windows of 2 vectors for 16 blocks]"), std::string::npos) << text(8, 4);
  EXPECT_EQ(text(4096, 8).find("windows"), std::string::npos);
}

TEST(PackChoice, IrregularRunsAreCutWhereThatCostsLess) {
  for (const std::int64_t unit : {8, 1}) {
    std::vector<std::int64_t> offsets, sizes;
    for (std::int64_t i = 0; i < 200; ++i) {
      offsets.push_back(40 * i);
      sizes.push_back(unit == 8 ? (i % 5 == 0 ? 16 : 8) : 3 + i % 5);
    }
    const Layout irregular = runs(offsets, sizes);
    const PackPlan plan = PackPlan::compile(irregular, 8000);
    EXPECT_NE(plan.describe().find(unit == 8 ? "240 runs" : "200 runs"), std::string::npos) << plan.describe();
    const Case what = {irregular, 8000, 2};
    check(plan, what, 5);
    for (const std::size_t from : {1U, 8U, 20U, 999U}) {
      check_pack(plan, what, from, 700, 3);
      check_unpack(plan, what, from, 700, 3);
    }
  }
}

TEST(PackChoice, RunsFurtherApartThan32BitsSay) {
  constexpr std::int64_t kApart = (std::int64_t{1} << 31) + 4096;
  constexpr std::size_t kSpan = kApart + 4096;
  void* const mapped =
      mmap(nullptr, kSpan, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const items = static_cast<unsigned char*>(mapped);
  const std::vector<Layout> layouts = {list({0, kApart, 100}, run(8)), runs({0, kApart, 100}, {3, 7, 9})};
  for (const Layout& layout : layouts) {
    const PackPlan plan = PackPlan::compile(layout, 16);
    std::vector<unsigned char> packed(static_cast<std::size_t>(2 * plan.size()));
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i] = static_cast<unsigned char>(i + 1);
    }
    std::vector<unsigned char> wanted = packed, back(packed.size());
    plan.unpack(items, 2, 0, packed.data(), packed.size());
    EXPECT_EQ(items[kApart], packed[static_cast<std::size_t>(layout.lengths.empty() ? 8 : 3)]);
    plan.pack(items, 2, 0, back.data(), back.size());
    EXPECT_EQ(back, wanted);
  }
  munmap(mapped, kSpan);
}

}  // namespace
}  // namespace corewise::kernels
