// Communicators as the library knows them: a state per communicator, found by its handle. The state is an attribute
// of the communicator, so it ends with it: locally, whenever a rank frees it. A small cache of each thread answers
// for handles it has met; a handle may be used again for another communicator, so every entry has a generation,
// which ends when a communicator that it may mean is freed. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "coll/rank.hpp"
#include "preload/accelerating/accelerating.hpp"
#include "preload/accelerating/counts.hpp"
#include "preload/accelerating/selection.hpp"
#include "preload/accelerating/set_up.hpp"

namespace corewise::preload::accelerating {

struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;
  /// `taken`: calls are taken over; else why not.
  Fate fate = Fate::early;
  int calls_left = 0;  ///< before it is set up
  int ranks = 0;
  std::unique_ptr<Team> team;  ///< where calls are taken over
};

inline constexpr std::size_t kSlots = 64;

struct Known {
  std::uint64_t handle;
  Communicator* communicator;
  std::uint32_t generation;
};
extern constinit thread_local std::array<Known, kSlots> known __attribute__((tls_model("initial-exec")));
extern constinit std::array<std::atomic<std::uint32_t>, kSlots> generations;

inline std::size_t slot_of(std::uint64_t handle) {
  return static_cast<std::size_t>((handle * 0x9E3779B97F4A7C15ULL) >> 58);
}

/// The slow half of `communicator_of`; null for a handle that MPI is to judge.
Communicator* find_communicator(MPI_Comm handle, std::uint64_t key);

/// A collective call on a communicator that is not set up: counts it, and sets up when it is time. All ranks come
/// here in the same call.
void arrive(Communicator& communicator);

inline Communicator* communicator_of(MPI_Comm handle) {
  if (!active.load(std::memory_order_acquire)) return nullptr;
  const std::uint64_t key = handle_key(handle);
  const std::size_t slot = slot_of(key);
  const Known& entry = known[slot];
  if (entry.handle == key && entry.generation == generations[slot].load(std::memory_order_relaxed))
    return entry.communicator;
  return find_communicator(handle, key);
}

/// While it lives, this thread is in a call that frees the communicator. Callbacks of the program may use it still:
/// it has no state any more, so its collectives are the MPI's.
class Freeing {
 public:
  explicit Freeing(const MPI_Comm* handle);
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
  ~Freeing();

  static bool is_under_way(std::uint64_t key);

 private:
  std::uint64_t key_;
  Freeing* outer_;  ///< a callback may free another communicator
};

/// The key of the attribute ends with MPI.
void end_communicators();

}  // namespace corewise::preload::accelerating
