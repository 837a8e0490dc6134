// Communicators as the trace sees them: an index, and the world rank behind every rank.
//
// A communicator is described when the preload first meets it, whatever constructor made it, with local calls only
// (MPI_Comm_group and friends). The description hangs on the communicator as an attribute whose delete callback
// tells when a handle value is free for another communicator; each thread keeps the last few in a small cache.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/mpi_api.hpp"
#include "preload/recording/process.hpp"

namespace corewise::preload {

struct Communicator {
  std::uint64_t index = trace::kUnknownComm;
  bool is_inter = false;
  int size = 0;
  int remote_size = 0;
  int my_rank = 0;
  std::int32_t* world_ranks = nullptr;   ///< of the local group; nullptr: rank r is world rank r
  std::int32_t* remote_ranks = nullptr;  ///< of the remote group of an intercommunicator
  int references = 1;                    ///< the attribute's, and one per outstanding request
  std::uint64_t key = 0;                 ///< of the handle
  Communicator* next = nullptr;          ///< of those whose key has the same chain
};

/// Sets the group that world ranks are looked up in. `world` stays the caller's no more.
void start_communicators(MPI_Group world);

/// Forgets groups and keyval; called once before MPI goes away.
void stop_communicators();

/// The description of `comm`; slow path of communicator_of. Never nullptr: an unknown one after failure.
Communicator* describe(Thread& thread, MPI_Comm comm);

/// Describes a group that belongs to no communicator at hand (a window's). The caller owns one reference.
Communicator* describe_group(MPI_Group group);

/// Stands for every communicator that could not be described.
Communicator* unknown_communicator();

extern std::uint64_t comm_generation;  ///< raised whenever a described communicator is freed

inline Communicator* communicator_of(Thread& thread, MPI_Comm comm) {
  const std::uint64_t key = handle_key(comm);
  const std::size_t line = (key >> 3 ^ key >> 9 ^ key) % Thread::kCachedComms;
  if (thread.comm_generation == __atomic_load_n(&comm_generation, __ATOMIC_ACQUIRE) &&
      thread.comm_keys[line] == key) [[likely]]
    return thread.comms[line];
  return describe(thread, comm);
}

/// The communicator if it has been described and lives, without a question to MPI; slow path of known_communicator.
Communicator* find_described(MPI_Comm comm);

/// What communicator_of would say, for a handle that MPI has not accepted yet: nullptr where nothing is known of
/// it.
inline Communicator* known_communicator(const Thread& thread, MPI_Comm comm) {
  const std::uint64_t key = handle_key(comm);
  const std::size_t line = (key >> 3 ^ key >> 9 ^ key) % Thread::kCachedComms;
  if (thread.comm_generation == __atomic_load_n(&comm_generation, __ATOMIC_ACQUIRE) &&
      thread.comm_keys[line] == key) [[likely]]
    return thread.comms[line];
  return find_described(comm);
}

/// Registers a new communicator at once, with its origin. Null handles are ignored.
void note_new_communicator(Thread& thread, MPI_Comm fresh, std::uint64_t created_by, MPI_Comm parent);

void retain(Communicator* comm);
void release(Communicator* comm);

/// Libraries differ in the value of MPI_ANY_TAG, which a receive from MPI_PROC_NULL returns.
inline std::int32_t recorded_tag(int tag) {
  return tag == MPI_ANY_TAG ? trace::kAnyTag : tag;
}

/// World rank of the peer `rank` of a point-to-point call on `comm`.
inline std::int32_t world_peer(const Communicator& comm, int rank) {
  if (rank == MPI_PROC_NULL) return trace::kProcNull;
  if (rank == MPI_ANY_SOURCE) return trace::kAnySource;
  const std::int32_t* ranks = comm.is_inter ? comm.remote_ranks : comm.world_ranks;
  const int size = comm.is_inter ? comm.remote_size : comm.size;
  if (rank < 0 || rank >= size) return trace::kNoPeer;
  return ranks != nullptr ? ranks[rank] : rank;
}

/// World rank of a collective's root; kNoPeer for MPI_ROOT (this rank itself is the root) and rootless ones.
inline std::int32_t world_root(const Communicator& comm, int root) {
  return root < 0 ? trace::kNoPeer : world_peer(comm, root);
}

}  // namespace corewise::preload
