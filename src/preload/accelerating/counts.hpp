// Counts: how many calls were taken over, how many were passed to the MPI, and why; written into the profile when
// MPI ends. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "coll/call.hpp"

namespace corewise::preload::accelerating {

/// What became of a call.
enum class Fate : std::uint8_t {
  taken,
  early,          ///< the communicator was not set up yet
  one_rank,       ///< it has one rank, or more than the algorithms have lines for
  inter,          ///< it is an inter-communicator
  other_launch,   ///< it has processes of another launch
  not_one_node,   ///< its ranks are not on one node, or cannot see each other there
  memory,         ///< no room for its lines
  gpu,            ///< a process has a GPU's library
  differs,        ///< processes have different settings or thread levels
  table,          ///< the table leaves it to the MPI
  operands,       ///< a reduction of operands that are not known
  arguments,      ///< it is wrong: the MPI says so
  packing,        ///< the MPI packs data otherwise than as plain bytes
  broken,         ///< an earlier call failed: a peer had died or was in another call
  several_nodes,  ///< its ranks are on several nodes: only some collectives are done by levels
  mapped,         ///< taken, too: and no byte was staged, all was done in memory that ranks lend each other
  huge_pages,     ///< of malloc: mapped memory would have none, other memory has them
};
inline constexpr std::array<std::string_view, 17> kFateNames = {"taken",
                                                                "the communicator was not set up yet",
                                                                "one rank, or too many",
                                                                "an inter-communicator",
                                                                "ranks of another launch",
                                                                "not all ranks on one node",
                                                                "no shared memory left",
                                                                "a GPU's library is loaded",
                                                                "processes differ in their settings",
                                                                "the table leaves it to the MPI",
                                                                "a reduction that the MPI alone knows",
                                                                "wrong arguments",
                                                                "the MPI does not pack plain bytes",
                                                                "an earlier call failed",
                                                                "ranks on several nodes",
                                                                "in mapped memory",
                                                                "huge pages would be lost"};

inline constexpr std::size_t kAlltoallw = 16, kMalloc = 17, kProcedures = 18;
/// In the order of coll::Collective; then alltoallw, and what gives large blocks (allocating/malloc.cpp).
inline constexpr std::array<std::string_view, kProcedures> kProcedureNames = {
    "MPI_Barrier",   "MPI_Bcast",      "MPI_Reduce",         "MPI_Allreduce",
    "MPI_Gather",    "MPI_Gatherv",    "MPI_Scatter",        "MPI_Scatterv",
    "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall",       "MPI_Alltoallv",
    "MPI_Scan",      "MPI_Exscan",     "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Alltoallw", "malloc"};

inline std::atomic<std::uint64_t> counts[kProcedures][kFateNames.size()];

/// Counts a call. A count may miss one where two threads call at once: it costs no locked instruction.
inline void count(std::size_t procedure, Fate fate) {
  auto& number = counts[procedure][static_cast<std::size_t>(fate)];
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
inline void count(coll::Collective collective, Fate fate) {
  count(static_cast<std::size_t>(collective), fate);
}

/// A procedure that is always passed on: another form of a collective. Counts itself under its name.
class PassedOn {
 public:
  constexpr explicit PassedOn(const char* name) : name_(name) {}
  void operator()();

 private:
  friend void write_counts(std::string_view folder, int rank);
  const char* name_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<bool> listed_{false};
  PassedOn* next_ = nullptr;
};

/// Writes `folder`/accelerate.RANK.csv; nothing where that cannot be done.
void write_counts(std::string_view folder, int rank);

}  // namespace corewise::preload::accelerating
