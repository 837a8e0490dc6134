// The cost model of packing: decisions at the edges of rows, the text and what is refused of it, crossings out of
// measurements. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "kernels/packing_cost.hpp"

namespace corewise::kernels {
namespace {

PackingCosts costs(const char* text) {
  const auto found = parse_packing_costs(text);
  EXPECT_TRUE(found.has_value()) << text;
  return found.value_or(PackingCosts{});
}

TEST(PackingCost, RowsDecideUpToTheirBytes) {
  const PackingCosts given = costs("send=512:0,32768:512,1048576:64;unpack=4096:256");
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, 512, 8));
  EXPECT_TRUE(packed_by_us(given, PackingUse::send, 513, 512));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, 513, 512.5));
  EXPECT_TRUE(packed_by_us(given, PackingUse::send, 32768, 65));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, 32769, 65));
  EXPECT_TRUE(packed_by_us(given, PackingUse::send, 1048576, 64));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, 1048577, 8));
  EXPECT_TRUE(packed_by_us(given, PackingUse::unpack, 1, 256));
}

TEST(PackingCost, UsesWithoutARowAreLeftToTheMpi) {
  const PackingCosts given = costs("pack=4096:256");
  EXPECT_TRUE(packed_by_us(given, PackingUse::pack, 64, 8));
  EXPECT_FALSE(packed_by_us(given, PackingUse::send, 64, 8));
  EXPECT_FALSE(packed_by_us(PackingCosts{}, PackingUse::receive, 64, 8));
}

TEST(PackingCost, TextIsReadAsItIsWritten) {
  for (const char* text : {"send=1:2", "send=512:0,32768:512;receive=32768:256", "pack=8:8;unpack=9:0,10:1"})
    EXPECT_EQ(text, packing_text(costs(text)));
  EXPECT_EQ(costs("unpack=1:2;send=3:4"), costs("send=3:4;unpack=1:2"));
}

TEST(PackingCost, WrongTextIsRefused) {
  for (const char* text : {"", "auto", "send", "send=", "send=1", "send=1:", "send=:1", "send=1:2,", "send=1:2;",
                           "send=2:1,1:1", "send=1:1,1:2", "send=1:2;send=3:4", "sent=1:2", "send=-1:2",
                           "send=1:-2", "send=1:2 ", "send=1:2x", "send=99999999999999999999:1", ";send=1:2"})
    EXPECT_FALSE(parse_packing_costs(text).has_value()) << text;
}

TEST(PackingCost, ReasonNamesTheRow) {
  const PackingCosts given = costs("send=512:0,32768:512");
  EXPECT_EQ("send: up to 32768 B, runs of at most 512 B", packing_reason(given, PackingUse::send, 1000));
  EXPECT_EQ("send: no row for 40000 B", packing_reason(given, PackingUse::send, 40000));
}

TEST(PackingCost, CrossingIsWhereThePackedOnesGainMost) {
  // 8 B lose a little, 16 to 64 B gain, 128 B lose: all up to 64 are packed.
  const std::vector<PackingSample> samples = {
      {1024, 8, 0.9, 1}, {1024, 16, 2, 1}, {1024, 64, 1.5, 1}, {1024, 128, 0.5, 1}, {4096, 8, 0.5, 1}};
  const std::vector<PackingCrossing> wanted = {{1024, 64}, {1 << 20, 0}};
  EXPECT_EQ(wanted, crossings_of(samples, 1.0, 1 << 20));
}

TEST(PackingCost, GainIsAskedOfEveryCrossing) {
  const std::vector<PackingSample> samples = {{1024, 8, 2, 1}, {1024, 16, 1.1, 1}};
  EXPECT_EQ((std::vector<PackingCrossing>{{1024, 16}}), crossings_of(samples, 1.0, 0));
  EXPECT_EQ((std::vector<PackingCrossing>{{1024, 8}}), crossings_of(samples, 1.2, 0));
  EXPECT_TRUE(crossings_of({}, 1.0, 1 << 20).empty());
}

}  // namespace
}  // namespace corewise::kernels
