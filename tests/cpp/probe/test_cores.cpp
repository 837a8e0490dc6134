// Lines from core to core and reads of several cores: as many values as were asked for, all positive, and every
// refusal. Nothing here depends on how long anything takes; where there is one processor, two are a capability that
// is missing. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "probe/cores.hpp"
#include "probe/messages.hpp"

namespace corewise::probe {
namespace {

std::vector<int> two_processors() {
  const std::vector<int> usable = usable_processors();
  return usable.size() < 2 ? std::vector<int>{} : std::vector<int>{usable.front(), usable.back()};
}

TEST(Cores, ExchangesGiveAValuePerSample) {
  const std::vector<int> two = two_processors();
  if (two.empty()) GTEST_SKIP() << "capability: two processors";
  const auto values = time_exchanges({two[0], two[1], 5, 20});
  ASSERT_TRUE(values.ok()) << values.status().message();
  ASSERT_EQ(values.value().size(), 5U);
  for (const double value : values.value()) EXPECT_GT(value, 0);
}

TEST(Cores, ExchangesRefuse) {
  const int one = usable_processors().front();
  EXPECT_EQ(time_exchanges({one, one}).status().message(),
            "field 'other': found " + std::to_string(one) + ", allowed: another processor");
  EXPECT_NE(time_exchanges({one, 100000}).status().message().find("field 'processor': found 100000"),
            std::string::npos);
  const std::vector<int> two = two_processors();
  if (two.empty()) GTEST_SKIP() << "capability: two processors";
  EXPECT_FALSE(time_exchanges({two[0], two[1], 0, 20}).ok());
  EXPECT_FALSE(time_exchanges({two[0], two[1], 1, 0}).ok());
}

TEST(Cores, ReadersTakeTimeAndWritersNone) {
  const std::vector<int> two = two_processors();
  if (two.empty()) GTEST_SKIP() << "capability: two processors";
  const Reader one_way[] = {{two[0], 1}, {two[1], -1}};
  const auto times = time_reads(one_way, {4096, 6});
  ASSERT_TRUE(times.ok()) << times.status().message();
  ASSERT_EQ(times.value().size(), 2U);
  ASSERT_EQ(times.value()[0].size(), 6U);
  for (const double value : times.value()[0]) EXPECT_GT(value, 0);
  EXPECT_EQ(times.value()[1], std::vector<double>(6, 0));
  const Reader both_ways[] = {{two[0], 1}, {two[1], 0}};
  const auto both = time_reads(both_ways, {100, 300});  // stamps repeat after 256 rounds
  ASSERT_TRUE(both.ok()) << both.status().message();
  for (const double value : both.value()[1]) EXPECT_GT(value, 0);
}

TEST(Cores, ReadsRefuse) {
  const int one = usable_processors().front();
  const Reader itself[] = {{one, 0}};
  EXPECT_EQ(time_reads(itself, {}).status().message(),
            "field 'from': found 0, allowed: -1, or the index of another reader");
  const Reader twice[] = {{one, -1}, {one, -1}};
  EXPECT_EQ(time_reads(twice, {}).status().message(),
            "field 'processor': found " + std::to_string(one) + " a second time, allowed: each once");
  const Reader alone[] = {{one, -1}};
  EXPECT_FALSE(time_reads(alone, {0, 1}).ok());
  EXPECT_FALSE(time_reads(alone, {64, 0}).ok());
  EXPECT_TRUE(time_reads(alone, {64, 1}).ok());
}

TEST(Cores, TheCallersBindingStays) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const Reader alone[] = {{usable_processors().front(), -1}};
  ASSERT_TRUE(time_reads(alone, {64, 1}).ok());
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace corewise::probe
