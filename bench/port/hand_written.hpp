// The rivals: the same barrier written by hand on atomics, without a port: the flags, the peers and the loops are
// all there is. Waits as the port does (the same policy), so that what differs is the abstraction alone.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "shm/wait_policy.hpp"

namespace corewise::bench {

struct alignas(128) Flag {
  std::atomic<std::uint32_t> number{0};
};

inline constexpr int kMostSteps = 8;

/// Flags of one rank, one per step.
struct alignas(4096) Flags {
  Flag step[kMostSteps];
};

/// Pairwise exchange among a power of two of ranks.
class HandWrittenExchange {
 public:
  HandWrittenExchange(Flags* flags, int ranks, int rank, const shm::WaitPolicy& policy)
      : own_(&flags[rank]), policy_(policy) {
    for (int distance = 1; distance < ranks; distance *= 2) peers_[steps_++] = &flags[rank ^ distance];
  }

  void operator()() {
    ++number_;
    for (int step = 0; step < steps_; ++step) {
      peers_[step]->step[step].number.store(number_, std::memory_order_release);
      const std::atomic<std::uint32_t>& flag = own_->step[step].number;
      shm::wait_until(
          [&] { return static_cast<std::int32_t>(flag.load(std::memory_order_acquire) - number_) >= 0; }, policy_);
    }
  }

 private:
  Flags* own_;
  Flags* peers_[kMostSteps] = {};
  int steps_ = 0;
  std::uint32_t number_ = 0;
  shm::WaitPolicy policy_;
};

/// The least a barrier of two can be: each writes its line and looks for the other's, without a pause; only a peer
/// that has lost its core is given one, so that a loaded host does not stall for whole time slices.
class TwoFlags {
 public:
  TwoFlags(Flags* flags, int rank) : own_(flags[rank].step[0].number), peer_(flags[1 - rank].step[0].number) {}

  void operator()() {
    ++number_;
    peer_.store(number_, std::memory_order_release);
    for (int looks = 0; own_.load(std::memory_order_acquire) < number_; ++looks) {
      if (looks > kManyLooks) std::this_thread::yield();
    }
  }

 private:
  static constexpr int kManyLooks = 20000;

  std::atomic<std::uint32_t>& own_;
  std::atomic<std::uint32_t>& peer_;
  std::uint32_t number_ = 0;
};

}  // namespace corewise::bench
