// Memory for packed messages: kept for the next one, in sizes of powers of two. Threads may share it.
//
// What a receiver has read from a sender's memory stays in the receiver's cache, and a sender that writes there
// again has to take every line back first, which costs more than packing does. Memory for sends can therefore take
// turns: so many buffers of a size that by the time one comes round the receiver's cache has forgotten it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

namespace corewise::preload::packing {

/// What memory is for. On Open MPI, receives have room behind: where a message is too long for them, it is written
/// all the same (packing_buffers.cpp).
enum class BufferUse : unsigned char { send, receive };

/// At least `bytes`; null where there is no memory, or too much is in use already.
void* take_memory(std::size_t bytes, BufferUse use);
/// Of `bytes` and for `use`, as it was asked for.
void give_memory(void* memory, std::size_t bytes, BufferUse use);

/// The buffer of at least `bytes` that was used longest ago, of those that share `turn` bytes; null where all are
/// in use, where fewer than two fit, or where there is no memory.
void* take_turn(std::size_t bytes, std::size_t turn);
void give_turn(void* memory, std::size_t bytes);

/// Memory that goes back by itself.
class Buffer {
 public:
  Buffer() = default;
  /// `turn`: the bytes that buffers of this size take turns in, for sends; 0: the one that was used last.
  Buffer(std::size_t bytes, BufferUse use, std::size_t turn = 0) : bytes_(bytes), use_(use) {
    if (turn > 0) memory_ = take_turn(bytes, turn);
    turns_ = memory_ != nullptr;
    if (!turns_) memory_ = take_memory(bytes, use);
  }
  Buffer(Buffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        use_(other.use_),
        turns_(other.turns_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    std::swap(use_, other.use_);
    std::swap(turns_, other.turns_);
    return *this;
  }
  ~Buffer() {
    if (memory_ == nullptr) return;
    if (turns_)
      give_turn(memory_, bytes_);
    else
      give_memory(memory_, bytes_, use_);
  }
  void* get() const { return memory_; }
  std::size_t bytes() const { return bytes_; }
  /// Whether it is one that has taken turns: nobody has had its lines for long.
  bool turns() const { return turns_; }
  /// For memory that MPI may still use when nobody waits for it any more.
  void abandon() { memory_ = nullptr; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  BufferUse use_ = BufferUse::send;
  bool turns_ = false;
};

}  // namespace corewise::preload::packing
