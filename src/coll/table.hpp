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
};

/// What an algorithm cannot do without; or-ed.
enum Needs : std::uint32_t {
  kAnything = 0,
  kCommutative = 1,   ///< the operator
  kFitsEager = 2,     ///< `bytes` at most Shape::eager_bytes()
  kContiguous = 4,    ///< no stride
  kPowerOfTwo = 8,    ///< ranks
  kFourBuffers = 16,  ///< Shape::buffers >= 4
  kPpe = 32,          ///< a program on the PPE that serves (lab/ppe_service.hpp)
  kEagerSlots = 64,   ///< Shape::eager_slots >= 2
  kAtomicWord = 128,  ///< Shape::atomic_words >= 1
  kWorkspace = 256,   ///< Call::workspace on every rank
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
  std::uint64_t bytes = 0;  ///< of the operand, or of the largest block that every rank knows
  bool commutative = true;
  bool contiguous = true;
  bool ppe = false;
  bool workspace = false;
};

template <port::Port P>
constexpr bool usable(const Row<P>& row, const Shape& shape, const Facts& facts) {
  const auto needs = [&row](Needs need) { return (row.needs & need) != 0; };
  if (row.run == nullptr) return false;
  if (needs(kCommutative) && !facts.commutative) return false;
  if (needs(kFitsEager) && (shape.eager_slots == 0 || facts.bytes > shape.eager_bytes())) return false;
  if (needs(kContiguous) && !facts.contiguous) return false;
  if (needs(kPowerOfTwo) && (shape.ranks & (shape.ranks - 1)) != 0) return false;
  if (needs(kFourBuffers) && shape.buffers < 4) return false;
  if (needs(kPpe) && !facts.ppe) return false;
  if (needs(kAtomicWord) && shape.atomic_words < 1) return false;
  if (needs(kWorkspace) && !facts.workspace) return false;
  return !needs(kEagerSlots) || shape.eager_slots >= 2;
}

}  // namespace corewise::coll
