// What the contests of this folder share: contestants that take turns, and the lines that they print.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

struct Contestant {
  std::string name;
  std::function<void()> run;
  std::vector<double> times;
};

/// One call of many, behind one that is not timed.
inline double nanoseconds(const std::function<void()>& run, long calls) {
  using Clock = std::chrono::steady_clock;
  run();
  const auto begin = Clock::now();
  for (long i = 0; i < calls; ++i) {
    run();
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / static_cast<double>(calls);
}

/// Every round begins with the next one. Prints `CASE pack|unpack NAME NANOSECONDS...`, one number a round.
inline void take_turns(std::vector<Contestant>& all, long rounds, long calls, const std::string& name,
                       bool packing) {
  for (long round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      Contestant& next = all[(turn + static_cast<std::size_t>(round)) % all.size()];
      next.times.push_back(nanoseconds(next.run, calls));
    }
  }
  for (const Contestant& one : all) {
    std::printf("%s %s %s", name.c_str(), packing ? "pack" : "unpack", one.name.c_str());
    for (const double time : one.times) {
      std::printf(" %.1f", time);
    }
    std::printf("\n");
  }
}
