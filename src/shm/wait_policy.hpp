// How a core waits: it looks again at once for a short while (a peer that runs answers within a few hundred
// nanoseconds), then looks on by the clock, then gives the core away between looks, at last sleeps between looks.
// With more ranks than cores the peer that is waited for may need this very core (pure spinning then costs
// milliseconds per barrier); with a core for every rank giving it away costs milliseconds where another program
// wants it. SPDX-License-Identifier: BSD-3-Clause
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

/// What ends a wait for a peer that will not come, unless it has come by then.
struct WaitEnds {};

struct WaitPolicy {
  /// What else a waiting rank does, such as the progress of an MPI. It may throw: then the wait ends so. Whatever
  /// is no WaitEnds does not concern the wait, such as what unwinds a cancelled thread, which nobody may hold.
  using Meanwhile = void (*)(void* context, std::uint64_t waited_ns);

  std::uint32_t spins = 500;            ///< looks before the clock is read
  std::uint64_t spin_ns = 1'000'000;    ///< waited longer, the core is given away between looks
  std::uint64_t awake_ns = 20'000'000;  ///< waited longer, there is sleep between looks
  Meanwhile meanwhile = nullptr;        ///< called once in kMeanwhileNs of a wait
  void* context = nullptr;

  /// Every rank can have a core of its own, or not.
  static WaitPolicy alone() { return {}; }
  static WaitPolicy crowded() {
    WaitPolicy policy;
    policy.spins = 1;
    policy.spin_ns = 0;
    return policy;
  }
  static WaitPolicy for_ranks(int ranks, unsigned cores = std::thread::hardware_concurrency()) {
    return static_cast<unsigned>(ranks) <= cores ? alone() : crowded();
  }
};

/// A wait that has begun to take long: what is done between looks.
class LongWait {
 public:
  explicit LongWait(const WaitPolicy& policy);
  /// Spins, gives the core away or sleeps, by how long it has waited.
  void pause();

 private:
  static constexpr std::uint64_t kMeanwhileNs = 4'000;

  const WaitPolicy& policy_;
  std::uint64_t begun_ns_;
  std::uint64_t next_ns_ = kMeanwhileNs;
};

template <class Ready>
[[gnu::noinline, gnu::cold]] void wait_long(Ready& ready, const WaitPolicy& policy) {
  LongWait wait(policy);
  while (!ready()) {
    try {
      wait.pause();
    } catch (const WaitEnds&) {
      if (!ready()) throw;  // who has ended may have come before
    }
  }
}

/// Looks until ready() is true.
template <class Ready>
inline void wait_until(Ready&& ready, const WaitPolicy& policy) {
  for (std::uint32_t spin = 0; spin < policy.spins; ++spin) {
    if (ready()) return;
    relax();
  }
  wait_long(ready, policy);
}

}  // namespace corewise::shm
