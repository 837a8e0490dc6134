// EventQueue: what happens next. Events come out ordered by (time, order of insertion), which is the whole of the
// simulator's determinism. A wheel holds the near future, one bucket per tick, so that the common delays cost a few
// instructions; what lies further ahead waits in a heap and moves into the wheel as the time comes near.
// Invariant: an event is in the wheel exactly when its time is less than `kSpan` ticks after now(); therefore a
// bucket's list is in order of insertion, the ones from the heap having been inserted first.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::sim {

/// Simulated time in ticks; what a tick is, the Engine's owner says. Never negative.
using Time = std::int64_t;

/// What to do at an event: call(self, argument).
struct Handler {
  using Call = void (*)(void* self, std::uint64_t argument);
  Call call = nullptr;
  void* self = nullptr;
  std::uint64_t argument = 0;

  void operator()() const { call(self, argument); }
};

class EventQueue {
 public:
  static constexpr Time kSpan = 4096;

  EventQueue() { buckets_.fill({kNone, kNone}); }

  /// Adds an event at `when`, not before now().
  void push(Time when, const Handler& handler) {
    assert(when >= now_);
    if (when - now_ < kSpan) {
      append(when, handler);
    } else {
      push_far(when, handler);
    }
    ++size_;
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The time of the last event taken.
  [[nodiscard]] Time now() const { return now_; }
  /// The time of the next event; requires !empty().
  [[nodiscard]] Time next_time() const {
    const Time near = next_in_wheel();
    return near >= 0 ? near : far_.front().when;
  }

  /// Takes the next event and moves now() to its time; requires !empty().
  Handler pop() { return pop(next_time()); }
  /// The same for who has just asked for next_time().
  Handler pop(Time next) {
    if (next != now_) move_to(next);
    const std::size_t slot = slot_of(now_);
    Bucket& bucket = buckets_[slot];
    const std::uint32_t taken = bucket.head;
    Node& node = nodes_[taken];
    bucket.head = node.next;
    if (bucket.head == kNone) clear_bit(slot);
    node.next = free_;
    free_ = taken;
    --size_;
    return node.handler;
  }

  /// Calls visit(delay from now, handler) for every pending event, in the order in which they will happen.
  template <class Visit>
  void for_each(Visit visit) const {
    if (size_ == 0) return;
    for (Time ahead = 0; ahead < kSpan; ++ahead) {
      const std::size_t slot = slot_of(now_ + ahead);
      if (slot % 64 == 0 && occupied_[slot / 64] == 0) {  // a whole empty word
        ahead += 63;
        continue;
      }
      for (std::uint32_t node = buckets_[slot].head; node != kNone; node = nodes_[node].next) {
        visit(ahead, nodes_[node].handler);
      }
    }
    for (const Far& far : sorted_far()) visit(far.when - now_, far.handler);
  }

  /// Moves now() ahead without taking an event; requires that none is due before `when`.
  void advance(Time when) {
    assert(when >= now_);
    move_to(when);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kWords = static_cast<std::size_t>(kSpan) / 64;
  static_assert(kWords == 64, "one bit of the summary per word");

  struct Node {
    Handler handler;
    std::uint32_t next;
  };
  struct Bucket {
    std::uint32_t head, tail;
  };
  struct Far {
    Time when;
    std::uint64_t order;
    Handler handler;
  };

  static std::size_t slot_of(Time when) { return static_cast<std::size_t>(when) & (kSpan - 1); }
  void set_bit(std::size_t slot) {
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    summary_ |= std::uint64_t{1} << (slot / 64);
  }
  void clear_bit(std::size_t slot) {
    std::uint64_t& word = occupied_[slot / 64];
    word &= ~(std::uint64_t{1} << (slot % 64));
    if (word == 0) summary_ &= ~(std::uint64_t{1} << (slot / 64));
  }

  std::uint32_t new_node(const Handler& handler) {
    if (free_ == kNone) {
      nodes_.push_back({handler, kNone});
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    nodes_[node] = {handler, kNone};
    return node;
  }

  void append(Time when, const Handler& handler) {
    const std::uint32_t node = new_node(handler);
    Bucket& bucket = buckets_[slot_of(when)];
    if (bucket.head == kNone) {
      bucket.head = node;
      set_bit(slot_of(when));
    } else {
      nodes_[bucket.tail].next = node;
    }
    bucket.tail = node;
  }

  /// The time of the first occupied bucket, -1 when the wheel is empty.
  [[nodiscard]] Time next_in_wheel() const {
    if (summary_ == 0) return -1;
    const std::size_t start = slot_of(now_);
    const std::uint64_t here = occupied_[start / 64] >> (start % 64);
    if (here != 0) return now_ + std::countr_zero(here);
    // The word after this one first, this one (its slots before `start`) last.
    const int words = std::countr_zero(std::rotr(summary_, static_cast<int>(start / 64) + 1)) + 1;
    const std::size_t word = (start / 64 + static_cast<std::size_t>(words)) % kWords;
    const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(occupied_[word]));
    return now_ + static_cast<Time>((slot - start) & (kSpan - 1));
  }

  void move_to(Time when) {
    now_ = when;
    if (!far_.empty() && far_.front().when - now_ < kSpan) pull_near();
  }
  [[nodiscard]] std::vector<Far> sorted_far() const;
  void push_far(Time when, const Handler& handler);
  void pull_near();

  std::array<Bucket, kSpan> buckets_;
  std::array<std::uint64_t, kWords> occupied_{};  ///< bit: the bucket has events
  std::uint64_t summary_ = 0;                     ///< bit: the word of occupied_ is not zero
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::vector<Far> far_;  ///< a heap, earliest (when, order) first
  std::uint64_t far_order_ = 0;
  std::size_t size_ = 0;
  Time now_ = 0;
};

}  // namespace corewise::sim
