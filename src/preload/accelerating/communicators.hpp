// Communicators as the library knows them: a state per communicator, found by its handle. The state is an attribute
// of the communicator, so it ends with it: locally, whenever a rank frees it. Each thread knows the handles that it
// has met (preload/handles.hpp). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "preload/accelerating/accelerating.hpp"
#include "preload/accelerating/counts.hpp"
#include "preload/accelerating/set_up.hpp"
#include "preload/handles.hpp"

namespace corewise::preload::accelerating {

struct Levels;

struct Communicator {
  Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  MPI_Comm handle = MPI_COMM_NULL;
  /// `taken`: calls are taken over; else why not.
  Fate fate = Fate::early;
  int calls_left = 0;  ///< before it is set up
  int ranks = 0;
  std::unique_ptr<Team> team;  ///< where calls are taken over
  std::unique_ptr<Levels>
      levels;  ///< where its ranks are on several nodes and some calls are taken over (levels.hpp)
};

inline constexpr std::size_t kSlots = 64;

extern constinit thread_local KnownHandles<Communicator, kSlots> known __attribute__((tls_model("initial-exec")));
extern constinit Generations<kSlots> generations;

/// The slow half of `communicator_of`; null for a handle that MPI is to judge.
Communicator* find_communicator(MPI_Comm handle, std::uint64_t key);

/// Whether all processes of an intra-communicator have this library: the same on all of its ranks.
bool work_together(MPI_Comm handle);

/// A collective call on a communicator that is not set up: sets it up when it is time. All ranks come here in the
/// same call.
void arrive(Communicator& communicator);

/// How many communicators this thread has freed.
extern constinit thread_local std::uint64_t freed_here __attribute__((tls_model("initial-exec")));

/// The MPI has done such a call, and counts it. Where there was an error its handler may have freed the
/// communicator; before the call `freed_before` were. Where the MPI refused the arguments, nobody else was in that
/// call: it does not count. Nor does one that a handler has left by longjmp, which never comes here.
void count_early(MPI_Comm handle, Communicator* communicator, std::uint64_t freed_before, int code);

inline Communicator* communicator_of(MPI_Comm handle) {
  if (!active.load(std::memory_order_acquire)) return nullptr;
  const std::uint64_t key = handle_key(handle);
  if (const auto* entry = known.find(key, generations)) return entry->object;
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
  std::uintptr_t place_;
};

/// The key of the attribute ends with MPI.
void end_communicators();

}  // namespace corewise::preload::accelerating
