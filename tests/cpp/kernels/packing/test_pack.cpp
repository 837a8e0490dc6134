// Plans against the slow reference `for_each_run`, which shares nothing with them: whole messages, every part of
// small ones, guard bytes around every buffer and in every gap, for each instruction set of this host by name.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "kernels/packing/plans/pack.hpp"
#include "pack_message.hpp"

namespace corewise::kernels {
namespace {

using namespace reference;

/// Whatever names an instruction set.
class PackPlans : public testing::TestWithParam<std::string> {
 protected:
  static PackPlan compile(const Layout& layout, std::int64_t extent) {
    return std::move(*PackPlan::compile_for(GetParam(), layout, extent));
  }
  static void check_case(const Case& what, std::size_t shift = 0) {
    check(compile(what.layout, what.extent), what, shift);
  }
};

TEST_P(PackPlans, ForcedSetIsTheOneThatRuns) {
  EXPECT_EQ(compile(run(8), 16).instruction_set(), GetParam());
}

TEST_P(PackPlans, EveryBlockLengthAndDistance) {
  for (std::int64_t block = 1; block <= 160; ++block) {
    for (const std::int64_t gap : {1, 3, 8, 40, 200}) {
      for (const std::int64_t count : {1, 7, 33}) {
        check_case({repeat(count, block + gap, run(block)), count * (block + gap), 1},
                   static_cast<std::size_t>((block + count) % 16));
      }
    }
  }
}

TEST_P(PackPlans, ElementsAtEveryCountAndAlignment) {
  for (const std::int64_t block : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64}) {
    for (const std::int64_t stride : {block + 1, 2 * block, 3 * block, 4 * block, 5 * block + 3, block + 256}) {
      const PackPlan plan = compile(run(block), stride);
      for (std::int64_t count = 1; count <= 40; ++count) {
        check(plan, {run(block), stride, count}, static_cast<std::size_t>(count) % 64);
      }
    }
  }
}

TEST_P(PackPlans, NegativeStrides) {
  for (const std::int64_t block : {1, 2, 3, 4, 8, 16, 24, 32, 64, 100, 300}) {
    for (const std::int64_t stride : {-block - 1, -2 * block, -3 * block - 5}) {
      check_case({repeat(19, stride, run(block)), 10, 1}, 3);
      check_case({repeat(5, 1000, repeat(19, stride, run(block), 7)), 5000, 2}, 3);
      check_case({repeat(5, -9000, repeat(19, stride, run(block))), 5, 1}, 3);
    }
  }
}

TEST_P(PackPlans, SourcesWhoseBlocksOverlap) {
  for (const std::int64_t block : {2, 4, 8, 16, 24, 32, 64, 100, 300}) {
    for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{1}, block / 2, block - 1, 1 - block}) {
      check_case({repeat(37, stride, run(block)), 5, 1});
      check_case({repeat(3, 11, repeat(13, stride, run(block))), 5, 2});
    }
  }
}

TEST_P(PackPlans, TwoDimensions) {
  for (const std::int64_t block : {1, 2, 4, 6, 8, 16, 24, 32, 64, 96}) {
    for (const std::int64_t count : {2, 3, 4, 5, 8, 11}) {
      check_case({repeat(6, 4 * block * count, repeat(count, 2 * block, run(block))), 10000, 2}, 5);
      check_case({repeat(6, block + 1, repeat(count, 100 * block, run(block))), 100000, 2}, 5);
    }
  }
}

/// A matrix of blocks, `gap` bytes between those of a row, whose rows are `pitch` bytes apart, by columns.
Layout transposed(std::int64_t block, std::int64_t columns, std::int64_t rows, std::int64_t gap,
                  std::int64_t pitch) {
  return repeat(columns, block + gap, repeat(rows, pitch, run(block)));
}

TEST_P(PackPlans, MatricesByColumns) {
  for (std::int64_t block = 1; block < 64; block += block < 16 || block % 16 == 7 ? 1 : 8) {
    for (const std::int64_t rows : {16, 64, 67, 100}) {
      for (const std::int64_t columns : {2, 5, 17, 40}) {
        const std::int64_t gap = rows % 3 == 1 ? 0 : 3;
        const std::int64_t least = columns * (block + gap);
        // Rows that begin at the same place of a line, and rows that do not.
        for (const std::int64_t pitch : {(least + 191) / 64 * 64, least + 65, -least - 70}) {
          check_case({transposed(block, columns, rows, gap, pitch), 7, 1},
                     static_cast<std::size_t>((block + rows) % 64));
        }
      }
    }
  }
}

TEST_P(PackPlans, ColumnsOfAMatrixAsItems) {
  for (const std::int64_t block : {4, 8, 12, 16, 24}) {
    for (const std::int64_t count : {1, 2, 3, 9, 33}) {
      check_case({repeat(70, 64 * block, run(block)), block, count}, 16);
      check_case({repeat(70, 64 * block, run(block)), -block, count}, 16);
      check_case({repeat(70, 64 * block + 1, run(block)), block, count}, 3);
    }
  }
}

TEST_P(PackPlans, ColumnsThatOverlapAreUnpackedInOrder) {
  check_case({transposed(8, 40, 30, 0, 64), 7, 1});
  check_case({transposed(16, 9, 30, 0, 128), 7, 1});
  check_case({repeat(9, 0, repeat(30, 128, run(16))), 7, 1});
  check_case({repeat(9, 5, repeat(30, 128, run(16))), 7, 1});
}

TEST_P(PackPlans, EveryPartOfAMatrixByColumns) {
  const std::vector<Case> cases = {{transposed(8, 19, 21, 0, 256), 19 * 256, 1},
                                   {transposed(16, 11, 9, 0, 192), 11 * 192, 2},
                                   {transposed(12, 23, 7, 0, 300), 8000, 1},
                                   {repeat(33, 128, run(4)), 4, 20}};
  for (const Case& what : cases) {
    const PackPlan plan = compile(what.layout, what.extent);
    const std::size_t size = Message(what.layout, what.extent, what.count).size();
    for (std::size_t from = 0; from < size; from += from < 700 ? 1 : 97) {
      for (const std::size_t bytes : {size - from, (size - from) / 2, std::min<std::size_t>(size - from, 1000)}) {
        check_pack(plan, what, from, bytes, from % 64);
        check_unpack(plan, what, from, bytes, from % 64);
      }
    }
  }
}

TEST_P(PackPlans, TablesOfEqualRuns) {
  for (const std::int64_t block : {1, 2, 3, 4, 8, 12, 16, 20, 32, 40, 64, 128, 300}) {
    for (const std::int64_t count : {2, 3, 7, 8, 9, 17, 100}) {
      std::vector<std::int64_t> offsets;
      for (std::int64_t i = 0; i < count; ++i) {
        offsets.push_back((i * 11 % count) * 2 * block + i % 2);
      }
      check_case({list(offsets, run(block, 3)), 2 * block * count + 5, 3}, 9);
    }
  }
}

TEST_P(PackPlans, TablesOfDifferentRuns) {
  for (const std::int64_t scale : {1, 2, 4, 8, 37}) {
    check_case(
        {runs({0, 10 * scale, 3 * scale, 30 * scale}, {scale, 2 * scale, 3 * scale, 5 * scale}), 40 * scale, 9},
        static_cast<std::size_t>(scale % 8));
    check_case({runs({-50 * scale, 9}, {3 * scale, 300}), 1000, 3});
  }
}

TEST_P(PackPlans, RecordsOfAProgram) {
  const Layout record = runs({0, 8, 20}, {8, 4, 2});
  check_case({record, 24, 100});
  check_case({repeat(50, 24, record), 2000, 3});
  check_case({list({0, 96, 24, 480}, record), 600, 5});
  check_case({sequence({record, run(7, 30), repeat(4, 10, run(3), 40)}), 80, 5});
}

TEST_P(PackPlans, EveryPartOfAMessage) {
  const std::vector<Case> cases = {
      {run(5), 8, 6},
      {repeat(5, 7, run(3)), 40, 3},
      {repeat(3, 40, repeat(4, 8, run(4), 1)), 150, 2},
      {repeat(2, 200, repeat(3, 40, repeat(4, 8, run(2), 1))), 500, 2},
      {list({0, 30, 13}, run(9)), 45, 3},
      {runs({0, 30, 13}, {9, 2, 11}), 45, 3},
      {list({0, 700, 300}, repeat(40, 7, run(2), 3)), 1000, 1},
      {sequence({repeat(20, 3, run(1)), repeat(45, 6, run(2), 80), run(9, 400)}), 500, 2},
  };
  for (const Case& what : cases) {
    const PackPlan plan = compile(what.layout, what.extent);
    const std::size_t size = Message(what.layout, what.extent, what.count).size();
    for (std::size_t from = 0; from <= size; ++from) {
      for (std::size_t bytes = 0; from + bytes <= size; bytes += 1 + bytes / 2) {
        check_pack(plan, what, from, bytes, from % 8);
        check_unpack(plan, what, from, bytes, bytes % 8);
      }
    }
  }
}

TEST_P(PackPlans, PackedBufferOfAnotherCore) {
  const std::vector<Case> cases = {
      {run(5), 8, 1000},
      {repeat(500, 24, run(12)), 12000, 2},
      {repeat(30, 4096, repeat(4, 160, run(80), 1)), 150000, 1},
      {transposed(16, 60, 50, 0, 1024), 60000, 2},
      {runs({0, 3000, 1400}, {900, 2, 1500}), 5000, 3},
      {run(7000), 7000, 1},
  };
  for (const Case& what : cases) {
    const PackPlan plan = compile(what.layout, what.extent);
    const std::size_t size = Message(what.layout, what.extent, what.count).size();
    for (const std::size_t from : {std::size_t{0}, std::size_t{1}, std::size_t{1030}, size - 1}) {
      check_pack(plan, what, from, size - from, 5, PackedBuffer::shared);
      check_unpack(plan, what, from, size - from, 5, PackedBuffer::shared);
    }
  }
}

std::int64_t draw(Rng& rng, std::int64_t bound) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
}

/// A random layout of at most `depth` levels, its members apart from each other, and the bytes that it spans.
std::pair<Layout, std::int64_t> random_layout(Rng& rng, int depth) {
  const std::int64_t gap = draw(rng, 9);
  if (depth == 0 || rng.below(5) == 0) {
    const std::int64_t bytes = 1 + draw(rng, draw(rng, 3) == 0 ? 400 : 20);
    return {run(bytes, gap), gap + bytes};
  }
  const std::int64_t count = 2 + draw(rng, 6);
  if (rng.below(4) == 0) {
    std::vector<Layout> children;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      auto [child, span] = random_layout(rng, depth - 1);
      child.offset += at;
      at += span + draw(rng, 5);
      children.push_back(std::move(child));
    }
    return {sequence(std::move(children), gap), gap + at};
  }
  auto [child, span] = random_layout(rng, depth - 1);
  const std::int64_t stride = span + draw(rng, 30);
  if (rng.below(2) == 0) {
    return {repeat(count, stride, std::move(child), gap), gap + count * stride};
  }
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < count; ++i) {
    offsets.push_back((i * 11 % count) * stride + draw(rng, stride - span + 1));
  }
  std::sort(offsets.begin(), offsets.end());
  return {list(std::move(offsets), std::move(child), gap), gap + count * stride};
}

TEST_P(PackPlans, RandomLayoutsAndParts) {
  Rng rng(7);
  for (int i = 0; i < 80; ++i) {
    const auto [layout, span] = random_layout(rng, 3);
    const Case what = {layout, span + draw(rng, 20), 1 + draw(rng, 3)};
    const PackPlan plan = compile(what.layout, what.extent);
    check(plan, what, rng.below(16));
    const std::size_t size = Message(what.layout, what.extent, what.count).size();
    for (int part = 0; part < 4; ++part) {
      const std::size_t from = rng.below(size);
      const std::size_t bytes = rng.below(size - from + 1);
      check_pack(plan, what, from, bytes, 1);
      check_unpack(plan, what, from, bytes, 1);
    }
  }
}

TEST_P(PackPlans, CopiesFromLayoutToLayout) {
  Rng rng(11);
  for (int i = 0; i < 200; ++i) {
    const auto [from, from_span] = random_layout(rng, 3);
    const auto [to, to_span] = random_layout(rng, 3);
    Message source(from, from_span, 3);
    Message target(to, to_span, 5, rng.below(8));
    source.fill(rng);
    target.fill(rng);
    Message expected = target;
    const std::size_t bytes = std::min(source.size(), target.size());
    Bytes stream = source.packed();
    stream.resize(std::max(source.size(), target.size()));
    expected.unpack(stream, 0, bytes);
    copy_items(compile(from, from_span), source.items(), 3, compile(to, to_span), target.items(), 5);
    ASSERT_EQ(target.memory(), expected.memory());
  }
}

void check_copy(const PackPlan& from, const Case& source_case, const PackPlan& to, const Case& target_case) {
  Rng rng(5);
  Message source(source_case.layout, source_case.extent, source_case.count, 3);
  Message target(target_case.layout, target_case.extent, target_case.count, 5);
  source.fill(rng);
  target.fill(rng);
  Message expected = target;
  const std::size_t bytes = std::min(source.size(), target.size());
  Bytes stream = source.packed();
  stream.resize(std::max(source.size(), target.size()));
  expected.unpack(stream, 0, bytes);
  copy_items(from, source.items(), source_case.count, to, target.items(), target_case.count);
  EXPECT_EQ(target.memory(), expected.memory()) << from.describe() << to.describe();
}

TEST_P(PackPlans, CopiesTheSameBlocksFromStrideToStride) {
  for (const std::int64_t block : {1, 3, 8, 16, 24, 32, 48, 64, 96, 128, 256, 300, 1024, 5000}) {
    for (const std::int64_t count : {1, 2, 9}) {
      const Case from = {repeat(count, 2 * block, run(block, 4)), 2 * block * count, 2};
      const Case to = {repeat(count, 3 * block + 1, run(block, 9)), (3 * block + 1) * count, 3};
      const Case dense = {run(block * count), block * count, 2};
      const PackPlan source = compile(from.layout, from.extent);
      const PackPlan target = compile(to.layout, to.extent);
      const PackPlan contiguous = compile(dense.layout, dense.extent);
      check_copy(source, from, target, to);
      check_copy(target, to, source, from);
      check_copy(source, from, contiguous, dense);
      check_copy(contiguous, dense, target, to);
    }
  }
}

INSTANTIATE_TEST_CASE_P(Sets, PackPlans, testing::ValuesIn([] {
                          std::vector<std::string> names;
                          for (const std::string_view name : pack_instruction_sets()) {
                            names.emplace_back(name);
                          }
                          return names;
                        }()),
                        [](const testing::TestParamInfo<std::string>& set) { return set.param; });

TEST(PackPlan, AnUnknownInstructionSetIsNone) {
  EXPECT_FALSE(PackPlan::compile_for("", run(8), 16).has_value());
  EXPECT_FALSE(PackPlan::compile_for("avx1024", run(8), 16).has_value());
}

TEST(PackPlan, TheFirstInstructionSetIsTheOneItPrefers) {
  ASSERT_FALSE(pack_instruction_sets().empty());
  EXPECT_EQ(PackPlan::compile(run(8), 16).instruction_set(), pack_instruction_sets().front());
  EXPECT_EQ(pack_instruction_sets().back(), "generic");
}

TEST(PackPlan, Facts) {
  const PackPlan strided = PackPlan::compile(repeat(4, 128, run(16)), 512);
  EXPECT_EQ(strided.size(), 64);
  EXPECT_FALSE(strided.contiguous());
  EXPECT_DOUBLE_EQ(strided.mean_run(), 16);
  EXPECT_DOUBLE_EQ(strided.line_density(), 0.25);
  EXPECT_TRUE(PackPlan::compile(run(24), 24).contiguous());
  EXPECT_FALSE(PackPlan::compile(run(24), 32).contiguous());
  EXPECT_DOUBLE_EQ(PackPlan::compile(run(8), 16).line_density(), 0.5);
  EXPECT_DOUBLE_EQ(PackPlan::compile(run(64), 64).line_density(), 1);
}

TEST(PackPlan, TheOwnerPacksWhatIsSparseInLinesOrPages) {
  const StageCosts costs{{0, 1, 4}, {2, 0, 1}};
  EXPECT_FALSE(owner_packs(PackPlan::compile(run(64), 128), costs));
  EXPECT_FALSE(owner_packs(PackPlan::compile(run(256), 4160), costs));
  EXPECT_TRUE(owner_packs(PackPlan::compile(run(8), 64), costs));
  EXPECT_TRUE(owner_packs(PackPlan::compile(run(8), 4160), costs));
  EXPECT_TRUE(owner_packs(PackPlan::compile(run(32), 4160), costs));
  EXPECT_FALSE(owner_packs(PackPlan::compile(run(8), 64), {{0, 1, 4}, {1000, 0, 0}}));
  EXPECT_TRUE(owner_packs(PackPlan::compile(run(64), 128), {{0, 1, 0}, {0.5, 0, 0}}));
  // A page costs both ways: what decides is the difference.
  EXPECT_FALSE(owner_packs(PackPlan::compile(run(8), 4160), {{0, 1, 4}, {2, 0, 5}}));
  // A line too.
  EXPECT_FALSE(owner_packs(PackPlan::compile(run(8), 64), {{0, 1, 0}, {2, 1, 0}}));
}

TEST(PackPlan, CopiesBlocksThatLieInPagesOfTheirOwn) {
  constexpr std::int64_t kBlocks = 21, kFrom = 4160, kTo = 5003;
  for (const std::int64_t block : {33, 64, 100, 256}) {
    const PackPlan from = PackPlan::compile(repeat(kBlocks, kFrom, run(block)), kBlocks * kFrom);
    const PackPlan to = PackPlan::compile(repeat(kBlocks, kTo, run(block)), kBlocks * kTo);
    std::vector<unsigned char> source(kBlocks * kFrom), target(kBlocks * kTo, kUntouched), wanted = target;
    for (std::size_t i = 0; i < source.size(); ++i) {
      source[i] = static_cast<unsigned char>(i * 7 + i / 251);
    }
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      std::copy_n(source.begin() + i * kFrom, block, wanted.begin() + i * kTo);
    }
    copy_items(from, source.data(), 1, to, target.data(), 1);
    EXPECT_EQ(target, wanted) << block;
  }
}

TEST(PackPlan, WithoutData) {
  const PackPlan plan = PackPlan::compile(run(0), 0);
  EXPECT_EQ(plan.size(), 0);
  EXPECT_DOUBLE_EQ(plan.mean_run(), 0);
  EXPECT_DOUBLE_EQ(plan.line_density(), 0);
  for (const std::int64_t extent : {0, 8, -8}) {
    const PackPlan nothing = PackPlan::compile(run(0), extent);
    unsigned char byte = kUntouched;
    nothing.pack(nullptr, 5, 0, &byte, 0);
    nothing.unpack(&byte, 5, 0, nullptr, 0);
    EXPECT_EQ(byte, kUntouched);
  }
}

// Compiling looks at some of the runs: one look at each of these would take hours.
TEST(PackPlan, OfMoreRunsThanAnybodyCanVisit) {
  constexpr std::int64_t kRuns = std::int64_t{1} << 44;
  const PackPlan plan = PackPlan::compile(repeat(kRuns, 16, run(8)), 16 * kRuns);
  EXPECT_EQ(plan.size(), 8 * kRuns);
  EXPECT_NEAR(plan.line_density(), 0.5, 0.01);
}

}  // namespace
}  // namespace corewise::kernels
