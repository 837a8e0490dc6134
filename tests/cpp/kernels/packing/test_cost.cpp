// The table of packing: decisions at the edges of rows, the text and what is refused of it.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/packing/plans/cost.hpp"

namespace corewise::kernels {
namespace {

constexpr double kDense = 1, kSparse = 0.1;  // of a line

PackingTable table_of(const std::string& text) {
  const auto found = parse_packing_table(text);
  EXPECT_TRUE(found.has_value()) << text;
  return found.value_or(PackingTable{});
}

TEST(PackingTables, RowsDecideUpToTheirBytes) {
  const PackingTable given = table_of("send=512:0,32768:512,1048576:64;unpack=4096:256");
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

TEST(PackingTables, RangesDecideWithBothTheirEnds) {
  const PackingTable given = table_of("send=4096:2-8+64-64+1024-4096");
  for (const double run : {2.0, 5.5, 8.0, 64.0, 1024.0, 4096.0})
    EXPECT_TRUE(packed_by_us(given, PackingUse::send, {4096, run, kDense})) << run;
  for (const double run : {1.0, 1.9, 8.1, 63.0, 64.5, 1023.0, 4097.0})
    EXPECT_FALSE(packed_by_us(given, PackingUse::send, {4096, run, kDense})) << run;
}

TEST(PackingTables, SparseMessagesHaveRowsOfTheirOwn) {
  const PackingTable given = table_of("send=4096:64;send.sparse=4096:0,8192:8;pack=4096:64");
  EXPECT_TRUE(packed_by_us(given, PackingUse::send, {4096, 8, kDense}));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, {4096, 8, kSparse}));
  EXPECT_TRUE(packed_by_us(given, PackingUse::send, {8192, 8, kSparse}));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, {8192, 8, kDense}));
  EXPECT_FALSE(packed_by_us(given, PackingUse::pack, {4096, 8, kSparse}));
}

TEST(PackingTables, HalfOfEveryLineIsDenseAndABlockAPageIsNot) {
  const auto sparse = [](double density, double pages) {
    return packing_lines({4096, 8, density, pages}) == PackingLines::sparse;
  };
  EXPECT_FALSE(sparse(0.5, 1.0 / 32));
  EXPECT_TRUE(sparse(1, 0.25));            // 256 B a page
  EXPECT_TRUE(sparse(1.0 / 16, 1.0 / 8));  // 4 B a line
}

TEST(PackingTables, TextIsReadWhateverItsOrder) {
  EXPECT_EQ(table_of("unpack=1:2;send=3:4"), table_of("send=3:4;unpack=1:2"));
  const PackingTable given = table_of("send=512:1-64+4096-16384;send.sparse=8:1-1,9:0");
  EXPECT_EQ(given.rows[0][0], (PackingTable::Rows{{512, {{1, 64}, {4096, 16384}}}}));
  EXPECT_EQ(given.rows[0][1], (PackingTable::Rows{{8, {{1, 1}}}, {9, {}}}));
}

TEST(PackingTables, AnythingElseIsRefused) {
  std::istringstream words(
      "always send send= send=1 send=1: send=:1 send=1:2, send=1:2; ;send=1:2 "
      "send=2:1,1:1 send=1:2,1:2 send=-1:2 send=1:-2 send=1:2;send=3:4 message=1:2 "
      "send.thin=1:2 send=1:2-1 send=1:0-1 send=1:2+ send=1:4+3 send=1:2-4+4-5 "
      "send=1:1x send=99999999999999999999:1 rotate=1:2");
  std::vector<std::string> texts{std::istream_iterator<std::string>(words), {}};
  texts.insert(texts.end(), {"", "send =1:2"});
  for (const std::string& text : texts) EXPECT_FALSE(parse_packing_table(text).has_value()) << text;
}

TEST(PackingTables, TheReasonNamesTheRow) {
  const PackingTable given = table_of("send=512:0,4096:8+64-128");
  EXPECT_EQ(packing_reason(given, PackingUse::send, {4096, 8, kDense}),
            "send: up to 4096 B, runs of at most 8 B, or 64 to 128 B");
  EXPECT_EQ(packing_reason(given, PackingUse::send, {512, 8, kDense}), "send: up to 512 B, runs of no length");
  EXPECT_EQ(packing_reason(given, PackingUse::unpack, {9, 8, kSparse}), "unpack, sparse: no row for 9 B");
}

}  // namespace
}  // namespace corewise::kernels
