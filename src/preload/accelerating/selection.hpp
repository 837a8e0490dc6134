// Selection: which algorithm a collective of so many bytes runs, as data. A table is a text:
//
//   allreduce=136:recursive_doubling,1048576:peer_stages/piece_bytes=65536,1048576:rabenseifner;broadcast=...
//
// A collective's rows are LIMIT:ALGORITHM in the order in which they are tried: the first whose limit is at least
// the call's bytes and that the operands allow is taken; `-` is no limit. Where none is, the MPI is called, as
// where the algorithm is `mpi`. Bytes are those of Facts: the operand, or the largest block that every rank knows
// (0 where no rank knows the others' blocks). SPDX-License-Identifier: BSD-3-Clause
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
  std::array<std::vector<Choice>, kCollectiveWords.size()> choices;
};

/// Nothing where the text is no table.
std::optional<Selection> parse_selection(std::string_view text);

/// What the knob says; the built-in table where it names none.
const Selection& selection();
/// A number for the knob's text: processes that differ in it do not work together.
std::uint64_t selection_key();

/// The choice for a call of these facts; null: the MPI is called.
inline const Choice* choose(const std::vector<Choice>& choices, const coll::Shape& shape,
                            const coll::Facts& facts) {
  for (const Choice& each : choices) {
    if (facts.bytes > each.limit) continue;
    if (each.row == nullptr) return nullptr;
    if (coll::usable(*each.row, shape, facts)) return &each;
  }
  return nullptr;
}

}  // namespace corewise::preload::accelerating
