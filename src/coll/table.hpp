// Table: what a collective's table of algorithms is made of. An algorithm is its file, its row in its collective's
// table (COLLECTIVE/table.hpp), its test case; everything else (dispatch, sweeps, command line, tests over all)
// walks the tables. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "coll/call.hpp"
#include "coll/rank.hpp"

namespace corewise::coll {

/// Which parameters an algorithm looks at; or-ed.
enum Takes : std::uint32_t {
  kNothing = 0,
  kDegree = 1,
  kMinPiece = 2,
  kShift = 4,
  kPieceBytes = 8,
  kBuffering = 16,
  kList = 32,
  kFenced = 64,
  kWaits = 128,
  kClosing = 256,
  kAhead = 512,
  kFarPercent = 1024,
  kChildAhead = 2048,
  kFarFirst = 4096,
};

/// What an algorithm cannot do without; or-ed.
enum Needs : std::uint32_t {
  kAnything = 0,
  kCommutative = 1,   ///< the operator
  kFitsEager = 2,     ///< `bytes` at most Shape::eager_bytes()
  kContiguous = 4,    ///< no stride
  kPpe = 32,          ///< a program on the PPE that serves (lab/collectives/ppe_service.hpp)
  kEagerSlots = 64,   ///< Shape::eager_slots >= 2
  kAtomicWord = 128,  ///< Shape::atomic_words >= 1
  kWorkspace = 256,   ///< Call::workspace on every rank
  kPeerMemory = 512,  ///< ranks may read and write each other's user memory (port::PeerUserCopy)
  /// Lines between all ranks (coll/building/partners.hpp); or where the operator does not commute.
  kAllPairs = 1024,
  kAllPairsInOrder = 2048,
};

template <port::Port P>
using Run = void (*)(Rank<P>& me, const Call<P>& call, const Parameters& parameters);

template <port::Port P>
struct Row {
  std::string_view name;
  std::string_view what;  ///< one line: how it works, paper and section
  std::uint32_t takes = kNothing;
  std::uint32_t needs = kAnything;
  /// Null where the port lacks what the algorithm needs.
  Run<P> run = nullptr;
};

/// The facts that decide whether a row may be used: equal on all ranks.
struct Facts {
  std::uint64_t bytes = 0;          ///< of the operand, or of the largest block that every rank knows
  std::uint32_t element_bytes = 1;  ///< of the operator; 1 where there is none
  bool commutative = true;
  bool contiguous = true;
  bool ppe = false;
  bool workspace = false;
  bool peer_memory = false;
};

/// Why a row cannot be used.
enum class Lacks : std::uint8_t {
  nothing,
  fewer_ranks,   ///< at most kMostRanks
  port,          ///< its capabilities
  element_room,  ///< Facts::element_bytes at most Shape::most_element_bytes()
  commutative,
  any_slots,    ///< for eager messages
  eager_bytes,  ///< Facts::bytes at most Shape::eager_bytes()
  two_slots,
  contiguous,
  ppe,
  atomic_word,
  workspace,
  peer_memory,
  all_pairs,
};

/// The first thing that is lacking for an algorithm of such needs; what its port must have aside.
constexpr Lacks lacking(std::uint32_t all_needs, const Shape& shape, const Facts& facts) {
  const auto needs = [all_needs](Needs need) { return (all_needs & need) != 0; };
  if (shape.ranks > kMostRanks) return Lacks::fewer_ranks;
  if (needs(kCommutative) && !facts.commutative) return Lacks::commutative;
  if (needs(kFitsEager) && shape.eager_slots == 0) return Lacks::any_slots;
  if (needs(kFitsEager) && facts.bytes > shape.eager_bytes()) return Lacks::eager_bytes;
  if (!needs(kFitsEager) && facts.element_bytes > shape.most_element_bytes()) return Lacks::element_room;
  if (needs(kContiguous) && !facts.contiguous) return Lacks::contiguous;
  if (needs(kEagerSlots) && shape.eager_slots < 2) return Lacks::two_slots;
  if (needs(kPpe) && !facts.ppe) return Lacks::ppe;
  if (needs(kAtomicWord) && shape.atomic_words < 1) return Lacks::atomic_word;
  if (needs(kWorkspace) && !facts.workspace) return Lacks::workspace;
  if (needs(kPeerMemory) && !facts.peer_memory) return Lacks::peer_memory;
  const bool meets_all = needs(kAllPairs) || (needs(kAllPairsInOrder) && !facts.commutative);
  if (meets_all && !shape.all_pairs()) return Lacks::all_pairs;
  return Lacks::nothing;
}

template <port::Port P>
constexpr Lacks lacking(const Row<P>& row, const Shape& shape, const Facts& facts) {
  return row.run == nullptr ? Lacks::port : lacking(row.needs, shape, facts);
}

template <port::Port P>
constexpr bool usable(const Row<P>& row, const Shape& shape, const Facts& facts) {
  return lacking(row, shape, facts) == Lacks::nothing;
}

}  // namespace corewise::coll
