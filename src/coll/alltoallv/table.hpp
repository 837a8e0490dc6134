// The all-to-alls of blocks of different sizes: those of room alltoall that need no equal ones.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/alltoall/direct.hpp"
#include "coll/alltoall/eager.hpp"
#include "coll/alltoall/one_copy.hpp"
#include "coll/alltoall/pairwise.hpp"
#include "coll/table.hpp"

namespace corewise::coll::alltoallv {

/// The algorithms. What the port cannot do has no `run`.
template <port::Port P>
consteval auto make_rows() {
  constexpr auto kOneCopy = []() -> Run<P> {
    if constexpr (port::PeerUserCopy<P>) return &alltoall::one_copy<P>;
    return nullptr;
  };
  constexpr auto kDirect = []() -> Run<P> {
    if constexpr (port::DirectRead<P>) return &alltoall::direct<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"direct", "blocks announced to all, every rank copies its own from all (after 001, 6.1, AG)",
             kPieceBytes | kBuffering | kClosing, kAllPairs, kDirect()},
      Row<P>{"pairwise", "P - 1 steps, in each an exchange with another peer", kPieceBytes | kClosing, kAllPairs,
             &alltoall::pairwise<P>},
      Row<P>{"eager", "blocks in the metadata's write, no closing barrier (001, 8)", kNothing,
             kEagerSlots | kAllPairs, &alltoall::eager<P>},
      Row<P>{"one_copy", "every rank copies its blocks straight out of the others' user memory",
             kMinPiece | kClosing, kPeerMemory | kAllPairs, kOneCopy()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::alltoallv
