// Exchanges between two threads, and their costs. No test looks at how long anything took.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include "kernels/packing/layout/layout.hpp"
#include "probe/messages.hpp"
#include "probe/stage_costs.hpp"

namespace corewise::probe {
namespace {

constexpr std::byte kGap{0xa5};

kernels::PackPlan blocks(std::int64_t block, std::int64_t count, std::int64_t stride) {
  kernels::Layout each, all;
  each.bytes = block;
  all.kind = kernels::Layout::Kind::repeat;
  all.count = count;
  all.stride = stride;
  all.children = {each};
  return kernels::PackPlan::compile(all, count * stride);
}

std::byte value(std::size_t at, std::size_t side, std::uint64_t step) {
  return static_cast<std::byte>(at * 31 + at / 253 + side * 101 + step * 17);
}

using Exchange = void (*)(const kernels::PackPlan&, const ExchangeSide&, const ExchangeSide&, std::byte*,
                          std::uint64_t);

/// Both sides, some steps, each with other values; every byte of both targets is looked at.
void exchange(Exchange way, std::int64_t block, std::int64_t count, std::int64_t stride) {
  constexpr std::uint64_t kSteps = 4;
  const auto span = static_cast<std::size_t>(count * stride);
  const kernels::PackPlan plan = blocks(block, count, stride);
  std::array<ExchangeFlags, 2> flags;
  std::array<std::vector<std::byte>, 2> items, stages;
  std::array<ExchangeSide, 2> sides;
  std::array<std::uint64_t, 2> wrong{};
  for (std::size_t side = 0; side < 2; ++side) {
    items[side].resize(span);
    stages[side].resize(static_cast<std::size_t>(block * count));
    sides[side] = {&flags[side], items[side].data(), stages[side].data()};
  }
  const auto run = [&](std::size_t me) {
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      std::vector<std::byte> target(span, kGap);
      for (std::size_t i = 0; i < span; ++i) items[me][i] = value(i, me, step);
      meet(sides[me], sides[1 - me]);
      way(plan, sides[me], sides[1 - me], target.data(), step);
      for (std::size_t i = 0; i < span; ++i) {
        const bool data = static_cast<std::int64_t>(i) % stride < block;
        wrong[me] += target[i] != (data ? value(i, 1 - me, step) : kGap) ? 1 : 0;
      }
    }
  };
  std::thread one(run, 0), other(run, 1);
  one.join();
  other.join();
  EXPECT_EQ(wrong[0] + wrong[1], 0U) << block << " " << count << " " << stride;
}

TEST(StageCosts, DirectExchangesMoveExactlyTheirBytes) {
  exchange(exchange_direct, 8, 3000, 16);
  exchange(exchange_direct, 100, 40, 4160);
  exchange(exchange_direct, 2048, 9, 5000);
}

TEST(StageCosts, StagedExchangesMoveExactlyTheirBytes) {
  exchange(exchange_staged, 8, 3000, 16);  // three chunks, the last one shorter
  exchange(exchange_staged, 100, 40, 4160);
  exchange(exchange_staged, 2048, 9, 5000);
}

TEST(StageCosts, AreNumbersThatALayoutCanBeDecidedBy) {
  const std::vector<int> usable = usable_processors();
  ASSERT_FALSE(usable.empty());
  const auto measured = measure_stage_costs(usable.front(), usable.back(), 3);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  const kernels::StageCosts found = measured.value();
  for (const auto& way : {found.direct, found.stage}) {
    for (const double cost : {way.data, way.line, way.page}) EXPECT_TRUE(std::isfinite(cost) && cost >= 0);
    EXPECT_GT(way.data + way.line, 0);
  }
  // Where a stage cost nothing, the owner would pack; where it cost more than everything, nobody would.
  const kernels::PackPlan sparse = blocks(8, 8, 4160);
  EXPECT_TRUE(owner_packs(sparse, {found.direct, {}}));
  EXPECT_FALSE(owner_packs(sparse, {found.direct, {found.direct.data + 1, found.direct.line, found.direct.page}}));
}

TEST(StageCosts, BothSidesHaveTheSameNumbers) {
  std::array<ExchangeFlags, 2> flags;
  std::array<std::vector<std::byte>, 2> items, stages;
  std::array<ExchangeSide, 2> sides;
  std::array<kernels::StageCosts, 2> found;
  std::array<std::uint64_t, 2> steps{7, 7};
  for (std::size_t side = 0; side < 2; ++side) {
    items[side].resize(kStageCostsItems);
    stages[side].resize(kStageCostsStage);
    sides[side] = {&flags[side], items[side].data(), stages[side].data()};
  }
  const auto run = [&](std::size_t me) {
    std::vector<std::byte> target(kStageCostsItems);
    found[me] = stage_costs(sides[me], sides[1 - me], target.data(), steps[me], 2);
  };
  std::thread one(run, 0), other(run, 1);
  one.join();
  other.join();
  EXPECT_EQ(steps[0], steps[1]);
  EXPECT_GT(steps[0], 7U);
  const auto numbers = [](const kernels::StageCosts& costs) {
    const auto &d = costs.direct, &s = costs.stage;
    return std::vector<double>{d.data, d.line, d.page, s.data, s.line, s.page};
  };
  EXPECT_EQ(numbers(found[0]), numbers(found[1]));
}

TEST(StageCosts, ProcessorsThatDoNotExistAreRefused) {
  const auto found = measure_stage_costs(0, 1 << 20);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("1048576"), std::string::npos);
  EXPECT_FALSE(measure_stage_costs(0, 0, 0).ok());
}

}  // namespace
}  // namespace corewise::probe
