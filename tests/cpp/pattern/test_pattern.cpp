// Checks and matrix arithmetic against values worked out by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <limits>

#include "pattern/pattern.hpp"

namespace cp = corewise::pattern;

namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

cp::Pattern two_phases() {
  return {"two", 3, {{"a", {{2, 0, 5, 1}, {0, 1, 10, 2}, {1, 1, 7, 1}}}, {"b", {{0, 1, 30, 1}, {2, 1, 0, 1}}}}};
}

}  // namespace

TEST(Pattern, CheckAcceptsSelfMessagesAndEmptyPhases) {
  EXPECT_TRUE(cp::check(two_phases()).ok());
  EXPECT_TRUE(cp::check({"none", 1, {}}).ok());
  EXPECT_TRUE(cp::check({"empty", 1, {{"p", {}}}}).ok());
}

TEST(Pattern, CheckNamesWhatIsWrong) {
  EXPECT_EQ(cp::check({"p", 0, {}}, "f").message(),
            "f: field 'ranks': found 0, allowed: an integer from 1 to 16777216");
  EXPECT_EQ(cp::check({"p", 2, {{"a", {}}, {"b", {{0, 1, 1, 1}, {0, 2, 1, 1}}}}}, "f").message(),
            "f: field 'phases[1].messages[1].to': found rank 2, allowed: a rank from 0 to 1");
  EXPECT_EQ(cp::check({"p", 2, {{"a", {{-1, 0, 1, 1}}}}}).message(),
            "field 'phases[0].messages[0].from': found rank -1, allowed: a rank from 0 to 1");
}

TEST(Pattern, CheckRefusesTotalsOverSixtyFourBits) {
  EXPECT_TRUE(cp::check({"p", 2, {{"a", {{0, 1, huge, 1}}}}}).ok());
  EXPECT_FALSE(cp::check({"p", 2, {{"a", {{0, 1, huge, 1}}}, {"b", {{1, 0, 1, 1}}}}}).ok());
  EXPECT_FALSE(cp::check({"p", 2, {{"a", {{0, 1, 1, huge}, {0, 1, 1, 1}}}}}).ok());
}

TEST(Pattern, SumMergesPhasesSortedByPair) {
  const auto matrix = cp::sum(two_phases());
  const std::vector<cp::Message> expected{{0, 1, 40, 3}, {1, 1, 7, 1}, {2, 0, 5, 1}, {2, 1, 0, 1}};
  EXPECT_EQ(matrix.ranks, 3);
  EXPECT_EQ(matrix.entries, expected);
}

TEST(Pattern, MatrixHelpers) {
  const auto matrix = cp::sum(two_phases());
  EXPECT_EQ(matrix.bytes(0, 1), 40U);
  EXPECT_EQ(matrix.bytes(1, 0), 0U);
  EXPECT_EQ(matrix.find(1, 0), nullptr);
  ASSERT_NE(matrix.find(2, 1), nullptr);
  EXPECT_EQ(matrix.find(2, 1)->count, 1U);
  EXPECT_EQ(matrix.row_bytes(), (std::vector<std::uint64_t>{40, 7, 5}));
  EXPECT_EQ(matrix.column_bytes(), (std::vector<std::uint64_t>{5, 47, 0}));
  EXPECT_EQ(matrix.total_bytes(), 52U);
  EXPECT_EQ(matrix.total_messages(), 6U);
  EXPECT_EQ(matrix.dense_bytes(), (std::vector<std::uint64_t>{0, 40, 0, 0, 7, 0, 5, 0, 0}));
}

TEST(Pattern, FromEntriesSortsAndValidates) {
  const auto good = cp::Matrix::from_entries(2, {{1, 0, 4, 1}, {0, 1, 3, 1}});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value().entries, (std::vector<cp::Message>{{0, 1, 3, 1}, {1, 0, 4, 1}}));
  EXPECT_EQ(cp::sum(cp::as_pattern(good.value(), "again")), good.value());
  const auto twice = cp::Matrix::from_entries(2, {{1, 0, 4, 1}, {0, 1, 3, 1}, {1, 0, 9, 1}}, "m");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.status().message(), "m: field 'entries': found the pair (1, 0) twice, allowed: each pair once");
  EXPECT_FALSE(cp::Matrix::from_entries(2, {{0, 2, 1, 1}}).ok());
  EXPECT_FALSE(cp::Matrix::from_entries(0, {}).ok());
  EXPECT_FALSE(cp::Matrix::from_entries(2, {{0, 1, huge, 1}, {1, 0, 1, 1}}).ok());
}
