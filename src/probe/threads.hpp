// What measurements between cores share: bound threads, flags on lines of their own, memory from whole pages.
// Private to this room. A thread is bound only while it measures, and a waiting one gives its processor away after
// a while. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>

#include "base/status.hpp"

namespace corewise::probe {

using Clock = std::chrono::steady_clock;
using Byte = unsigned char;

inline constexpr std::size_t line = 64;
inline constexpr int spins = 4000;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <class Ready>
void wait_until(Ready&& ready) {
  for (int spin = 0; spin < spins; ++spin) {
    if (ready()) return;
    relax();
  }
  while (!ready()) std::this_thread::yield();
}

/// A counter that never goes back, on lines of its own: some processors fetch two lines at once.
struct alignas(2 * line) Flag {
  std::atomic<std::uint64_t> value{0};

  void set(std::uint64_t to) { value.store(to, std::memory_order_release); }
  void await(std::uint64_t least) {
    wait_until([&] { return value.load(std::memory_order_acquire) >= least; });
  }
};

/// Memory from whole pages, given back at the end.
class Block {
 public:
  explicit Block(std::size_t bytes);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();
  Byte* data() const { return memory_; }

 private:
  Byte* memory_ = nullptr;
  std::size_t bytes_;
};

/// An error for the first that this process may not use.
Status check_processors(std::span<const int> processors);

/// Runs each piece of work in a thread of its own on its processor; none is the caller's. All have ended when this
/// returns.
Status run_bound(std::span<const int> processors, std::span<const std::function<void()>> work);

}  // namespace corewise::probe
