// LocalStore: the 256 KB of real bytes that belong to one SPE, and who waits for a write to them. Behind the last
// byte lies a guard page, so that a pointer that runs over the end faults instead of damaging the host program.
//
// Invariant: every write that does not come from the owner's own program goes through `write` or is followed by
// `written`; therefore a program that polls costs nothing while nothing is written.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "cell/address.hpp"
#include "sim/event_queue.hpp"

namespace corewise::cell {

class LocalStore {
 public:
  /// One call of `handler`, at the first write that overlaps `bytes` at `at`. Leaves the list by itself.
  class Watch {
   public:
    Watch(LocalStore& store, LsAddress at, std::uint32_t bytes, const sim::Handler& handler);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    friend class LocalStore;
    LocalStore& store_;
    LsAddress at_;
    std::uint32_t bytes_;
    sim::Handler handler_;
    Watch* next_ = nullptr;
    bool listed_ = true;
  };

  /// Zeroed. Throws std::bad_alloc where no memory can be had.
  LocalStore();
  ~LocalStore();
  LocalStore(const LocalStore&) = delete;
  LocalStore& operator=(const LocalStore&) = delete;

  /// Whether `bytes` at `at` lie inside the local store.
  static constexpr bool holds(std::uint64_t at, std::uint64_t bytes) {
    return at <= kLocalStoreBytes && bytes <= kLocalStoreBytes - at;
  }

  [[nodiscard]] std::byte* data() { return data_; }
  /// Requires holds(at, bytes).
  [[nodiscard]] std::span<std::byte> at(LsAddress at, std::uint32_t bytes) { return {data_ + at, bytes}; }

  /// Copies `bytes` bytes to `at` and tells who watches. Requires holds(at, bytes).
  void write(LsAddress at, const void* from, std::uint32_t bytes) {
    std::memcpy(data_ + at, from, bytes);
    written(at, bytes);
  }
  /// Tells who watches that the bytes were written.
  void written(LsAddress at, std::uint32_t bytes) {
    if (watches_ != nullptr) tell(at, bytes);
  }

 private:
  void tell(LsAddress at, std::uint32_t bytes);
  void remove(Watch& watch);

  std::byte* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  Watch* watches_ = nullptr;
};

}  // namespace corewise::cell
