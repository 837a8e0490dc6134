// Handles of datatypes and what we know of them, for readers that may not call MPI and may not wait: code that runs
// inside an MPI library. A reader asks only for handles that are alive, so their entries stay while it looks; any
// number of threads may read while others enter and remove. Memory of outgrown tables is kept until the process
// ends, because a reader may still look at it: less than the table in use where few types live long. Among many
// that do, places of removed ones are not free again, and a program that goes on making types fills table after
// table.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace corewise::preload::packing {

template <class Value>
class Handles {
 public:
  /// Null where the handle has not been entered. Never blocks.
  Value* find(std::uint64_t handle) const {
    const Slots* slots = current_.load(std::memory_order_acquire);
    if (slots == nullptr) return nullptr;
    for (std::size_t i = slots->place_of(handle);; ++i) {
      const Slot& slot = slots->at(i);
      const std::uint64_t key = slot.key.load(std::memory_order_acquire);
      if (key == handle) return slot.value.load(std::memory_order_relaxed);
      if (key == kFree) return nullptr;
    }
  }

  /// `handle` is neither 0 nor 1, and not in the table. Throws std::bad_alloc.
  void enter(std::uint64_t handle, Value* value) {
    const std::lock_guard lock(changing_);
    if (tables_.empty() || 2 * (used_ + 1) > tables_.back()->size()) grow();
    put(*tables_.back(), handle, value);
  }

  /// Does nothing where it is not in the table.
  void remove(std::uint64_t handle) {
    const std::lock_guard lock(changing_);
    if (tables_.empty()) return;
    for (std::size_t i = tables_.back()->place_of(handle);; ++i) {
      Slot& slot = tables_.back()->at(i);
      const std::uint64_t key = slot.key.load(std::memory_order_relaxed);
      if (key == kFree) return;
      if (key != handle) continue;
      slot.key.store(kRemoved, std::memory_order_release);
      --live_;
      free_removed(*tables_.back(), i);
      return;
    }
  }

 private:
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::uint64_t kRemoved = 1;  ///< a search goes on behind it
  static constexpr std::size_t kFirst = 256;

  struct Slot {
    std::atomic<std::uint64_t> key{kFree};
    std::atomic<Value*> value{nullptr};
  };

  class Slots {
   public:
    explicit Slots(std::size_t size) : slots_(size), shift_(64 - std::countr_zero(size)) {}
    std::size_t size() const { return slots_.size(); }
    std::size_t place_of(std::uint64_t handle) const { return (handle * 0x9E3779B97F4A7C15ULL) >> shift_; }
    Slot& at(std::size_t i) { return slots_[i & (slots_.size() - 1)]; }
    const Slot& at(std::size_t i) const { return slots_[i & (slots_.size() - 1)]; }

   private:
    std::vector<Slot> slots_;
    int shift_;
  };

  void put(Slots& slots, std::uint64_t handle, Value* value) {
    std::size_t i = slots.place_of(handle);
    while (slots.at(i).key.load(std::memory_order_relaxed) > kRemoved) ++i;
    Slot& slot = slots.at(i);
    if (slot.key.load(std::memory_order_relaxed) == kFree) ++used_;
    slot.value.store(value, std::memory_order_relaxed);
    slot.key.store(handle, std::memory_order_release);
    ++live_;
  }

  /// Removed slots that no search needs to pass are free again: those with a free one behind them.
  void free_removed(Slots& slots, std::size_t last) {
    const auto key_at = [&slots](std::size_t i) { return slots.at(i).key.load(std::memory_order_relaxed); };
    if (key_at(last + 1) != kFree) return;
    for (std::size_t i = last; key_at(i) == kRemoved; --i) {
      slots.at(i).key.store(kFree, std::memory_order_release);
      --used_;
    }
  }

  /// A table for what is alive, at most a quarter full.
  void grow() {
    auto next = std::make_unique<Slots>(std::bit_ceil(std::max(kFirst, 4 * (live_ + 1))));
    tables_.reserve(tables_.size() + 1);
    used_ = live_ = 0;
    for (std::size_t i = 0; !tables_.empty() && i < tables_.back()->size(); ++i) {
      const Slot& slot = tables_.back()->at(i);
      const std::uint64_t key = slot.key.load(std::memory_order_relaxed);
      if (key > kRemoved) put(*next, key, slot.value.load(std::memory_order_relaxed));
    }
    tables_.push_back(std::move(next));
    current_.store(tables_.back().get(), std::memory_order_release);
  }

  std::atomic<const Slots*> current_{nullptr};
  std::mutex changing_;
  std::vector<std::unique_ptr<Slots>> tables_;  ///< the last one is in use
  std::size_t used_ = 0;                        ///< slots that are not free
  std::size_t live_ = 0;
};

}  // namespace corewise::preload::packing
