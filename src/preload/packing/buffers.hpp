// Memory for packed messages: kept for the next one, in sizes of powers of two. Threads may share it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

namespace corewise::preload::packing {

/// At least `bytes`; null for 0 bytes, where there is no memory, or where too much is in use already.
void* take_memory(std::size_t bytes);
/// Of `bytes`, as it was asked for.
void give_memory(void* memory, std::size_t bytes);

/// Memory that goes back by itself.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) : memory_(take_memory(bytes)), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (memory_ != nullptr) give_memory(memory_, bytes_);
  }
  void* get() const { return memory_; }
  std::size_t bytes() const { return bytes_; }
  /// For memory that MPI may still use when nobody waits for it any more.
  void abandon() { memory_ = nullptr; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace corewise::preload::packing
