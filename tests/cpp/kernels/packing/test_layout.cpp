// Layouts: size, depth, the order in which runs are visited, and the text for people.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/packing/layout/layout.hpp"

namespace corewise::kernels {
namespace {

/// A list of two repeats of runs of two lengths, one of them empty; then a run.
Layout nested() {
  const Layout repeated = repeat_of(2, -20, runs_of({0, 6, 4}, {2, 0, 1}, 1), 10);
  return sequence_of({list_of({100, 0}, repeated), run_of(5, 3)}, 1000);
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
  const Layout runs = runs_of({0, 8, 20, 30, 40, 50}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_text(runs), "runs, 6: 1 B at 0, 2 B at 8, 3 B at 20, 4 B at 30, ...\n");
  const std::string text = to_text(sequence_of(std::vector<Layout>(9, run_of(1))));
  EXPECT_NE(text.find("  ... and 3 more\n"), std::string::npos);
}

}  // namespace
}  // namespace corewise::kernels
