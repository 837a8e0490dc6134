// MPI's constructors against examples worked out by hand, and the array types against loops over all indexes.
// Random nests are compared with a type map in Python (tests/python/data/test_datatypes.py).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "kernels/packing/layout/checked.hpp"
#include "kernels/packing/layout/datatype.hpp"
#include "kernels/packing/simplification/simplify.hpp"

namespace corewise::kernels {
namespace {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Integers = std::vector<std::int64_t>;

Runs runs_of(const Layout& layout) {
  Runs runs;
  for_each_run(layout, 0, [&runs](std::int64_t offset, std::int64_t bytes) {
    if (!runs.empty() && runs.back().first + runs.back().second == offset) {
      runs.back().second += bytes;
    } else {
      runs.emplace_back(offset, bytes);
    }
  });
  return runs;
}

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

const Datatype kByte = basic(1);
const Datatype kInt = basic(4);
const Datatype kDouble = basic(8);
/// {(double, 0), (char, 8)}, of the examples in MPI-4.1, section 5.1.2.
Datatype example() {
  const std::array<Datatype, 2> types = {kDouble, kByte};
  return structure(Integers{1, 1}, Integers{0, 8}, types);
}

TEST(Datatype, ExtentIsRoundedUpToTheAlignment) {
  expect_bounds(example(), 9, 0, 16, 0, 9);
  EXPECT_EQ(example().alignment, 8);
}

TEST(Datatype, AlignmentIsThatOfTheCType) {
  EXPECT_EQ(basic(16).alignment, 16);
  EXPECT_EQ(basic(16, 8).alignment, 8);
  EXPECT_EQ(basic(12).alignment, 4);
  EXPECT_EQ(basic(64).alignment, 16);
}

TEST(Datatype, Contiguous) {
  expect_bounds(contiguous(3, example()), 27, 0, 48, 0, 41);
  EXPECT_EQ(runs_of(contiguous(3, example())), (Runs{{0, 9}, {16, 9}, {32, 9}}));
  EXPECT_EQ(runs_of(contiguous(5, kInt)), (Runs{{0, 20}}));
}

TEST(Datatype, Vector) {
  const Datatype type = vector(2, 3, 4, example());
  expect_bounds(type, 54, 0, 112, 0, 105);
  EXPECT_EQ(runs_of(type), (Runs{{0, 9}, {16, 9}, {32, 9}, {64, 9}, {80, 9}, {96, 9}}));
}

TEST(Datatype, VectorOfNegativeStride) {
  const Datatype type = vector(3, 1, -2, example());
  expect_bounds(type, 27, -64, 80, -64, 73);
  EXPECT_EQ(runs_of(type), (Runs{{0, 9}, {-32, 9}, {-64, 9}}));
}

TEST(Datatype, HvectorCountsItsStrideInBytes) {
  const Datatype type = hvector(3, 2, 10, kInt);
  expect_bounds(type, 24, 0, 28, 0, 28);
  EXPECT_EQ(runs_of(type), (Runs{{0, 8}, {10, 8}, {20, 8}}));
  expect_bounds(hvector(2, 1, 5, kInt), 8, 0, 12, 0, 9);
}

TEST(Datatype, Indexed) {
  const Datatype type = indexed(Integers{3, 1}, Integers{4, 0}, example());
  expect_bounds(type, 36, 0, 112, 0, 105);
  EXPECT_EQ(runs_of(type), (Runs{{64, 9}, {80, 9}, {96, 9}, {0, 9}}));
  EXPECT_EQ(runs_of(hindexed(Integers{2, 1, 0}, Integers{-3, 9, 100}, kInt)), (Runs{{-3, 8}, {9, 4}}));
}

TEST(Datatype, IndexedBlocks) {
  const Integers displacements = {5, -1, 2};
  EXPECT_EQ(runs_of(indexed_block(2, displacements, kInt)), (Runs{{20, 8}, {-4, 8}, {8, 8}}));
  EXPECT_EQ(runs_of(hindexed_block(2, displacements, kInt)), (Runs{{5, 8}, {-1, 8}, {2, 8}}));
}

TEST(Datatype, BlocksWithoutItemsDoNotCountForTheBounds) {
  expect_bounds(indexed(Integers{0, 1}, Integers{-100, 2}, kInt), 4, 8, 4, 8, 4);
}

TEST(Datatype, Structure) {
  const std::array<Datatype, 3> types = {basic(4), example(), kByte};
  const Datatype type = structure(Integers{2, 1, 3}, Integers{0, 16, 26}, types);
  expect_bounds(type, 20, 0, 32, 0, 29);
  EXPECT_EQ(runs_of(type), (Runs{{0, 8}, {16, 9}, {26, 3}}));
}

TEST(Datatype, StructureOfManyEqualMembersHoldsTheirLayoutOnce) {
  const Datatype column = vector(100, 1, 2, kInt);
  const std::vector<Datatype> types(50, column);
  Integers displacements;
  for (std::int64_t i = 0; i < 50; ++i) {
    displacements.push_back(1000 * i * i);
  }
  const Datatype type = structure(Integers(50, 1), displacements, types);
  ASSERT_EQ(type.layout.children.size(), 1U);
  EXPECT_EQ(type.layout.children.front().kind, Layout::Kind::list);
  EXPECT_EQ(type.size, 50 * 400);
}

TEST(Datatype, Pairs) {
  expect_bounds(basic_pair(8, 8, 4, 16), 12, 0, 16, 0, 12);
  expect_bounds(basic_pair(2, 4, 4, 8), 6, 0, 8, 0, 8);
  EXPECT_EQ(runs_of(contiguous(2, basic_pair(2, 4, 4, 8))), (Runs{{0, 2}, {4, 6}, {12, 4}}));
}

TEST(Datatype, ResizedBoundsStickToWhatIsBuiltFromThem) {
  const Datatype type = resized(kInt, -3, 9);
  expect_bounds(type, 4, -3, 9, 0, 4);
  expect_bounds(contiguous(2, type), 8, -3, 18, 0, 13);
  const std::array<Datatype, 2> types = {type, kDouble};
  expect_bounds(structure(Integers{1, 1}, Integers{0, 100}, types), 12, -3, 9, 0, 108);
}

TEST(Datatype, NegativeExtent) {
  const Datatype type = contiguous(3, resized(kInt, 0, -8));
  EXPECT_EQ(runs_of(type), (Runs{{0, 4}, {-8, 4}, {-16, 4}}));
  expect_bounds(type, 12, -16, 8, -16, 20);
}

TEST(Datatype, WithoutData) {
  for (const Datatype& type : {contiguous(0, kInt), vector(3, 0, 2, kInt), vector(0, 3, 2, kInt),
                               indexed(Integers{}, Integers{}, kInt), structure({}, {}, {}), basic(0)}) {
    expect_bounds(type, 0, 0, 0, 0, 0);
    EXPECT_EQ(type.layout, Layout{});
  }
  const Datatype wide = resized(contiguous(0, kInt), -8, 24);
  expect_bounds(contiguous(3, wide), 0, -8, 72, 0, 0);
}

TEST(Datatype, SubarrayHasTheExtentOfTheArray) {
  const Integers sizes = {4, 6}, subsizes = {2, 3}, starts = {1, 2};
  const Datatype c = subarray(sizes, subsizes, starts, Order::c, kInt);
  expect_bounds(c, 24, 0, 96, 32, 36);
  EXPECT_EQ(runs_of(c), (Runs{{32, 12}, {56, 12}}));
  const Datatype fortran = subarray(sizes, subsizes, starts, Order::fortran, kInt);
  expect_bounds(fortran, 24, 0, 96, 36, 40);
  EXPECT_EQ(runs_of(fortran), (Runs{{36, 8}, {52, 8}, {68, 8}}));
}

// darray: every index of the array by itself

struct Darray {
  Integers gsizes;
  std::vector<Distribution> distributions;
  Integers dargs, psizes;
  Order order;
};

bool owns(const Darray& array, std::size_t i, std::int64_t index, std::int64_t coordinate) {
  const std::int64_t processes = array.psizes[i];
  std::int64_t block = array.dargs[i];
  if (array.distributions[i] == Distribution::none) {
    return true;
  }
  if (block == kDefaultDarg) {
    block = array.distributions[i] == Distribution::cyclic ? 1 : (array.gsizes[i] + processes - 1) / processes;
  }
  return index / block % processes == coordinate;
}

/// Offsets, in elements, of what a rank owns, in the order of memory.
Integers owned(const Darray& array, std::int64_t rank) {
  const std::size_t dimensions = array.gsizes.size();
  Integers coordinates(dimensions);
  for (std::size_t i = dimensions; i-- > 0; rank /= array.psizes[i]) {
    coordinates[i] = rank % array.psizes[i];
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : array.gsizes) {
    elements *= size;
  }
  Integers offsets;
  for (std::int64_t at = 0; at < elements; ++at) {
    bool mine = true;
    std::int64_t rest = at;
    for (std::size_t step = 0; step < dimensions; ++step) {
      const std::size_t i = array.order == Order::fortran ? step : dimensions - 1 - step;
      mine = mine && owns(array, i, rest % array.gsizes[i], coordinates[i]);
      rest /= array.gsizes[i];
    }
    if (mine) {
      offsets.push_back(at);
    }
  }
  return offsets;
}

void expect_darray(const Darray& array, std::int64_t ranks) {
  std::int64_t elements = 1;
  for (const std::int64_t size : array.gsizes) {
    elements *= size;
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto made = checked::darray(ranks, rank, array.gsizes, array.distributions, array.dargs, array.psizes,
                                      array.order, kInt);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Integers mine = owned(array, rank);
    EXPECT_EQ(runs_of(made.value()), runs_of(indexed_block(1, mine, kInt)));
    EXPECT_EQ(made.value().size, 4 * static_cast<std::int64_t>(mine.size()));
    EXPECT_EQ(made.value().lb, 0);
    EXPECT_EQ(made.value().extent, 4 * elements);
    EXPECT_EQ(made.value().true_lb, mine.empty() ? 0 : 4 * mine.front());
    EXPECT_EQ(made.value().true_extent, mine.empty() ? 0 : 4 * (mine.back() - mine.front() + 1));
  }
}

TEST(Datatype, DarrayInOneDimension) {
  for (const Order order : {Order::c, Order::fortran}) {
    for (std::int64_t size = 1; size <= 13; ++size) {
      for (std::int64_t processes = 1; processes <= 5; ++processes) {
        expect_darray({{size}, {Distribution::block}, {kDefaultDarg}, {processes}, order}, processes);
        expect_darray({{size}, {Distribution::block}, {size}, {processes}, order}, processes);
        for (std::int64_t block = 1; block <= 5; ++block) {
          expect_darray({{size}, {Distribution::cyclic}, {block}, {processes}, order}, processes);
        }
        expect_darray({{size}, {Distribution::cyclic}, {kDefaultDarg}, {processes}, order}, processes);
      }
    }
  }
}

TEST(Datatype, DarrayInThreeDimensions) {
  for (const Order order : {Order::c, Order::fortran}) {
    expect_darray({{7, 5, 6},
                   {Distribution::cyclic, Distribution::none, Distribution::block},
                   {2, kDefaultDarg, kDefaultDarg},
                   {2, 1, 3},
                   order},
                  6);
    expect_darray({{4, 9}, {Distribution::block, Distribution::cyclic}, {3, 2}, {2, 2}, order}, 4);
  }
}

// Depth, large lists, checked arguments

TEST(Datatype, ADeepNestStaysShallow) {
  Datatype type = kDouble;
  for (int level = 0; level < 5000; ++level) {
    type = hvector(1, 1, 7, contiguous(1, type));
    ASSERT_LE(depth_of(type.layout), kDeepest);
  }
  EXPECT_EQ(runs_of(type), (Runs{{0, 8}}));
  Datatype chain = kInt;
  for (std::int64_t level = 1; level <= 500; ++level) {
    const std::array<Datatype, 2> types = {kInt, chain};
    chain = structure(Integers{1, 1}, Integers{-12 * level * level, 0}, types);
  }
  EXPECT_EQ(runs_of(chain).size(), 501U);
  EXPECT_EQ(chain.size, 4 * 501);
}

TEST(Datatype, DimensionsWithoutNumber) {
  const Integers ones(3000, 1), zeros(3000, 0);
  EXPECT_EQ(runs_of(subarray(ones, ones, zeros, Order::c, kInt)), (Runs{{0, 4}}));
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
  const Datatype type = indexed(lengths, displacements, indexed_block(1, uneven, kByte));
  EXPECT_EQ(type.size, 30000 * 20000);
  EXPECT_EQ(type.layout.kind, Layout::Kind::list);
}

void expect_refused(const Result<Datatype>& result, const std::string& field) {
  ASSERT_FALSE(result.ok()) << field;
  EXPECT_NE(result.status().message().find("field '" + field + "'"), std::string::npos)
      << result.status().message();
}

TEST(Datatype, CheckedArguments) {
  namespace c = checked;
  const Integers one = {1}, two = {1, 1};
  expect_refused(c::contiguous(-1, kInt), "count");
  expect_refused(c::contiguous(std::int64_t{1} << 59, kInt), "count");
  expect_refused(c::vector(1, -1, 1, kInt), "blocklength");
  expect_refused(c::hvector(1 << 30, 1, std::int64_t{1} << 40, kInt), "stride");
  expect_refused(c::indexed(Integers{1, -2}, two, kInt), "blocklengths[1]");
  expect_refused(c::indexed(one, two, kInt), "displacements");
  expect_refused(c::hindexed(one, Integers{std::int64_t{1} << 61}, kInt), "displacements");
  expect_refused(c::structure(two, two, std::vector<Datatype>{kInt}), "types");
  expect_refused(c::subarray(Integers{4}, Integers{5}, Integers{0}, Order::c, kInt), "subsizes[0]");
  expect_refused(c::subarray(Integers{4}, Integers{3}, Integers{2}, Order::c, kInt), "starts[0]");
  expect_refused(c::subarray(Integers{}, Integers{}, Integers{}, Order::c, kInt), "sizes");
  const std::vector<Distribution> block = {Distribution::block}, none = {Distribution::none};
  expect_refused(c::darray(3, 0, Integers{8}, block, Integers{2}, Integers{3}, Order::c, kInt), "dargs[0]");
  expect_refused(c::darray(3, 0, Integers{8}, none, Integers{-1}, Integers{3}, Order::c, kInt), "psizes[0]");
  expect_refused(c::darray(3, 3, Integers{8}, block, Integers{-1}, Integers{3}, Order::c, kInt), "rank");
  expect_refused(c::darray(4, 0, Integers{8}, block, Integers{-1}, Integers{3}, Order::c, kInt), "size");
  expect_refused(c::resized(kInt, 0, std::int64_t{1} << 61), "extent");
  expect_refused(c::basic(8, 3), "alignment");
  EXPECT_TRUE(c::resized(kInt, -64, -8).ok());
}

TEST(Datatype, LayoutOfManyItems) {
  EXPECT_EQ(runs_of(layout_of(example(), 3)), (Runs{{0, 9}, {16, 9}, {32, 9}}));
  EXPECT_EQ(simplify(layout_of(vector(4, 1, 2, kInt), 0)), Layout{});
}

}  // namespace
}  // namespace corewise::kernels
