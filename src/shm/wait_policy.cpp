// The clock of a long wait. SPDX-License-Identifier: BSD-3-Clause
#include "shm/wait_policy.hpp"

#include <algorithm>
#include <chrono>

namespace corewise::shm {
namespace {

/// A sleep is a small part of what was waited already, so it adds little to any wait.
constexpr std::uint64_t kSleepPart = 64;
constexpr std::uint64_t kLongestSleepNs = 1'000'000;

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

LongWait::LongWait(const WaitPolicy& policy) : policy_(policy), begun_ns_(now_ns()) {}

void LongWait::pause() {
  const std::uint64_t waited = now_ns() - begun_ns_;
  if (policy_.meanwhile != nullptr && waited >= next_ns_) {
    policy_.meanwhile(policy_.context, waited);
    next_ns_ = now_ns() - begun_ns_ + kMeanwhileNs;  // however long it took, waiting goes on in between
    return;                                          // an MPI may have given the core away: look first
  }
  if (waited < policy_.spin_ns) {
    relax();
  } else if (waited < policy_.awake_ns) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(waited / kSleepPart, kLongestSleepNs)));
  }
}

}  // namespace corewise::shm
