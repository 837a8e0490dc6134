// Accelerating: blocking collectives inside a node by corewise's own algorithms (room coll on room shm). Half of a
// library of its own, libcorewise-accelerate.so, which stands last in LD_PRELOAD; the other half is generated
// (python/corewise/mpi/generators/accelerating.py), a wrapper under the names MPI_X and PMPI_X for every
// collective.
//
// Contract: a call is taken over or passed to the MPI by facts that are equal on all its ranks: the communicator's
// agreement (set_up.hpp), the collective, the bytes, the operator. What only one rank knows, such as its datatype
// or where its buffer lies, changes how that rank moves its own data and nothing else. No exception leaves, nothing
// is printed. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "available.hpp"
#include "preload/next.hpp"

namespace corewise::preload::accelerating {

extern std::atomic<bool> active;  ///< while there is a world or a session, where the knob is not `off`

/// MPI_Init has returned.
void begin();
/// While it lives, this thread is in MPI_Finalize. Sessions that are open still go on.
class Finalizing {
 public:
  Finalizing();
  Finalizing(const Finalizing&) = delete;
  Finalizing& operator=(const Finalizing&) = delete;
  ~Finalizing();
};
/// Whether an attribute's end may free communicators: it may not where MPI's own end is what ends it.
bool may_free_communicators();
#ifdef CW_HAVE_MPI_Session_init
/// MPI_Session_init has returned; MPI_Session_finalize begins.
void begin_session(MPI_Session session);
void finish_session(MPI_Session session);
#endif

/// The processes that were launched together, which all have this library. Processes that were spawned, or that
/// connected, may not.
MPI_Group launched();
/// Whether processes that are spawned get the library, too (spawning.hpp); and its variables, name and
/// value, as they are here.
bool spawned_get_library();
std::vector<std::pair<std::string, std::string>> settings_here();
/// Whether a session was ever opened: each may have its own thread level.
bool has_sessions();

/// What the knob COREWISE_ACCELERATE says: off; on; always; or a table's rows (selection.hpp).
std::string_view wanted();

/// Blocking collectives that a communicator leaves to the MPI before it is set up: a short-lived one never pays.
int calls_before();

/// What the knob COREWISE_ACCELERATE_LINES says: auto, or partners.
std::string_view lines_wanted();

/// What the knob COREWISE_ACCELERATE_LEVELS says, as text; and whether communicators of several nodes go by levels.
std::string_view levels_wanted();
bool goes_by_levels();
/// So many successive ranks of the launch count as a node; 0: nodes are nodes.
int forced_node_ranks();
/// Whether ranks inside a node go by the domains that they are bound to; which these are as a text (domains.hpp),
/// empty where the kernel says it; and where its files about them are.
bool goes_by_domains();
std::string_view told_domains();
std::string_view system_files();
/// How many successive ranks of a communicator inside a node are a group, for each level of groups (domains.hpp);
/// empty: there are none.
std::string_view group_sizes();

/// Whether ranks may copy to and from each other's user memory, where the system lets them.
bool copies_between_processes();

/// Whether memory of MPI_Alloc_mem is such that all ranks of a node map it.
bool lends_memory();

/// Which blocks of malloc are wanted to be such memory, too (allocating/malloc.cpp).
inline constexpr std::size_t kLeastHeapBytes = std::size_t{64} << 10;
struct WantedHeap {
  std::size_t least_bytes = SIZE_MAX;  ///< kLeastHeapBytes or more; SIZE_MAX: none are
  bool forced = false;                 ///< also where that costs them huge pages
};
WantedHeap wanted_heap();

}  // namespace corewise::preload::accelerating
