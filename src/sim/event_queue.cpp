// EventQueue's far part: a heap of events that lie beyond the wheel.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/event_queue.hpp"

#include <algorithm>

namespace corewise::sim {
namespace {

constexpr auto later = [](const auto& a, const auto& b) {
  return a.when != b.when ? a.when > b.when : a.order > b.order;
};

}  // namespace

void EventQueue::push_far(Time when, const Handler& handler) {
  far_.push_back({when, far_order_++, handler});
  std::push_heap(far_.begin(), far_.end(), later);
}

std::vector<EventQueue::Far> EventQueue::sorted_far() const {
  std::vector<Far> sorted = far_;
  std::sort(sorted.begin(), sorted.end(), [](const Far& a, const Far& b) { return later(b, a); });
  return sorted;
}

void EventQueue::pull_near() {
  while (!far_.empty() && far_.front().when - now_ < kSpan) {
    append(far_.front().when, far_.front().handler);
    std::pop_heap(far_.begin(), far_.end(), later);
    far_.pop_back();
  }
}

}  // namespace corewise::sim
