// Messages from core to core: every way delivers what was sent, and only that is timed which is wanted. Nothing
// here depends on how long anything takes, or on having more than one processor.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "probe/messages.hpp"

namespace corewise::probe {
namespace {

void* plain(void* to, const void* from, std::size_t bytes) {
  return std::memcpy(to, from, bytes);
}

/// Leaves out the last byte's line: what a broken kernel might do.
void* short_of_a_line(void* to, const void* from, std::size_t bytes) {
  return bytes > 64 ? std::memcpy(to, from, bytes - 64) : to;
}

MessagePlan plan_of(std::size_t bytes) {
  MessagePlan plan;
  plan.bytes = bytes;
  plan.rounds = 3;
  plan.repeats = 2;
  plan.sender = usable_processors().front();
  plan.receiver = usable_processors().back();
  return plan;
}

const MessageMethod every_way[] = {
    {MessageWay::slot, plain, plain, 0},      {MessageWay::pipeline, plain, plain, 1000},
    {MessageWay::direct, nullptr, plain, 0},  {MessageWay::halves, plain, plain, 0},
    {MessageWay::halves, plain, plain, 1000}, {MessageWay::halves, plain, plain, 1 << 20},
};

TEST(Messages, EveryWayDeliversEveryLineAtEverySize) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
                                  std::size_t{127}, std::size_t{4096}, std::size_t{10007}, std::size_t{65536}}) {
    const Result<std::vector<std::vector<double>>> times = time_messages(every_way, plan_of(bytes));
    ASSERT_TRUE(times.ok()) << times.status().message() << " at " << bytes;
    ASSERT_EQ(times.value().size(), std::size(every_way));
    for (const std::vector<double>& of_method : times.value()) {
      ASSERT_EQ(of_method.size(), 3U);
      for (const double time : of_method) EXPECT_GT(time, 0);
    }
  }
}

TEST(Messages, ReadingIsCheckedToo) {
  MessagePlan plan = plan_of(4096);
  plan.read = true;
  EXPECT_TRUE(time_messages(every_way, plan).ok());
}

TEST(Messages, AMessageThatArrivesWrongIsAnError) {
  for (const MessageWay way : {MessageWay::slot, MessageWay::pipeline, MessageWay::direct, MessageWay::halves}) {
    const MessageMethod broken{way, plain, short_of_a_line, 1024};
    const Result<std::vector<std::vector<double>>> times = time_messages({&broken, 1}, plan_of(4096));
    ASSERT_FALSE(times.ok());
    EXPECT_NE(times.status().message().find("arrived wrong"), std::string::npos);
  }
}

TEST(Messages, OneProcessorIsEnough) {
  MessagePlan plan = plan_of(2048);
  plan.receiver = plan.sender;
  EXPECT_TRUE(time_messages(every_way, plan).ok());
}

TEST(Messages, TheSendersPartOfOneCopyByBothIsWhatIsAsked) {
  static std::atomic<std::size_t> sent{0};
  const auto counting = [](void* to, const void* from, std::size_t bytes) {
    sent = bytes;
    return std::memcpy(to, from, bytes);
  };
  for (const auto& [asked, expected] : {std::pair<std::size_t, std::size_t>{0, 2048}, {1024, 1024}, {100, 128}}) {
    const MessageMethod method{MessageWay::halves, counting, plain, asked};
    EXPECT_TRUE(time_messages({&method, 1}, plan_of(4096)).ok());
    EXPECT_EQ(sent, expected);  // whole lines: none is written by both
  }
}

TEST(CoreToCore, IsATimeOfUsableProcessors) {
  const int first = usable_processors().front();
  const Result<double> time = core_to_core_ns(first, usable_processors().back());
  ASSERT_TRUE(time.ok());
  EXPECT_GT(time.value(), 0);
  EXPECT_LT(time.value(), 1e9);
  EXPECT_TRUE(core_to_core_ns(first, first).ok());
  EXPECT_FALSE(core_to_core_ns(first, 1 << 20).ok());
}

TEST(Messages, TheCallersBindingStays) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_TRUE(time_messages(every_way, plan_of(256)).ok());
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Messages, WrongPlansAreRefusedByName) {
  MessagePlan plan = plan_of(64);
  plan.receiver = 100000;
  EXPECT_NE(time_messages(every_way, plan).status().message().find("processor"), std::string::npos);
  EXPECT_NE(time_messages(every_way, plan_of(0)).status().message().find("bytes"), std::string::npos);
  plan = plan_of(64);
  plan.rounds = 0;
  EXPECT_NE(time_messages(every_way, plan).status().message().find("rounds"), std::string::npos);
  const MessageMethod no_chunk{MessageWay::pipeline, plain, plain, 0};
  EXPECT_NE(time_messages({&no_chunk, 1}, plan_of(64)).status().message().find("chunk"), std::string::npos);
}

}  // namespace
}  // namespace corewise::probe
