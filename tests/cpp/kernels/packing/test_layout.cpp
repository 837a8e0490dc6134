// Layouts: size, depth, the order in which runs are visited, and the text for people.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/packing/layout/layout.hpp"

namespace corewise::kernels {
namespace {

using Kind = Layout::Kind;

Layout run(std::int64_t offset, std::int64_t bytes) {
  Layout layout;
  layout.offset = offset;
  layout.bytes = bytes;
  return layout;
}

/// A list of two repeats of runs of two lengths, one of them empty; then a run.
Layout nested() {
  Layout runs;
  runs.kind = Kind::runs;
  runs.offset = 1;
  runs.offsets = {0, 6, 4};
  runs.lengths = {2, 0, 1};
  Layout repeat;
  repeat.kind = Kind::repeat;
  repeat.offset = 10;
  repeat.count = 2;
  repeat.stride = -20;
  repeat.children = {runs};
  Layout list;
  list.kind = Kind::list;
  list.offsets = {100, 0};
  list.children = {repeat};
  Layout sequence;
  sequence.kind = Kind::sequence;
  sequence.offset = 1000;
  sequence.children = {list, run(3, 5)};
  return sequence;
}

TEST(Layout, SizeCountsEveryRun) {
  EXPECT_EQ(size_of(nested()), 2 * 2 * 3 + 5);
  EXPECT_EQ(size_of(Layout{}), 0);
}

TEST(Layout, RunsAreVisitedInPackingOrder) {
  std::vector<std::pair<std::int64_t, std::int64_t>> visited;
  for_each_run(nested(), 5,
               [&visited](std::int64_t offset, std::int64_t bytes) { visited.emplace_back(offset, bytes); });
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {1116, 2}, {1120, 1}, {1096, 2}, {1100, 1}, {1016, 2}, {1020, 1}, {996, 2}, {1000, 1}, {1008, 5}};
  EXPECT_EQ(visited, expected);
}

TEST(Layout, Depth) {
  EXPECT_EQ(depth_of(Layout{}), 1);
  EXPECT_EQ(depth_of(nested()), 4);
}

TEST(Layout, TextHasALinePerNode) {
  EXPECT_EQ(to_text(nested()),
            "sequence of 2 at 1000\n"
            "  list of 2: 100, 0\n"
            "    repeat 2 times, stride -20 B at 10\n"
            "      runs, 3 at 1: 2 B at 0, 0 B at 6, 1 B at 4\n"
            "  run of 5 B at 3\n");
}

TEST(Layout, TextOfLongListsIsShort) {
  Layout runs;
  runs.kind = Kind::runs;
  runs.offsets = {0, 8, 20, 30, 40, 50};
  runs.lengths = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(to_text(runs), "runs, 6: 1 B at 0, 2 B at 8, 3 B at 20, 4 B at 30, ...\n");
  Layout sequence;
  sequence.kind = Kind::sequence;
  sequence.children.assign(9, run(0, 1));
  const std::string text = to_text(sequence);
  EXPECT_NE(text.find("  ... and 3 more\n"), std::string::npos);
}

}  // namespace
}  // namespace corewise::kernels
