// The floor, written by hand for two ranks on bare atomics: a barrier of two flags, and an exchange of 8 bytes in
// the flags' own lines, double buffered, which is an allreduce. They wait as the port does.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm/wait_policy.hpp"

namespace corewise::bench {

struct alignas(128) Line {
  std::atomic<std::uint32_t> number;
  std::atomic<std::int64_t> value;
};

/// Lies at the start of a zeroed block that both ranks map.
struct HandWrittenLines {
  Line barrier[2];      ///< of rank 0, of rank 1
  Line exchange[2][2];  ///< the same, two turns
};

class HandWritten {
 public:
  HandWritten(std::byte* block, int rank) : lines_(reinterpret_cast<HandWrittenLines*>(block)), rank_(rank) {}

  void barrier() {
    ++barriers_;
    lines_->barrier[1 - rank_].number.store(barriers_, std::memory_order_release);
    wait(lines_->barrier[rank_], barriers_);
  }

  std::int64_t sum(std::int64_t mine) {
    ++sums_;
    Line& theirs = lines_->exchange[1 - rank_][sums_ % 2];
    theirs.value.store(mine, std::memory_order_relaxed);
    theirs.number.store(sums_, std::memory_order_release);
    const Line& own = lines_->exchange[rank_][sums_ % 2];
    wait(own, sums_);
    return mine + own.value.load(std::memory_order_relaxed);
  }

 private:
  void wait(const Line& line, std::uint32_t number) const {
    shm::wait_until(
        [&] { return static_cast<std::int32_t>(line.number.load(std::memory_order_acquire) - number) >= 0; },
        policy_);
  }

  HandWrittenLines* lines_;
  int rank_;
  std::uint32_t barriers_ = 0;
  std::uint32_t sums_ = 0;
  shm::WaitPolicy policy_ = shm::WaitPolicy::for_ranks(2);
};

}  // namespace corewise::bench
