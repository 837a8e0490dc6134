// The all-gathers of blocks of different sizes: every rank knows all sizes, so the same ones do.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/allgather/direct.hpp"
#include "coll/allgather/eager.hpp"
#include "coll/allgather/one_copy.hpp"
#include "coll/allgather/stepwise.hpp"
#include "coll/table.hpp"

namespace corewise::coll::allgatherv {

/// The algorithms. What the port cannot do has no `run`.
template <port::Port P>
consteval auto make_rows() {
  constexpr auto kOneCopy = []() -> Run<P> {
    if constexpr (port::PeerUserCopy<P>) return &allgather::one_copy<P>;
    return nullptr;
  };
  constexpr auto kDirect = []() -> Run<P> {
    if constexpr (port::DirectWrite<P>) return &allgather::direct<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"direct", "places announced to all, every rank writes its block to all (after 001, 6.1, AG)",
             kPieceBytes | kBuffering | kClosing, kAllPairs, kDirect()},
      Row<P>{"ring", "P - 1 steps, each passes a block on", kPieceBytes | kClosing, kAnything, &allgather::ring<P>},
      Row<P>{"recursive_doubling", "twice the blocks in every step, folded where P is no power of two",
             kPieceBytes | kClosing, kAnything, &allgather::recursive_doubling<P>},
      Row<P>{"bruck", "twice the blocks in every step, any P (Bruck et al. 1997)", kPieceBytes | kClosing,
             kAnything, &allgather::bruck<P>},
      Row<P>{"eager", "blocks in the metadata's write, no closing barrier (001, 8)", kNothing,
             kFitsEager | kEagerSlots | kAllPairs, &allgather::eager<P>},
      Row<P>{"one_copy", "every rank copies the blocks straight out of the others' user memory",
             kMinPiece | kClosing, kPeerMemory | kAllPairs, kOneCopy()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::allgatherv
