// Simplification: what each pass does, that no pass changes what is packed or its order, that the result keeps
// every promise of the canonical form, and that a list of a million entries or a deep tree is no special case.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "kernels/packing/layout/datatype.hpp"
#include "kernels/packing/simplification/simplify.hpp"
#include "layout_reference.hpp"

namespace corewise::kernels {
namespace {

using Integers = std::vector<std::int64_t>;
using reference::broken_promise;
using reference::runs_of;

const Datatype kInt = basic(4).value();
const Datatype kDouble = basic(8).value();

TEST(Simplify, CanonicalFormsByExample) {
  Integers even, grid, lengths, displacements;
  for (std::int64_t i = 0; i < 12; ++i) {
    even.push_back(3 * i);
    grid.push_back(2 * (i % 4) + 100 * (i / 4));
    lengths.push_back(1 + i % 2);
    displacements.push_back(10 * (i / 2) + 4 * (i % 2));
  }
  const Datatype column = vector(4, 1, 10, kDouble).value();
  const std::vector<Datatype> columns(3, column), unlike = {column, kInt};
  const Integers ones(3, 1), sizes = {8, 8, 8}, starts = {1, 2, 0};
  const std::vector<std::pair<Datatype, std::string>> examples = {
      // What is contiguous is a run.
      {contiguous(1000, contiguous(3, kDouble).value()).value(), "run of 24000 B\n"},
      {vector(16, 4, 4, kDouble).value(), "run of 512 B\n"},
      {indexed(Integers{2, 1, 3}, Integers{7, 9, 10}, kInt).value(), "run of 24 B at 28\n"},
      // A vector is a repeat of a run; repeats that continue each other are one.
      {vector(512, 8, 16, kDouble).value(), "repeat 512 times, stride 128 B\n  run of 64 B\n"},
      {vector(3, 1, -2, kInt).value(), "repeat 3 times, stride -8 B\n  run of 4 B\n"},
      {contiguous(4, resized(kInt, -4, 12).value()).value(), "repeat 4 times, stride 12 B\n  run of 4 B\n"},
      {hvector(10, 1, 48, vector(3, 1, 2, kDouble).value()).value(),
       "repeat 30 times, stride 16 B\n  run of 8 B\n"},
      {hvector(10, 1, 56, vector(3, 1, 2, kDouble).value()).value(),
       "repeat 10 times, stride 56 B\n  repeat 3 times, stride 16 B\n    run of 8 B\n"},
      // A subarray has a loop per dimension that is not whole.
      {subarray(sizes, Integers{3, 4, 8}, starts, Order::c, kDouble).value(),
       "repeat 3 times, stride 512 B at 640\n  run of 256 B\n"},
      {subarray(sizes, Integers{3, 4, 5}, starts, Order::c, kDouble).value(),
       "repeat 3 times, stride 512 B at 640\n  repeat 4 times, stride 64 B\n    run of 40 B\n"},
      // Even lists are repeats in one dimension or two; uneven ones keep their offsets.
      {indexed_block(1, even, kInt).value(), "repeat 12 times, stride 12 B\n  run of 4 B\n"},
      {indexed_block(1, grid, kInt).value(),
       "repeat 3 times, stride 400 B\n  repeat 4 times, stride 8 B\n    run of 4 B\n"},
      {indexed(lengths, displacements, kInt).value(),
       "repeat 6 times, stride 40 B\n  runs, 2: 4 B at 0, 8 B at 16\n"},
      {indexed_block(2, Integers{0, 5, 3}, kInt).value(), "runs, 3: 8 B at 0, 8 B at 20, 8 B at 12\n"},
      {indexed(Integers{2, 1, 2}, Integers{1, 5, 30}, kInt).value(),
       "runs, 3 at 4: 8 B at 0, 4 B at 16, 8 B at 116\n"},
      // Structures of equal members are lists or repeats, of unlike ones sequences.
      {structure(ones, Integers{0, 8, 16}, columns).value(),
       "repeat 3 times, stride 8 B\n  repeat 4 times, stride 80 B\n    run of 8 B\n"},
      {structure(ones, Integers{8, 24, 16}, columns).value(),
       "list of 3 at 8: 0, 16, 8\n  repeat 4 times, stride 80 B\n    run of 8 B\n"},
      {structure(Integers{1, 2}, Integers{16, 400}, unlike).value(),
       "sequence of 2 at 16\n  repeat 4 times, stride 80 B\n    run of 8 B\n  run of 8 B at 384\n"},
  };
  for (const auto& [type, form] : examples) {
    EXPECT_EQ(to_text(simplify(type.layout)), form);
  }
}

// Any layout

TEST(Simplify, EveryPassKeepsWhatIsPackedAndItsOrder) {
  Rng rng(7);
  std::set<std::string_view> seen;
  std::vector<std::uint8_t> bytes(96);
  for (int round = 0; round < 4000; ++round) {
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(rng.next());
    }
    const Layout layout = reference::Maker(bytes).layout();
    const reference::Runs runs = runs_of(layout);
    std::vector<Stage> stages;
    const Layout canonical = simplify(layout, &stages);
    for (const Stage& stage : stages) {
      seen.insert(stage.pass);
      ASSERT_EQ(runs_of(stage.layout), runs) << stage.pass << " of round " << round << " of\n" << to_text(layout);
    }
    ASSERT_EQ(broken_promise(canonical), "") << to_text(layout) << "became\n" << to_text(canonical);
    ASSERT_EQ(simplify(canonical), canonical);
    ASSERT_LE(depth_of(canonical), 2 * std::bit_width(static_cast<std::uint64_t>(size_of(layout))) + 2);
  }
  EXPECT_EQ(seen.size(), 9U);  // every pass found something to do
}

// Large and deep

TEST(Simplify, AMillionEntries) {
  Rng rng(3);
  Integers uneven, lengths, even;
  for (std::int64_t i = 0; i < 1000000; ++i) {
    uneven.push_back(10 * i + static_cast<std::int64_t>(rng.next() % 4));
    lengths.push_back(1 + static_cast<std::int64_t>(rng.next() % 3));
    even.push_back(2 * (i % 1000) + 5000 * (i / 1000));
  }
  const Layout runs = simplify(indexed(lengths, uneven, kInt).value().layout);
  EXPECT_EQ(runs.kind, Layout::Kind::runs);
  EXPECT_EQ(runs.lengths.size(), 1000000U);
  const Layout grid = simplify(indexed_block(1, even, kInt).value().layout);
  EXPECT_EQ(to_text(grid), "repeat 1000 times, stride 20000 B\n  repeat 1000 times, stride 8 B\n    run of 4 B\n");
}

TEST(Simplify, AlmostPeriodicListsCostNoMoreThanAFewSweeps) {
  // The failure function's worst case: long matches that break at their end, again and again.
  Integers displacements;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < 1000000; ++i) {
    at += i % 1001 == 1000 ? 3 : 2;
    displacements.push_back(at);
  }
  displacements.back() += 1;
  const Layout layout = simplify(indexed_block(1, displacements, kInt).value().layout);
  EXPECT_EQ(size_of(layout), 4000000);
}

TEST(Simplify, AStructureOfManyUnlikeMembers) {
  std::vector<Datatype> types;
  Integers lengths, displacements;
  for (std::int64_t i = 0; i < 60000; ++i) {
    types.push_back(i % 3 == 0 ? vector(2 + i % 7, 1, 3, kInt).value() : kInt);
    lengths.push_back(1);
    displacements.push_back(100 * i);
  }
  std::vector<Stage> stages;
  const Datatype type = structure(lengths, displacements, types).value();
  const Layout layout = simplify(type.layout, &stages);
  EXPECT_EQ(size_of(layout), type.size);
  EXPECT_LE(stages.size(), 12U);
}

TEST(Simplify, ADeepTreeTakesFewRounds) {
  Layout layout = layout_of(kInt, 1);
  for (int level = 0; level < 60; ++level) {
    layout = repeat_of(1, 0, sequence_of({std::move(layout), run_of(4, 8 * (level + 1) * (level + 1))}));
  }
  const reference::Runs runs = runs_of(layout);
  std::vector<Stage> stages;
  const Layout canonical = simplify(layout, &stages);
  EXPECT_EQ(runs_of(canonical), runs);
  EXPECT_EQ(depth_of(canonical), 1);
  EXPECT_LE(stages.size(), 20U);
}

}  // namespace
}  // namespace corewise::kernels
