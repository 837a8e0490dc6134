// The software cache against a plain one that only counts: hits, misses and write-backs of random accesses for many
// shapes, and the bytes that come out. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/cache_costs.hpp"
#include "cell/spe/software_cache.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

constexpr LsAddress kCache = 0x10000;

/// A cache by the book: per set a list of (line, written), the latest first.
class Plain {
 public:
  Plain(std::uint64_t line_bytes, std::uint64_t sets, std::uint64_t ways)
      : line_bytes_(line_bytes), ways_(ways), sets_(sets) {}

  void touch(EffectiveAddress ea, bool write) {
    const std::uint64_t line = ea / line_bytes_;
    auto& set = sets_[line % sets_.size()];
    Entry found{line, false};
    auto at = set.begin();
    while (at != set.end() && at->line != line) ++at;
    if (at != set.end()) {
      ++count.hits;
      found = *at;
      set.erase(at);
    } else {
      ++count.misses;
      if (set.size() == ways_) {
        count.write_backs += set.back().written ? 1U : 0U;
        set.pop_back();
      }
    }
    found.written = found.written || write;
    set.push_front(found);
  }

  SoftwareCacheStatistics count;

 private:
  struct Entry {
    std::uint64_t line;
    bool written;
  };
  std::uint64_t line_bytes_, ways_;
  std::vector<std::deque<Entry>> sets_;
};

TEST(SoftwareCache, CountsAndBytesAreThoseOfAPlainCache) {
  constexpr std::size_t kWords = 2048;
  for (const SoftwareCacheShape& shape : {SoftwareCacheShape{128, 8, 1}, SoftwareCacheShape{128, 1, 8},
                                          SoftwareCacheShape{256, 4, 2}, SoftwareCacheShape{1024, 2, 3}}) {
    SCOPED_TRACE(std::to_string(shape.line_bytes) + " " + std::to_string(shape.sets) + " " +
                 std::to_string(shape.ways));
    System system{Parameters()};
    const EffectiveAddress memory = system.allocate(kWords * 8, 4096);
    Plain plain(shape.line_bytes, shape.sets, shape.ways);
    std::array<std::uint64_t, kWords> expected{};
    SoftwareCacheStatistics seen;
    system.run_on_spe(0, "cached", [&](Spu& spu) {
      SoftwareCache cache(spu, kCache, shape);
      Rng random(7);
      for (int i = 0; i < 3000; ++i) {
        // Half of them near each other, so that there are hits of each kind.
        const std::uint64_t word = i % 2 == 0 ? random.below(kWords) : random.below(96);
        const bool write = random.below(3) == 0;
        plain.touch(memory + word * 8, write);
        if (write) {
          expected[word] = random.below(1U << 30);
          cache.store(memory + word * 8, expected[word]);
        } else {
          ASSERT_EQ(cache.load<std::uint64_t>(memory + word * 8), expected[word]);
        }
      }
      seen = cache.statistics();
      cache.flush();
    });
    const Status status = system.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(seen.hits, plain.count.hits);
    EXPECT_EQ(seen.misses, plain.count.misses);
    EXPECT_EQ(seen.write_backs, plain.count.write_backs);
    EXPECT_GT(seen.hits, 0U);
    EXPECT_GT(seen.write_backs, 0U);
    std::array<std::uint64_t, kWords> written{};
    std::memcpy(written.data(), system.bytes(memory, sizeof written).data(), sizeof written);
    EXPECT_EQ(written, expected);
  }
}

TEST(SoftwareCache, AHitCostsItsCyclesAndAMissItsTransfersToo) {
  SoftwareCacheShape shape{128, 1, 1};
  System system{Parameters()};
  const EffectiveAddress memory = system.allocate(1024, 128);
  std::vector<sim::Time> took;
  system.run_on_spe(0, "cached", [&](Spu& spu) {
    SoftwareCache cache(spu, kCache, shape);
    const auto timed = [&](auto access) {
      const sim::Time begin = spu.now();
      access();
      took.push_back(spu.now() - begin);
    };
    timed([&] { cache.load<int>(memory); });
    timed([&] { cache.load<int>(memory + 64); });
    timed([&] { cache.store(memory, 1); });
    timed([&] { cache.load<int>(memory + 128); });
  });
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(took[1], shape.look_up_cycles);
  EXPECT_EQ(took[2], shape.look_up_cycles);
  EXPECT_GT(took[0], shape.look_up_cycles + shape.miss_cycles + 100);
  EXPECT_GT(took[3], took[0]);  // the written line goes first
}

TEST(SoftwareCache, WhatOthersWroteIsSeenAfterInvalidate) {
  System system{Parameters()};
  const EffectiveAddress memory = system.allocate(128, 128);
  system.run_on_spe(0, "cached", [&](Spu& spu) {
    SoftwareCache cache(spu, kCache, {});
    EXPECT_EQ(cache.load<int>(memory), 0);
    const int other = 42;
    std::memcpy(system.bytes(memory, sizeof other).data(), &other, sizeof other);
    EXPECT_EQ(cache.load<int>(memory), 0);
    cache.invalidate();
    EXPECT_EQ(cache.load<int>(memory), 42);
  });
  ASSERT_TRUE(system.run().ok());
}

TEST(SoftwareCache, CopiesCrossLinesAndArePeekedAtWithoutTime) {
  System system{Parameters()};
  const EffectiveAddress memory = system.allocate(4096, 4096);
  std::array<std::byte, 1000> given{}, found{};
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<std::byte>(i * 7 + 1);
  SoftwareCacheStatistics seen;
  system.run_on_spe(0, "cached", [&](Spu& spu) {
    SoftwareCache cache(spu, kCache, {128, 2, 2});
    std::memcpy(spu.ls(0, given.size()).data(), given.data(), given.size());
    cache.write(spu.ls(0, given.size()), memory + 100);
    const SoftwareCacheStatistics before_looks = cache.statistics();
    const sim::Time before = spu.now();
    const std::span<const std::byte> main = system.bytes(memory + 100, found.size());
    std::memcpy(found.data(), main.data(), found.size());
    EXPECT_NE(found, given);  // the last lines are only in the cache
    cache.peek(memory + 100, found);
    EXPECT_EQ(found, given);
    found[999] = std::byte{0xAA};
    cache.poke(found, memory + 100);
    EXPECT_EQ(spu.now(), before);
    EXPECT_EQ(cache.statistics().hits, before_looks.hits);
    EXPECT_EQ(cache.statistics().misses, before_looks.misses);
    cache.read(memory + 100, spu.ls(0x2000, given.size()));
    EXPECT_EQ(std::memcmp(spu.ls(0x2000, found.size()).data(), found.data(), found.size()), 0);
    seen = cache.statistics();
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(seen.hits, 0U);
  EXPECT_EQ(seen.misses, 18U);  // nine lines, twice: four places are too few
  EXPECT_EQ(seen.write_backs, 9U);
}

TEST(SoftwareCache, CostsAreThoseOfAllSpesThatMissAtOnce) {
  SoftwareCacheCosts small = software_cache_costs(Parameters(), {}).value();
  EXPECT_DOUBLE_EQ(small.hit_ns, 20 / 3.2);
  EXPECT_GT(small.miss_ns, small.hit_ns + 60 / 3.2 + 50);
  EXPECT_GT(small.dirty_miss_ns, small.miss_ns);
  Parameters one;
  for (int spe = 1; spe < kSpesPerChip; ++spe) one.usable[static_cast<std::size_t>(spe)] = false;
  SoftwareCacheShape large;
  large.line_bytes = 16384;
  large.sets = 1;
  const double alone = software_cache_costs(one, large).value().miss_ns;
  const double together = software_cache_costs(Parameters(), large).value().miss_ns;
  EXPECT_GT(alone, small.miss_ns);
  EXPECT_GT(together, 2 * alone);  // they share the memory's bandwidth
  EXPECT_FALSE(software_cache_costs(Parameters(), {100, 1, 1}).ok());
}

TEST(SoftwareCache, WrongShapesAreRefused) {
  const auto message = [](const SoftwareCacheShape& shape) { return shape.check().message(); };
  EXPECT_NE(message({100, 64, 4}).find("field 'line_bytes': found 100"), std::string::npos);
  EXPECT_NE(message({128, 3, 4}).find("field 'sets': found 3"), std::string::npos);
  EXPECT_NE(message({128, 512, 5}).find("field 'ways': found 5, allowed: 1..4"), std::string::npos);
}

}  // namespace
}  // namespace corewise::cell
