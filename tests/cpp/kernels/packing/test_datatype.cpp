// MPI's constructors against examples worked out by hand, and darray against loops over all indexes of one array.
// Random nests are compared with a type map in Python (tests/python/data/test_datatypes.py).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "kernels/packing/layout/datatype.hpp"
#include "kernels/packing/simplification/simplify.hpp"
#include "layout_reference.hpp"

namespace corewise::kernels {
namespace {

using reference::Runs;
using reference::runs_of;
using Integers = std::vector<std::int64_t>;

Runs runs_of(const Datatype& type) {
  return runs_of(type.layout);
}

void expect_bounds(const Datatype& type, std::int64_t size, std::int64_t lb, std::int64_t extent,
                   std::int64_t true_lb, std::int64_t true_extent) {
  EXPECT_EQ(type.size, size);
  EXPECT_EQ(type.lb, lb);
  EXPECT_EQ(type.extent, extent);
  EXPECT_EQ(type.true_lb, true_lb);
  EXPECT_EQ(type.true_extent, true_extent);
}

const Datatype kByte = basic(1).value();
const Datatype kInt = basic(4).value();
const Datatype kDouble = basic(8).value();
/// {(double, 0), (char, 8)}, of the examples in MPI-4.1, section 5.1.2.
Datatype example() {
  const std::array<Datatype, 2> types = {kDouble, kByte};
  return structure(Integers{1, 1}, Integers{0, 8}, types).value();
}

TEST(Datatype, AlignmentIsThatOfTheCType) {
  EXPECT_EQ(basic(16).value().alignment, 16);
  EXPECT_EQ(basic(16, 8).value().alignment, 8);
  EXPECT_EQ(basic(12).value().alignment, 4);
  EXPECT_EQ(basic(64).value().alignment, 16);
}

TEST(Datatype, Contiguous) {
  expect_bounds(contiguous(3, example()).value(), 27, 0, 48, 0, 41);
  EXPECT_EQ(runs_of(contiguous(3, example()).value()), (Runs{{0, 9}, {16, 9}, {32, 9}}));
  EXPECT_EQ(runs_of(contiguous(5, kInt).value()), (Runs{{0, 20}}));
}

TEST(Datatype, Vector) {
  const Datatype type = vector(2, 3, 4, example()).value();
  expect_bounds(type, 54, 0, 112, 0, 105);
  EXPECT_EQ(runs_of(type), (Runs{{0, 9}, {16, 9}, {32, 9}, {64, 9}, {80, 9}, {96, 9}}));
}

TEST(Datatype, VectorOfNegativeStride) {
  const Datatype type = vector(3, 1, -2, example()).value();
  expect_bounds(type, 27, -64, 80, -64, 73);
  EXPECT_EQ(runs_of(type), (Runs{{0, 9}, {-32, 9}, {-64, 9}}));
}

TEST(Datatype, HvectorCountsItsStrideInBytes) {
  const Datatype type = hvector(3, 2, 10, kInt).value();
  expect_bounds(type, 24, 0, 28, 0, 28);
  EXPECT_EQ(runs_of(type), (Runs{{0, 8}, {10, 8}, {20, 8}}));
  expect_bounds(hvector(2, 1, 5, kInt).value(), 8, 0, 12, 0, 9);
}

TEST(Datatype, Indexed) {
  const Datatype type = indexed(Integers{3, 1}, Integers{4, 0}, example()).value();
  expect_bounds(type, 36, 0, 112, 0, 105);
  EXPECT_EQ(runs_of(type), (Runs{{64, 9}, {80, 9}, {96, 9}, {0, 9}}));
  EXPECT_EQ(runs_of(hindexed(Integers{2, 1, 0}, Integers{-3, 9, 100}, kInt).value()), (Runs{{-3, 8}, {9, 4}}));
}

TEST(Datatype, IndexedBlocks) {
  const Integers displacements = {5, -1, 2};
  EXPECT_EQ(runs_of(indexed_block(2, displacements, kInt).value()), (Runs{{20, 8}, {-4, 8}, {8, 8}}));
  EXPECT_EQ(runs_of(hindexed_block(2, displacements, kInt).value()), (Runs{{5, 8}, {-1, 8}, {2, 8}}));
}

TEST(Datatype, Structure) {
  const std::array<Datatype, 3> types = {basic(4).value(), example(), kByte};
  const Datatype type = structure(Integers{2, 1, 3}, Integers{0, 16, 26}, types).value();
  expect_bounds(type, 20, 0, 32, 0, 29);
  EXPECT_EQ(runs_of(type), (Runs{{0, 8}, {16, 9}, {26, 3}}));
}

TEST(Datatype, StructureOfManyEqualMembersHoldsTheirLayoutOnce) {
  const Datatype column = vector(100, 1, 2, kInt).value();
  const std::vector<Datatype> types(50, column);
  Integers displacements;
  for (std::int64_t i = 0; i < 50; ++i) {
    displacements.push_back(1000 * i * i);
  }
  const Datatype type = structure(Integers(50, 1), displacements, types).value();
  EXPECT_EQ(type.layout.kind, Layout::Kind::list);
  EXPECT_EQ(type.size, 50 * 400);
}

TEST(Datatype, Pairs) {
  expect_bounds(basic_pair(8, 8, 4, 16).value(), 12, 0, 16, 0, 12);
  expect_bounds(basic_pair(2, 4, 4, 8).value(), 6, 0, 8, 0, 8);
  EXPECT_EQ(runs_of(contiguous(2, basic_pair(2, 4, 4, 8).value()).value()), (Runs{{0, 2}, {4, 6}, {12, 4}}));
}

TEST(Datatype, ResizedBoundsStickToWhatIsBuiltFromThem) {
  const Datatype type = resized(kInt, -3, 9).value();
  expect_bounds(type, 4, -3, 9, 0, 4);
  expect_bounds(contiguous(2, type).value(), 8, -3, 18, 0, 13);
  const std::array<Datatype, 2> types = {type, kDouble};
  expect_bounds(structure(Integers{1, 1}, Integers{0, 100}, types).value(), 12, -3, 9, 0, 108);
}

TEST(Datatype, WithoutData) {
  for (const Datatype& type :
       {contiguous(0, kInt).value(), vector(3, 0, 2, kInt).value(), vector(0, 3, 2, kInt).value(),
        indexed(Integers{}, Integers{}, kInt).value(), structure({}, {}, {}).value(), basic(0).value()}) {
    expect_bounds(type, 0, 0, 0, 0, 0);
    EXPECT_EQ(type.layout, Layout{});
  }
  const Datatype wide = resized(contiguous(0, kInt).value(), -8, 24).value();
  expect_bounds(contiguous(3, wide).value(), 0, -8, 72, 0, 0);
}

TEST(Datatype, SubarrayHasTheExtentOfTheArray) {
  const Integers sizes = {4, 6}, subsizes = {2, 3}, starts = {1, 2};
  const Datatype c = subarray(sizes, subsizes, starts, Order::c, kInt).value();
  expect_bounds(c, 24, 0, 96, 32, 36);
  EXPECT_EQ(runs_of(c), (Runs{{32, 12}, {56, 12}}));
  const Datatype fortran = subarray(sizes, subsizes, starts, Order::fortran, kInt).value();
  expect_bounds(fortran, 24, 0, 96, 36, 40);
  EXPECT_EQ(runs_of(fortran), (Runs{{36, 8}, {52, 8}, {68, 8}}));
}

/// Offsets, in elements, of what a coordinate owns of one dimension: every index by itself.
Integers owned(std::int64_t size, Distribution distribution, std::int64_t darg, std::int64_t processes,
               std::int64_t coordinate) {
  const bool cyclic = distribution == Distribution::cyclic;
  const std::int64_t block = darg != kDefaultDarg ? darg : cyclic ? 1 : (size + processes - 1) / processes;
  Integers mine;
  for (std::int64_t i = 0; i < size; ++i) {
    if (distribution == Distribution::none || i / block % processes == coordinate) mine.push_back(i);
  }
  return mine;
}

TEST(Datatype, DarrayInThreeDimensions) {
  const Integers gsizes = {7, 5, 6}, dargs = {2, kDefaultDarg, kDefaultDarg}, psizes = {2, 1, 3};
  const std::vector<Distribution> distributions = {Distribution::cyclic, Distribution::none, Distribution::block};
  for (std::int64_t rank = 0; rank < 6; ++rank) {
    const Integers planes = owned(7, Distribution::cyclic, 2, 2, rank / 3),
                   rows = owned(5, Distribution::none, 0, 1, 0);
    const Integers columns = owned(6, Distribution::block, kDefaultDarg, 3, rank % 3);
    Integers c, fortran;
    for (const std::int64_t i : planes) {
      for (const std::int64_t j : rows) {
        for (const std::int64_t k : columns) c.push_back((i * 5 + j) * 6 + k);
      }
    }
    for (const std::int64_t k : columns) {
      for (const std::int64_t j : rows) {
        for (const std::int64_t i : planes) fortran.push_back((k * 5 + j) * 7 + i);
      }
    }
    for (const Order order : {Order::c, Order::fortran}) {
      const Datatype made = darray(6, rank, gsizes, distributions, dargs, psizes, order, kInt).value();
      EXPECT_EQ(runs_of(made), runs_of(indexed_block(1, order == Order::c ? c : fortran, kInt).value()));
      EXPECT_EQ(made.extent, 4 * 7 * 5 * 6);
    }
  }
}

// Depth, large lists, checked arguments

TEST(Datatype, ADeepNestStaysShallow) {
  Datatype type = kDouble;
  for (int level = 0; level < 5000; ++level) {
    type = hvector(1, 1, 7, contiguous(1, type).value()).value();
    ASSERT_LE(depth_of(type.layout), kDeepest);
  }
  EXPECT_EQ(runs_of(type), (Runs{{0, 8}}));
  Datatype chain = kInt;
  for (std::int64_t level = 1; level <= 500; ++level) {
    const std::array<Datatype, 2> types = {kInt, chain};
    chain = structure(Integers{1, 1}, Integers{-12 * level * level, 0}, types).value();
  }
  EXPECT_EQ(runs_of(chain).size(), 501U);
  EXPECT_EQ(chain.size, 4 * 501);
}

TEST(Datatype, DimensionsWithoutNumber) {
  const Integers ones(3000, 1), zeros(3000, 0);
  EXPECT_EQ(runs_of(subarray(ones, ones, zeros, Order::c, kInt).value()), (Runs{{0, 4}}));
}

TEST(Datatype, UnequalBlocksOfALargeTypeDoNotCopyItForEveryBlock) {
  Integers lengths, displacements;
  for (std::int64_t i = 0; i < 20000; ++i) {
    lengths.push_back(1 + i % 2);
    displacements.push_back(3 * i);
  }
  Integers uneven;
  for (std::int64_t i = 0; i < 20000; ++i) {
    uneven.push_back(i * i);
  }
  const Datatype type = indexed(lengths, displacements, indexed_block(1, uneven, kByte).value()).value();
  EXPECT_EQ(type.size, 30000 * 20000);
  EXPECT_EQ(type.layout.kind, Layout::Kind::list);
}

void expect_refused(const Result<Datatype>& result, const std::string& field) {
  ASSERT_FALSE(result.ok()) << field;
  EXPECT_NE(result.status().message().find("field '" + field + "'"), std::string::npos)
      << result.status().message();
}

TEST(Datatype, CheckedArguments) {
  const Integers one = {1}, two = {1, 1};
  expect_refused(contiguous(-1, kInt), "count");
  expect_refused(contiguous(std::int64_t{1} << 59, kInt), "count");
  expect_refused(vector(1, -1, 1, kInt), "blocklength");
  expect_refused(hvector(1 << 30, 1, std::int64_t{1} << 40, kInt), "stride");
  expect_refused(indexed(Integers{1, -2}, two, kInt), "blocklengths[1]");
  expect_refused(indexed(one, two, kInt), "displacements");
  expect_refused(hindexed(one, Integers{std::int64_t{1} << 61}, kInt), "displacements");
  expect_refused(structure(two, two, std::vector<Datatype>{kInt}), "types");
  expect_refused(subarray(Integers{4}, Integers{5}, Integers{0}, Order::c, kInt), "subsizes[0]");
  expect_refused(subarray(Integers{4}, Integers{3}, Integers{2}, Order::c, kInt), "starts[0]");
  expect_refused(subarray(Integers{}, Integers{}, Integers{}, Order::c, kInt), "sizes");
  const std::vector<Distribution> block = {Distribution::block}, none = {Distribution::none};
  expect_refused(darray(3, 0, Integers{8}, block, Integers{2}, Integers{3}, Order::c, kInt), "dargs[0]");
  expect_refused(darray(3, 0, Integers{8}, none, Integers{-1}, Integers{3}, Order::c, kInt), "psizes[0]");
  expect_refused(darray(3, 3, Integers{8}, block, Integers{-1}, Integers{3}, Order::c, kInt), "rank");
  expect_refused(darray(4, 0, Integers{8}, block, Integers{-1}, Integers{3}, Order::c, kInt), "size");
  expect_refused(resized(kInt, 0, std::int64_t{1} << 61), "extent");
  expect_refused(basic(8, 3), "alignment");
  EXPECT_TRUE(resized(kInt, -64, -8).ok());
}

}  // namespace
}  // namespace corewise::kernels
