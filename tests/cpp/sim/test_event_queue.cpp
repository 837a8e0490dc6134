// Order of events, against a plain sorted list, near and far beyond the wheel.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "sim/event_queue.hpp"

namespace corewise::sim {
namespace {

struct Happened {
  std::vector<std::uint64_t> order;
  static void note(void* self, std::uint64_t argument) { static_cast<Happened*>(self)->order.push_back(argument); }
};

TEST(EventQueue, TakesEventsInOrderOfTimeThenOfInsertion) {
  Rng rng(7);
  auto queue = std::make_unique<EventQueue>();
  Happened happened;
  std::vector<std::pair<Time, std::uint64_t>> expected;  // (time, sequence) of what is pending
  std::uint64_t sequence = 0;
  for (int step = 0; step < 200000; ++step) {
    if (queue->empty() || rng.below(2) == 0) {
      const Time spans[] = {0, 3, 100, EventQueue::kSpan - 1, EventQueue::kSpan, 3 * EventQueue::kSpan, 100000};
      const Time when =
          queue->now() + static_cast<Time>(rng.below(static_cast<std::uint64_t>(spans[rng.below(7)]) + 1));
      queue->push(when, {&Happened::note, &happened, sequence});
      expected.emplace_back(when, sequence++);
      continue;
    }
    const auto first = std::min_element(expected.begin(), expected.end());
    ASSERT_EQ(queue->next_time(), first->first);
    queue->pop()();
    ASSERT_EQ(queue->now(), first->first);
    ASSERT_EQ(happened.order.back(), first->second);
    expected.erase(first);
    ASSERT_EQ(queue->size(), expected.size());
  }
}

TEST(EventQueue, FarEventComesBeforeANearOneInsertedLaterForTheSameTime) {
  auto queue = std::make_unique<EventQueue>();
  Happened happened;
  const Time when = EventQueue::kSpan + 10;
  queue->push(when, {&Happened::note, &happened, 1});
  queue->push(20, {&Happened::note, &happened, 0});
  queue->pop()();
  queue->push(when, {&Happened::note, &happened, 2});
  queue->pop()();
  queue->pop()();
  EXPECT_EQ(happened.order, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_TRUE(queue->empty());
}

TEST(EventQueue, ForEachVisitsWhatPopWouldTakeInItsOrder) {
  Rng rng(11);
  auto queue = std::make_unique<EventQueue>();
  Happened happened;
  for (std::uint64_t sequence = 0; sequence < 300; ++sequence) {
    const Time spans[] = {0, 3, 200, EventQueue::kSpan - 1, EventQueue::kSpan, 40000};
    queue->push(queue->now() + static_cast<Time>(rng.below(static_cast<std::uint64_t>(spans[rng.below(6)]) + 1)),
                {&Happened::note, &happened, sequence});
    if (rng.below(3) == 0) queue->pop();
  }
  std::vector<std::pair<Time, std::uint64_t>> visited, taken;
  queue->for_each(
      [&](Time delay, const Handler& handler) { visited.emplace_back(queue->now() + delay, handler.argument); });
  while (!queue->empty()) {
    const Handler handler = queue->pop();
    taken.emplace_back(queue->now(), handler.argument);
  }
  EXPECT_EQ(visited, taken);
  EXPECT_GT(taken.size(), 100U);
}

TEST(EventQueue, AdvanceBringsFarEventsNear) {
  auto queue = std::make_unique<EventQueue>();
  Happened happened;
  queue->push(2 * EventQueue::kSpan, {&Happened::note, &happened, 1});
  queue->advance(EventQueue::kSpan + 5);
  EXPECT_EQ(queue->next_time(), 2 * EventQueue::kSpan);
  queue->pop()();
  EXPECT_EQ(queue->now(), 2 * EventQueue::kSpan);
}

}  // namespace
}  // namespace corewise::sim
