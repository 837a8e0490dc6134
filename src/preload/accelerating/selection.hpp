// Selection: which algorithm a collective of so many bytes runs, as data. A table is a text:
//
//   2>allreduce=136:recursive_doubling,1048576:peer_stages/piece=65536,1048576:rabenseifner;broadcast=...|4c>...
//
// Parts for communicators of so many ranks are separated by `|`; `c` is for ranks that share cores. A communicator
// takes the part of the nearest number of ranks among those for ranks that share cores, or do not; a part without
// its `RANKS>` serves all that have no other. `on|` before the parts adds the built-in table: of parts that are
// equally near the text's own is taken.
//
// A collective's rows are LIMIT:ALGORITHM in the order in which they are tried: the first whose limit is at least
// the call's bytes and that the operands allow is taken; `-` is no limit. Where none is, the MPI is called, as
// where the algorithm is `mpi`. Bytes are those of coll::Facts: the operand, or the largest block that every rank
// knows (0 where no rank knows the others' blocks). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coll/table.hpp"
#include "shm/port.hpp"

namespace corewise::preload::accelerating {

using Port = shm::ShmPort;
using Row = coll::Row<Port>;

/// The words of a table for coll::Collective, in its order.
inline constexpr std::array<std::string_view, 16> kCollectiveWords = {
    "barrier", "broadcast", "reduce",         "allreduce",           "gather",   "gatherv",
    "scatter", "scatterv",  "allgather",      "allgatherv",          "alltoall", "alltoallv",
    "scan",    "exscan",    "reduce_scatter", "reduce_scatter_block"};

struct Choice {
  std::uint64_t limit = 0;   ///< bytes
  const Row* row = nullptr;  ///< null: the MPI
  coll::Parameters parameters;
};

struct Selection {
  int ranks = 0;  ///< 0: any number, crowded or not
  bool crowded = false;
  std::array<std::vector<Choice>, kCollectiveWords.size()> choices;
};

/// The parts of a table; nothing where the text is none.
std::optional<std::vector<Selection>> parse_table(std::string_view text);

/// The part of the knob's table, or of the built-in one, for such a communicator.
const Selection& selection_for(int ranks, bool crowded);
/// Whether any of its algorithms needs lines between all ranks.
bool meets_all_pairs(const Selection& part);

/// A choice as a communicator has it: what a call must still be looked at for.
struct Offer {
  std::uint64_t limit = 0;  ///< bytes; those of an eager message at most, where the algorithm needs that
  std::uint32_t most_element_bytes = UINT32_MAX;
  bool needs_commutative = false;
  const Choice* choice = nullptr;  ///< null: the MPI
};
using Offers = std::array<std::vector<Offer>, kCollectiveWords.size()>;

/// What of a part the communicators of this shape can use.
Offers offers_of(const Selection& part, const coll::Shape& shape, bool peer_memory);

/// The choice for a call of these facts; null: the MPI is called.
inline const Choice* choose(const std::vector<Offer>& offers, std::uint64_t bytes, std::uint32_t element_bytes,
                            bool commutative) {
  for (const Offer& each : offers) {
    if (bytes > each.limit || element_bytes > each.most_element_bytes) continue;
    if (commutative || !each.needs_commutative) return each.choice;
  }
  return nullptr;
}

}  // namespace corewise::preload::accelerating
