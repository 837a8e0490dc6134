// Set-up: the ranks of a communicator agree whether they work together, and get shared memory. One exchange of
// cards, one agreement; any "no" is everybody's.
//
// Memory is files without names, which ranks open through each other's entries in /proc: there is nothing to run
// full, to be left behind or to be guessed. A process has one stage for all of its communicators (each where
// several threads may call at once), a communicator has the control lines. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <vector>

#include "coll/rank.hpp"
#include "preload/accelerating/call_board.hpp"
#include "preload/accelerating/counts.hpp"
#include "preload/accelerating/domains.hpp"
#include "preload/accelerating/selection.hpp"
#include "preload/accelerating/waiting.hpp"
#include "preload/next.hpp"
#include "shm/mapping.hpp"
#include "shm/port.hpp"

namespace corewise::preload::accelerating {

/// What the collectives take of a host; all communicators have it, but for the lines: up to kAlwaysAllPairs ranks
/// have them between all pairs, and more where the table has an algorithm that needs them, as long as the process's
/// limit on such lines lets them. Otherwise they are between partners (coll/building/partners.hpp). Up to kFarAhead
/// ranks a sender may be eight short messages ahead, and its readers acknowledge only every fourth. With `runs`,
/// where ranks share cores, up to kWithRuns of them send more eagerly: that is a phase less, which is a switch
/// between them.
inline constexpr int kFarAhead = 4;
inline constexpr int kWithRuns = 8;
constexpr coll::Shape shape_of(int ranks, coll::Lines lines, bool runs) {
  coll::Shape shape = coll::Shape::eager(ranks);
  shape.lines = lines;
  shape.eager_lines128 = shape.all_pairs() ? 2 : 1;  // only few ranks were measured
  if (shape.all_pairs() && ranks <= kFarAhead) shape.eager_slots = 8;
  if (runs && shape.all_pairs() && ranks <= kWithRuns) shape.eager_run_bytes = 2048;
  shape.buffer_bytes = 64 * 1024;
  shape.buffers = 4;
  shape.atomic_words = 1;
  return shape;
}

inline constexpr int kAlwaysAllPairs = 16;

/// The bytes of a communicator's own file: the key, the board, the lines; with stages where several threads may
/// call at once.
std::size_t own_bytes(int ranks, coll::Lines lines, bool runs, bool many_threads);

/// Shared memory of one communicator's ranks, as one of them sees it.
struct Memory {
  std::vector<std::shared_ptr<shm::Mapping>> stages;
  std::vector<std::byte*> stage_places;
  std::vector<std::shared_ptr<shm::Mapping>> heaps;  ///< of the others (mapped.hpp)
  std::vector<std::uint64_t> heap_keys;              ///< of all ranks; empty: they lend no windows
  shm::Mapping lines;
};

/// A rank's place among the ranks of a communicator, ready for calls.
struct Team {
  /// `processes`: those whose user memory can be reached, or none. `mapped`: the heaps of all ranks, or of none.
  Team(Memory&& of, const shm::Segment& segment, const coll::Shape& shape, int rank, const CallBoard& board,
       Waiting&& waits, shm::Processes processes, shm::Reach mapped);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  /// Not all ranks could map all heaps.
  void lend_nothing();
  /// Before a call: windows may have come or gone (mapped.hpp).
  void look_for_windows();
  /// Grows with every call that has moved data in mapped memory.
  [[nodiscard]] std::uint64_t done_in_mapped_memory() const { return rank.lent_calls + port.copies_in_reach(); }

  Memory memory;
  CallBoard board;
  Waiting waiting;
  shm::ShmPort port;
  coll::Rank<shm::ShmPort> rank;
  Offers offers;                   ///< once all have agreed
  std::uint64_t windows_seen = 0;  ///< windows_generation
  /// The arguments of the call under way. Only those that its collective takes are set anew.
  coll::Call<shm::ShmPort> call;
};

/// MPI ends: this process makes no calls any more, so its end is no peer's failure. (A team that ends says so
/// itself.)
void leave_teams();

/// Equal on the ranks of one node: they see each other's entries in /proc. Or on those that are told to count as
/// one.
std::uint64_t node_key();

/// Of the CPUs where this process may run.
Domains own_domains();

/// Collective over the communicator, in one of its blocking collectives. Fate::taken with a team, or why there is
/// none: the same on all ranks.
Fate set_up(MPI_Comm comm, std::unique_ptr<Team>& team);

}  // namespace corewise::preload::accelerating
