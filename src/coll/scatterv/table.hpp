// The scatters of blocks of different sizes: those of room scatter that need no equal ones.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/scatter/direct.hpp"
#include "coll/scatter/eager.hpp"
#include "coll/scatter/linear.hpp"
#include "coll/scatter/one_copy.hpp"
#include "coll/scatter/root_copies.hpp"
#include "coll/table.hpp"

namespace corewise::coll::scatterv {

/// The algorithms. What the port cannot do has no `run`.
template <port::Port P>
consteval auto make_rows() {
  constexpr auto kOneCopy = []() -> Run<P> {
    if constexpr (port::PeerUserCopy<P>) return &scatter::one_copy<P>;
    return nullptr;
  };
  constexpr auto kDirect = []() -> Run<P> {
    if constexpr (port::DirectRead<P>) return &scatter::direct<P>;
    return nullptr;
  };
  constexpr auto kRootCopies = []() -> Run<P> {
    if constexpr (port::DirectWrite<P>) return &scatter::root_copies<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"direct", "the root announces blocks, every rank copies its own (after 001, 6.1, OTA)",
             kPieceBytes | kBuffering | kClosing, kContiguous | kAllPairs, kDirect()},
      Row<P>{"root_copies", "ranks announce places, the root writes all (after 001, 6.1, G)",
             kPieceBytes | kBuffering | kClosing, kContiguous | kAllPairs, kRootCopies()},
      Row<P>{"linear", "streams through the root's stage, as many at once as it has areas", kPieceBytes | kClosing,
             kAllPairs, &scatter::linear<P>},
      Row<P>{"eager", "blocks in the metadata's write, no closing barrier (001, 8)", kNothing,
             kEagerSlots | kAllPairs, &scatter::eager<P>},
      Row<P>{"one_copy", "ranks read their blocks in the root's user memory, the root writes a part of each",
             kMinPiece | kClosing, kPeerMemory | kContiguous | kAllPairs, kOneCopy()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::scatterv
