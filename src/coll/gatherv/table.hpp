// The gathers of blocks of different sizes: those of room gather that need no equal ones.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/gather/direct.hpp"
#include "coll/gather/eager.hpp"
#include "coll/gather/linear.hpp"
#include "coll/gather/one_copy.hpp"
#include "coll/gather/root_copies.hpp"
#include "coll/table.hpp"

namespace corewise::coll::gatherv {

/// The algorithms. What the port cannot do has no `run`.
template <port::Port P>
consteval auto make_rows() {
  constexpr auto kOneCopy = []() -> Run<P> {
    if constexpr (port::PeerUserCopy<P>) return &gather::one_copy<P>;
    return nullptr;
  };
  constexpr auto kDirect = []() -> Run<P> {
    if constexpr (port::DirectWrite<P>) return &gather::direct<P>;
    return nullptr;
  };
  constexpr auto kRootCopies = []() -> Run<P> {
    if constexpr (port::DirectRead<P>) return &gather::root_copies<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"direct", "the root announces places, every rank writes its block there (after 001, 6.1, OTA)",
             kPieceBytes | kBuffering | kClosing, kContiguous | kAllPairs, kDirect()},
      Row<P>{"root_copies", "ranks announce their blocks, the root copies all (after 001, 6.1, G)",
             kPieceBytes | kBuffering | kClosing, kContiguous | kAllPairs, kRootCopies()},
      Row<P>{"linear", "streams through the stages to the root, taken in turn", kPieceBytes | kClosing, kAllPairs,
             &gather::linear<P>},
      Row<P>{"eager", "blocks in the metadata's write, no closing barrier (001, 8)", kNothing,
             kEagerSlots | kAllPairs, &gather::eager<P>},
      Row<P>{"one_copy", "ranks write their blocks to the root's user memory, the root reads a part of each",
             kMinPiece | kClosing, kPeerMemory | kContiguous | kAllPairs, kOneCopy()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::gatherv
