// The workload of bench/sim, the same for all contestants: 8 actors in a bidirectional ring, placed on an 8-unit
// ring machine so that their ways overlap. In each round every actor sends 1 KB to both neighbours and waits until
// its own messages are delivered and its neighbours' messages are there. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <time.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace bench {

inline constexpr int kActors = 8;
inline constexpr int kBytes = 1024;
/// Unit of each actor. Links carry 1, 3 or 5 of the 16 messages of a round; no two neighbours are half-way apart,
/// so that every contestant has one route per pair.
inline constexpr std::array<int, kActors> kUnits{0, 7, 1, 4, 2, 5, 3, 6};
inline constexpr double kLinkGbPerS = 51.2;  ///< one direction of one segment: two rings of 25.6
inline constexpr double kHopNs = 0.625;

inline int left_of(int actor) {
  return (actor + kActors - 1) % kActors;
}
inline int right_of(int actor) {
  return (actor + 1) % kActors;
}

inline double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Times `run`, which returns the simulated time in ns, and prints one line for run.py: messages, wall seconds, CPU
/// seconds, simulated ns per round.
template <class Run>
void report(int rounds, Run run) {
  const double wall = seconds(CLOCK_MONOTONIC);
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double simulated_ns = run();
  std::printf("%d %.9f %.9f %.6f\n", 2 * kActors * rounds, seconds(CLOCK_MONOTONIC) - wall,
              seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, simulated_ns / rounds);
}

}  // namespace bench
