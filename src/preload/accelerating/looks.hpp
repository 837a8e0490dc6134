// Looks: what an MPI finds that a program asks once, such as MPI_Iprobe. An MPI may look first and make progress
// afterwards, and take in one message at a time. It makes progress in its own collectives, too, so that one look
// finds what was sent before; after ours it would find that only at a later look.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "preload/mpi_api.hpp"

namespace corewise::preload::accelerating {

/// So many looks in vain are repeated. Threads that look at once may repeat one more or less.
inline std::atomic<int> looks_due{0};

/// A collective of so many ranks was taken over: each of them may have sent a message before.
inline void looks_become_due(int ranks) {
  looks_due.store(ranks, std::memory_order_relaxed);
}

/// Whether a look that returned `code` and, where it found nothing, left 0 in `found` is to be done again.
inline bool look_again(int code, const int* found) {
  const int due = looks_due.load(std::memory_order_relaxed);
  if (due == 0) [[likely]]
    return false;
  if (code != MPI_SUCCESS || found == nullptr || *found != 0) return false;
  looks_due.store(due - 1, std::memory_order_relaxed);
  return true;
}

}  // namespace corewise::preload::accelerating
