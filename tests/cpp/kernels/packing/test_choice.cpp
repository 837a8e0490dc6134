// Which loop is chosen, by timers that say what the test wants, and every loop of every set by its rank against the
// slow reference. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "kernels/packing/plans/choice.hpp"
#include "pack_message.hpp"

namespace corewise::kernels {
namespace {

using namespace reference;
using Loop = PackTrial::Loop;

constexpr double kNever = 1e9;

/// The loop of this rank, or the last one where there are fewer; no windows.
PackTimer ranked(std::size_t rank) {
  return [rank](const PackTrial& trial) {
    return trial.loop == Loop::window ? kNever
           : trial.rank <= rank       ? 1 - 0.01 * static_cast<double>(trial.rank)
                                      : 2;
  };
}

/// One loop by its name, the first of its set that fits elsewhere.
PackTimer named(std::string name) {
  return [name](const PackTrial& trial) {
    return trial.loop == Loop::window ? kNever : trial.name == name ? 0.5 : 1 + static_cast<double>(trial.rank);
  };
}

/// A loop for tiles; elsewhere the first that fits.
PackTimer named_tiles(const Candidate<Blocks>& loop) {
  return [&loop](const PackTrial& trial) {
    return trial.loop == Loop::window ? kNever : trial.blocks == &loop ? 0.5 : 1 + static_cast<double>(trial.rank);
  };
}

std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all;
  for (std::int64_t block = 1; block <= 130; ++block) {
    all.push_back(block);
  }
  for (std::int64_t power = 256; power <= 4096; power *= 2) {
    all.insert(all.end(), {power - 1, power, power + 1});
  }
  return all;
}

constexpr std::size_t kRanks = 10;

/// The loops that a chooser has for a length, as one word.
std::string loops_for(LoopChooser& chooser, std::int64_t block) {
  const Kernels<Blocks> blocks = chooser.blocks(block);
  const Kernels<Table> table = chooser.table(block);
  std::string all = std::to_string(block);
  for (const Choice* choice : {&blocks.packing, &blocks.unpacking, &table.packing, &table.unpacking}) {
    all += ',' + std::string(choice->name);
  }
  return all;
}

TEST(PackChoice, EveryLoopOfEverySetMovesEveryLength) {
  for (const KernelSet* set : usable_pack_sets()) {
    std::set<std::string> checked;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      LoopChooser chooser({set}, ranked(rank), false);
      for (const std::int64_t block : lengths()) {
        if (!checked.insert(loops_for(chooser, block)).second) {
          continue;
        }
        const auto shift = static_cast<std::size_t>(block * 7 + static_cast<std::int64_t>(rank)) % 64;
        for (const std::int64_t count : {1, 3, 37}) {
          const Layout blocks = repeat(count, 2 * block + (count == 3 ? 1 : 0), run(block));
          check(PackPlan::compile_with(chooser, blocks, 9), {blocks, 9, 1}, shift);
        }
        const Layout backwards = repeat(5, -2 * block - 3, run(block));
        check(PackPlan::compile_with(chooser, backwards, 7), {backwards, 7, 1}, shift);
        const Layout listed = list({0, 5 * block, 2 * block, 9 * block, 7 * block + 1}, run(block));
        check(PackPlan::compile_with(chooser, listed, 11 * block), {listed, 11 * block, 5}, shift);
      }
    }
  }
}

TEST(PackChoice, EveryLoopForTilesMovesEveryMatrix) {
  for (const KernelSet* set : usable_pack_sets()) {
    for (std::size_t rank = 0; rank < set->tiles.size(); ++rank) {
      LoopChooser chooser({set}, named_tiles(set->tiles[rank]), false);
      const Candidate<Blocks>& loop = set->tiles[rank];
      for (const std::int64_t block : {loop.least, std::min<std::int64_t>(loop.most, 63)}) {
        ASSERT_EQ(chooser.tiles(block, 512).packing.name, loop.name);
        for (const std::int64_t pitch : {1024, 1031}) {
          // As high as the highest tiles and a line more, and wider than the widest by what is no square.
          const Layout matrix = repeat(340 / block + 1, block, repeat(64 + 21, pitch, run(block)));
          for (const std::size_t shift : {16, 33}) {
            check(PackPlan::compile_with(chooser, matrix, 9), {matrix, 9, 1}, shift);
          }
          const Layout apart = repeat(30, block + 1, repeat(64 + 21, pitch, run(block)));
          check(PackPlan::compile_with(chooser, apart, 9), {apart, 9, 1}, 7);
        }
      }
    }
  }
}

TEST(PackChoice, ATimerThatHasNoMemoryIsAskedAgain) {
  int failures = 3;
  LoopChooser chooser(
      usable_pack_sets(),
      [&failures](const PackTrial& trial) {
        if (failures > 0) {
          --failures;
          throw std::bad_alloc();
        }
        return 1 + static_cast<double>(trial.rank);
      },
      true);
  EXPECT_THROW(chooser.blocks(8), std::bad_alloc);
  EXPECT_THROW(chooser.tiles(8, 512), std::bad_alloc);
  EXPECT_THROW(chooser.window_ns(true, 8), std::bad_alloc);
  EXPECT_NE(chooser.blocks(8).pack, nullptr);
  EXPECT_NE(chooser.tiles(8, 512).unpack, nullptr);
  EXPECT_EQ(chooser.window_ns(true, 8), 1);
}

TEST(PackChoice, TilesRunWhereRowsShareLines) {
  LoopChooser chooser(usable_pack_sets(), named("columns, one line high"), true);
  const auto text = [&](const Layout& layout) { return PackPlan::compile_with(chooser, layout, 9).describe(); };
  EXPECT_NE(text(repeat(40, 16, repeat(50, 4096, run(16)))).find("pack: columns, one"), std::string::npos);
  EXPECT_NE(text(repeat(40, 16, repeat(50, 4096, run(16)))).find("unpack: columns, one"), std::string::npos);
  EXPECT_EQ(text(repeat(40, 64, repeat(50, 4096, run(16)))).find("columns"), std::string::npos);
  EXPECT_EQ(text(repeat(40, 1024, repeat(50, 32, run(16)))).find("columns"), std::string::npos);
  EXPECT_EQ(text(repeat(40, 16, repeat(3, 4096, run(16)))).find("columns"), std::string::npos);
}

TEST(PackChoice, RowsInTurnWhereThatCostsLess) {
  LoopChooser chooser(
      usable_pack_sets(),
      [](const PackTrial& trial) {
        const bool by_rows = trial.loop == Loop::tiles && trial.name.find("high") == std::string_view::npos;
        return by_rows && trial.packing ? 0.5 : 1 + static_cast<double>(trial.rank);
      },
      true);
  const Kernels<Blocks> found = chooser.tiles(16, 4096);
  EXPECT_EQ(found.packing.name, chooser.blocks(16).packing.name);
  EXPECT_EQ(found.pack, chooser.blocks(16).pack);
  EXPECT_NE(found.unpacking.name, chooser.blocks(16).unpacking.name);
}

TEST(PackChoice, TilesAreTimedOnceForRowsThatMeetInACacheAlike) {
  std::multiset<std::int64_t> rows;
  LoopChooser chooser(
      {usable_pack_sets().back()},
      [&rows](const PackTrial& trial) {
        if (trial.loop == Loop::tiles && trial.packing && trial.rank == 0) {
          rows.insert(trial.row);
        }
        return 1.0;
      },
      true);
  for (const std::int64_t row : {512, 1536, 800, 1024, 3072, 2048, 4096, 8192, 65536}) {
    EXPECT_GE(chooser.tiles(16, row).packing.ns, 1);
  }
  EXPECT_EQ(rows, (std::multiset<std::int64_t>{1024, 1536, 2048, 4096}));
}

TEST(PackChoice, StoresThatAreAlignedFirstAtEveryAlignment) {
  for (const KernelSet* set : usable_pack_sets()) {
    LoopChooser chooser({set}, named("registers, aligned stores"), false);
    for (const std::int64_t block : {1, 2, 4, 8, 16, 32, 64, 65, 129, 200, 1000}) {
      // As many elements as four of the largest groups, and one more.
      const std::int64_t count = block < 32 ? 129 : 17;
      const Case what = {run(block), 2 * block, count};
      const PackPlan plan = PackPlan::compile_with(chooser, what.layout, what.extent);
      LoopChooser windows({set}, default_timer(), false);
      const PackPlan by_windows = PackPlan::compile_with(windows, what.layout, what.extent);
      for (std::size_t shift = 0; shift < 64; ++shift) {
        check(plan, what, shift);
        check(by_windows, what, shift);
      }
    }
  }
}

TEST(PackChoice, TheQuickestIsTakenAndTheNextNamed) {
  LoopChooser chooser(usable_pack_sets(), named("memcpy"), true);
  const Kernels<Blocks> found = chooser.blocks(1000);
  EXPECT_EQ(found.packing.name, "memcpy");
  EXPECT_EQ(found.packing.ns, 0.5);
  EXPECT_EQ(found.packing.set, usable_pack_sets().front()->name);
  EXPECT_EQ(found.unpacking.name, "memcpy");
  EXPECT_FALSE(found.packing.second.empty());
  const PackPlan plan = PackPlan::compile_with(chooser, repeat(9, 3000, run(1000)), 27000);
  EXPECT_NE(plan.describe().find("[pack: memcpy (" + std::string(found.packing.set) + ") 0.5 ns, next "),
            std::string::npos)
      << plan.describe();
}

TEST(PackChoice, DirectionsAreChosenApart) {
  LoopChooser chooser(
      {usable_pack_sets().back()},
      [](const PackTrial& trial) { return trial.packing == (trial.name == "memcpy") ? 1.0 : 2.0; }, true);
  EXPECT_EQ(chooser.blocks(500).packing.name, "memcpy");
  EXPECT_NE(chooser.blocks(500).unpacking.name, "memcpy");
}

TEST(PackChoice, EachLoopOfAClassIsTimedOnce) {
  std::multiset<std::string> asked;
  LoopChooser chooser(
      usable_pack_sets(),
      [&asked](const PackTrial& trial) {
        asked.insert(std::string(trial.set->name) + std::string(trial.name) +
                     (trial.packing ? " pack " : " unpack ") + std::to_string(trial.block));
        return 1.0;
      },
      true);
  for (int again = 0; again < 3; ++again) {
    for (const std::int64_t block : {300, 400, 511}) {
      EXPECT_GE(chooser.blocks(block).packing.ns, 1);
    }
  }
  EXPECT_FALSE(asked.empty());
  for (const std::string& name : asked) {
    EXPECT_EQ(asked.count(name), 1U) << name;
    EXPECT_NE(name.find(" 384"), std::string::npos) << name;
  }
  const std::size_t between = asked.size();
  chooser.blocks(512);
  EXPECT_GT(asked.size(), between) << "a power of two is a class of its own";
}

TEST(PackChoice, WindowsRunOnlyWhereTheyCostLess) {
  const std::vector<const KernelSet*> sets = usable_pack_sets();
  if (sets.front()->windows.vector_bytes == 0) {
    return;
  }
  const Layout elements = repeat(100, 16, run(8));
  const auto text = [&](double pack, double unpack) {
    LoopChooser chooser(
        sets,
        [=](const PackTrial& trial) { return trial.loop != Loop::window ? 1
                                             : trial.packing            ? pack
                                                                        : unpack; },
        false);
    return PackPlan::compile_with(chooser, elements, 1600).describe();
  };
  EXPECT_NE(text(1, 1).find("[windows of 2 vectors for 8 blocks]"), std::string::npos) << text(1, 1);
  EXPECT_NE(text(1, 4.1).find("[pack: windows of"), std::string::npos) << text(1, 4.1);
  EXPECT_NE(text(4.1, 1).find("[unpack: windows of"), std::string::npos) << text(4.1, 1);
  EXPECT_EQ(text(4.1, 4.1).find("windows"), std::string::npos) << text(4.1, 4.1);
}

TEST(PackChoice, IrregularRunsAreCutWhereThatCostsLess) {
  std::vector<std::int64_t> offsets, lengths;
  for (std::int64_t i = 0; i < 200; ++i) {
    offsets.push_back(40 * i);
    lengths.push_back(i % 5 == 0 ? 16 : 8);
  }
  const Layout irregular = runs(offsets, lengths);
  for (const double cost : {0.1, 10.0}) {
    LoopChooser chooser(
        usable_pack_sets(),
        [=](const PackTrial& trial) {
          return trial.loop == Loop::window ? kNever : trial.loop == Loop::table ? cost : 1;
        },
        false);
    const PackPlan plan = PackPlan::compile_with(chooser, irregular, 8000);
    EXPECT_NE(plan.describe().find(cost < 1 ? "240 runs" : "200 runs"), std::string::npos) << plan.describe();
    const Case what = {irregular, 8000, 2};
    check(plan, what, 5);
    for (const std::size_t from : {1U, 8U, 20U, 1919U}) {
      check_pack(plan, what, from, 1000, 3);
      check_unpack(plan, what, from, 1000, 3);
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

TEST(PackChoice, MeasuredLoopsPackAsOthersDo) {
  LoopChooser chooser(usable_pack_sets(), measuring_timer(), true);
  for (const std::int64_t block : {1, 8, 12, 16, 64, 96, 4096, 1 << 18}) {
    const Kernels<Blocks> found = chooser.blocks(block);
    EXPECT_GT(found.packing.ns, 0);
    EXPECT_TRUE(std::isfinite(found.unpacking.ns));
    EXPECT_LE(found.packing.ns, found.packing.second.empty() ? found.packing.ns : found.packing.second_ns);
    const Layout blocks = repeat(9, 2 * block, run(block));
    check(PackPlan::compile_with(chooser, blocks, 18 * block), {blocks, 18 * block, 2}, 3);
  }
  for (const std::int64_t block : {4, 8, 24}) {
    EXPECT_GT(chooser.tiles(block, 4096).packing.ns, 0);
    const Layout matrix = repeat(50, block, repeat(70, 4096, run(block)));
    check(PackPlan::compile_with(chooser, matrix, 9), {matrix, 9, 1}, 16);
  }
  EXPECT_GT(chooser.table(8).packing.ns, 0);
  EXPECT_GT(chooser.runs(12).unpacking.ns, 0);
  EXPECT_GT(chooser.window_ns(true, 4), 0);
  EXPECT_GT(chooser.pairs_ns(8), 0);
}

TEST(PackChoice, CalibrationCanBeTurnedOff) {
  const bool before = pack_calibration();
  set_pack_calibration(false);
  EXPECT_NE(PackPlan::compile(run(100), 300).describe().find("loops not timed"), std::string::npos);
  set_pack_calibration(true);
  EXPECT_NE(PackPlan::compile(run(100), 300).describe().find("loops chosen by timing"), std::string::npos);
  set_pack_calibration(before);
}

}  // namespace
}  // namespace corewise::kernels
