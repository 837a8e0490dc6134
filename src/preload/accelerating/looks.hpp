// Looks: what an MPI finds that a program asks once, such as MPI_Iprobe. An MPI may look first and make progress
// afterwards. After its own collectives, in which it makes progress too, one look finds every message that was sent
// before; after ours it would find them only the second time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "preload/mpi_api.hpp"

namespace corewise::preload::accelerating {

/// A collective was taken over, and the MPI has made no progress since that a program asked for.
inline std::atomic<bool> looks_due{false};

inline void looks_become_due() {
  looks_due.store(true, std::memory_order_relaxed);
}

/// Whether a look that returned `code` and, where it found nothing, left 0 in `found` is to be done again.
inline bool look_again(int code, const int* found) {
  if (!looks_due.load(std::memory_order_relaxed)) [[likely]]
    return false;
  if (code != MPI_SUCCESS || found == nullptr || *found != 0) return false;
  return looks_due.exchange(false, std::memory_order_relaxed);
}

}  // namespace corewise::preload::accelerating
