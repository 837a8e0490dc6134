// How a core waits: it looks again at once for a short while (a peer that runs answers within a few hundred
// nanoseconds), then gives the core away between looks, because with more ranks than cores the peer it waits for
// may need this very core (pure spinning then costs milliseconds per barrier).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <thread>

namespace corewise::shm {

/// Tells the core that this is a spin loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

struct WaitPolicy {
  std::uint32_t spins = 1000;  ///< looks before the core is given away between looks

  /// Long spins while every rank can have a core of its own, short ones otherwise.
  static WaitPolicy for_ranks(int ranks, unsigned cores = std::thread::hardware_concurrency()) {
    return {static_cast<unsigned>(ranks) <= cores ? 1000U : 32U};
  }
};

/// Looks until ready() is true.
template <class Ready>
inline void wait_until(Ready&& ready, const WaitPolicy& policy) {
  for (std::uint32_t spin = 0; spin < policy.spins; ++spin) {
    if (ready()) return;
    relax();
  }
  while (!ready()) std::this_thread::yield();
}

}  // namespace corewise::shm
