// The cost model of packing: decisions at the edges of rows, the text and what is refused of it, rows out of
// measurements.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <random>

#include "kernels/packing/plans/cost.hpp"

namespace corewise::kernels {
namespace {

constexpr PackingLines kDense = PackingLines::dense, kSparse = PackingLines::sparse;

PackingCosts costs(const std::string& text) {
  const auto found = parse_packing_costs(text);
  EXPECT_TRUE(found.has_value()) << text;
  return found.value_or(PackingCosts{});
}

TEST(PackingCost, RowsDecideUpToTheirBytes) {
  const PackingCosts given = costs("send=512:0,32768:512,1048576:64;unpack=4096:256");
  const auto packed = [&](PackingUse use, std::int64_t bytes, double run) {
    return packed_by_us(given, use, {bytes, run, kDense});
  };
  EXPECT_FALSE(packed(PackingUse::send, 512, 8));
  EXPECT_TRUE(packed(PackingUse::send, 513, 512));
  EXPECT_FALSE(packed(PackingUse::send, 513, 512.5));
  EXPECT_TRUE(packed(PackingUse::send, 32768, 65));
  EXPECT_FALSE(packed(PackingUse::send, 32769, 65));
  EXPECT_TRUE(packed(PackingUse::send, 1048576, 64));
  EXPECT_FALSE(packed(PackingUse::send, 1048577, 8));
  EXPECT_TRUE(packed(PackingUse::unpack, 1, 256));
}

TEST(PackingCost, RangesDecideWithBothTheirEnds) {
  const PackingCosts given = costs("send=4096:2-8+64-64+1024-4096");
  for (const double run : {2.0, 5.5, 8.0, 64.0, 1024.0, 4096.0})
    EXPECT_TRUE(packed_by_us(given, PackingUse::send, {4096, run, kDense})) << run;
  for (const double run : {1.0, 1.9, 8.1, 63.0, 64.5, 1023.0, 4097.0})
    EXPECT_FALSE(packed_by_us(given, PackingUse::send, {4096, run, kDense})) << run;
}

TEST(PackingCost, SparseMessagesHaveRowsOfTheirOwnOrThoseOfDenseOnes) {
  const PackingCosts given = costs("send=4096:64;send.sparse=4096:0,8192:8;receive=4096:64");
  EXPECT_TRUE(packed_by_us(given, PackingUse::send, {4096, 8, kDense}));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, {4096, 8, kSparse}));
  EXPECT_TRUE(packed_by_us(given, PackingUse::send, {8192, 8, kSparse}));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, {8192, 8, kDense}));
  EXPECT_TRUE(packed_by_us(given, PackingUse::receive, {4096, 8, kSparse}));
}

TEST(PackingCost, HalfOfEveryLineIsDenseAndABlockAPageIsNot) {
  EXPECT_EQ(kDense, packing_lines(0.5, 1.0 / 32));
  EXPECT_EQ(kDense, packing_lines(1, 1.0 / 64));
  EXPECT_EQ(kSparse, packing_lines(0.5, 2));             // 32 B a page
  EXPECT_EQ(kSparse, packing_lines(1, 0.25));            // 256 B a page
  EXPECT_EQ(kSparse, packing_lines(1.0 / 16, 1.0 / 8));  // 4 B a line
}

TEST(PackingCost, UsesWithoutARowAreLeftToTheMpi) {
  const PackingCosts given = costs("pack=4096:256");
  EXPECT_TRUE(packed_by_us(given, PackingUse::pack, {64, 8, kDense}));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, {64, 8, kDense}));
  EXPECT_FALSE(packed_by_us(PackingCosts{}, PackingUse::receive, {64, 8, kSparse}));
}

TEST(PackingCost, ASidePacksByWhatTheOtherSideHas) {
  // Runs of 8, 64 and 512 B: packed by one side alone, by either, by both alone; and 1 B by nobody.
  const PackingCosts given = costs("send=4096:8-64;receive=4096:2-64;both=4096:64-512;both.sparse=4096:2-2");
  const auto packed = [&](PackingUse side, OtherSide other, double run, PackingLines lines = kDense) {
    return side_packs(given, side, other, {4096, run, lines});
  };
  for (const PackingUse side : {PackingUse::send, PackingUse::receive}) {
    const std::array<bool, 4> contiguous{false, true, true, false}, strided{false, false, true, true};
    const std::array<double, 4> runs{1, 8, 64, 512};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(contiguous[i], packed(side, OtherSide::contiguous, runs[i])) << runs[i];
      EXPECT_EQ(strided[i], packed(side, OtherSide::strided, runs[i])) << runs[i];
      EXPECT_EQ(contiguous[i] && strided[i], packed(side, OtherSide::unknown, runs[i])) << runs[i];
    }
  }
  EXPECT_TRUE(packed(PackingUse::receive, OtherSide::contiguous, 2));
  EXPECT_FALSE(packed(PackingUse::send, OtherSide::contiguous, 2));
  EXPECT_TRUE(packed(PackingUse::send, OtherSide::strided, 2, kSparse));
  EXPECT_FALSE(packed(PackingUse::send, OtherSide::strided, 64, kSparse));
}

TEST(PackingCost, TextIsReadAsItIsWritten) {
  for (const char* text : {"send=1:2", "send=512:0,32768:512;receive=32768:256", "pack=8:8;unpack=9:0,10:1",
                           "send=512:1-64+4096-16384;send.sparse=8:1-1,9:0;receive=4:7+9-9",
                           "receive=8:8;both=8:0;both.sparse=8:4;pack=8:8;rotate=4194304:8192"})
    EXPECT_EQ(text, packing_text(costs(text)));
  EXPECT_EQ(costs("unpack=1:2;send=3:4"), costs("send=3:4;unpack=1:2"));
  EXPECT_EQ(costs("rotate=64:8;send=3:4"), costs("send=3:4;rotate=64:8"));
  EXPECT_EQ(costs("send=3:4"), costs("send=3:4;rotate=0:0"));
  EXPECT_EQ(64, costs("send=3:4;rotate=64:8").rotate);
  EXPECT_EQ(8, costs("send=3:4;rotate=64:8").rotate_from);
}

TEST(PackingCost, AnyTableIsTheSameAfterWritingAndReading) {
  std::mt19937 random(7);
  const auto up_to = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int turn = 0; turn < 500; ++turn) {
    PackingCosts wanted;
    wanted.rotate = up_to(1) * up_to(1 << 30);
    if (wanted.rotate > 0) wanted.rotate_from = up_to(1 << 20);
    for (auto& both : wanted.rows)
      for (auto& rows : both) {
        if (&rows == &both[1] && both[0].empty()) continue;
        std::int64_t bytes = 0;
        for (int n = up_to(4); n > 0; --n) {
          PackingRow row{bytes += 1 + up_to(5000), {}};
          std::int64_t run = up_to(1) == 0 ? -1 : 0;
          for (int k = up_to(3); k > 0; --k) {
            const std::int64_t least = row.runs.empty() && run < 0 ? 0 : run + 1 + up_to(50);
            run = std::max<std::int64_t>(least, 1) + up_to(50);
            row.runs.push_back({least, run});
          }
          rows.push_back(row);
        }
      }
    if (wanted == PackingCosts{}) continue;
    const std::string text = packing_text(wanted);
    EXPECT_EQ(std::string::npos, text.find(' ')) << text;
    EXPECT_EQ(wanted, costs(text)) << text;
  }
}

TEST(PackingCost, WrongTextIsRefused) {
  for (const char* text : {"",
                           "auto",
                           "send",
                           "send=",
                           "send=1",
                           "send=1:",
                           "send=:1",
                           "send=1:2,",
                           "send=1:2;",
                           "send=2:1,1:1",
                           "send=1:1,1:2",
                           "send=1:2;send=3:4",
                           "sent=1:2",
                           "send=-1:2",
                           "send=1:-2",
                           "send=1:2 ",
                           "send=1:2x",
                           "send=99999999999999999999:1",
                           ";send=1:2",
                           "send=1:2-",
                           "send=1:2-1",
                           "send=1:0-4",
                           "send=1:1-2+2-3",
                           "send=1:4-5+1-2",
                           "send=1:1-2+",
                           "send=1:+1-2",
                           "send=1:0+1-2",
                           "send.sparse=1:2",
                           "send.dense=1:2",
                           "send=1:2;send.sparse=",
                           "send=1:1-2-3",
                           "send=1:2;rotate",
                           "send=1:2;rotate=",
                           "send=1:2;rotate=-1",
                           "send=1:2;rotate=8",
                           "send=1:2;rotate=8:",
                           "send=1:2;rotate=8:-1",
                           "send=1:2;rotate=8:1:2",
                           "send=1:2;rotate=8:1;rotate=8:1",
                           "send=1:2;rotate.sparse=8",
                           ".sparse=1:2"})
    EXPECT_FALSE(parse_packing_costs(text).has_value()) << text;
}

TEST(PackingCost, ReasonNamesTheRow) {
  const PackingCosts given = costs("send=512:0,32768:512+4096-8192;send.sparse=512:8");
  const auto reason = [&](std::int64_t bytes, PackingLines lines) {
    return packing_reason(given, PackingUse::send, {bytes, 8, lines});
  };
  EXPECT_EQ("send: up to 32768 B, runs of at most 512 B, or 4096 to 8192 B", reason(1000, kDense));
  EXPECT_EQ("send: up to 512 B, runs of no length", reason(500, kDense));
  EXPECT_EQ("send: no row for 40000 B", reason(40000, kDense));
  EXPECT_EQ("send, sparse: up to 512 B, runs of at most 8 B", reason(500, kSparse));
  EXPECT_EQ("send, sparse: no row for 600 B", reason(600, kSparse));
}

TEST(PackingCost, RowsHaveTheRunsThatGain) {
  // 8 B lose a little, 16 to 64 B gain, 128 B lose, 512 B gain again; nothing gains in the largest.
  const std::vector<PackingSample> samples = {{1024, 8, 0.9, 1},   {1024, 16, 2, 1},  {1024, 64, 1.5, 1},
                                              {1024, 128, 0.5, 1}, {1024, 512, 2, 1}, {4096, 8, 0.5, 1}};
  const std::vector<PackingRow> wanted = {{1024, {{16, 64}, {512, 512}}}, {1 << 20, {}}};
  EXPECT_EQ(wanted, packing_rows(samples, 1.0, 1 << 20));
}

TEST(PackingCost, TheShortestRunStandsForShorterOnesAndGainIsAskedOfEach) {
  const std::vector<PackingSample> samples = {{1024, 8, 2, 1}, {1024, 16, 1.1, 1}};
  EXPECT_EQ((std::vector<PackingRow>{{1024, {{0, 16}}}}), packing_rows(samples, 1.0, 0));
  EXPECT_EQ((std::vector<PackingRow>{{1024, {{0, 8}}}}), packing_rows(samples, 1.2, 0));
  EXPECT_TRUE(packing_rows({}, 1.0, 1 << 20).empty());
}

}  // namespace
}  // namespace corewise::kernels
