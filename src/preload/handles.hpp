// Handles that a thread has met, and what a library knows of them: a small table without a lock. A handle may be
// used again for another object, so every entry has a generation, which ends when an object that it may mean is
// freed, in whatever thread. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace corewise::preload {

/// The slot of a handle in a table of so many, a power of two.
template <std::size_t kSlots>
constexpr std::size_t slot_of(std::uint64_t handle) {
  static_assert(std::has_single_bit(kSlots));
  return static_cast<std::size_t>((handle * 0x9E3779B97F4A7C15ULL) >> (64 - std::countr_zero(kSlots)));
}

/// Of all threads.
template <std::size_t kSlots>
class Generations {
 public:
  [[nodiscard]] std::uint32_t of(std::uint64_t handle) const {
    return numbers_[slot_of<kSlots>(handle)].load(std::memory_order_relaxed);
  }
  /// What is known of a handle ends.
  void end(std::uint64_t handle) { numbers_[slot_of<kSlots>(handle)].fetch_add(1, std::memory_order_relaxed); }
  void end_all() {
    for (auto& number : numbers_) number.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint32_t>, kSlots> numbers_{};
};

/// Of one thread; declared thread_local with the initial-exec model, whose access is one instruction. A slot has
/// room for two: of MPICH, MPI_BYTE and the first type that a program makes share one, and are often used in turns.
template <class Object, std::size_t kSlots>
class KnownHandles {
 public:
  struct Entry {
    std::uint64_t handle;
    Object* object;  ///< null: known to be none of ours
    std::uint32_t generation;
  };
  /// Null for a handle that is not known.
  [[nodiscard]] const Entry* find(std::uint64_t handle, const Generations<kSlots>& generations) const {
    for (const Entry& entry : entries_[slot_of<kSlots>(handle)])
      if (entry.handle == handle) return entry.generation == generations.of(handle) ? &entry : nullptr;
    return nullptr;
  }
  /// `generation` is what it was before the object was looked up.
  void remember(std::uint64_t handle, Object* object, std::uint32_t generation) {
    auto& [newer, older] = entries_[slot_of<kSlots>(handle)];
    if (newer.handle != handle) older = newer;
    newer = {handle, object, generation};
  }

 private:
  std::array<std::array<Entry, 2>, kSlots> entries_{};
};

}  // namespace corewise::preload
