// The broadcasts of paper 001, section 6, and of its future work. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/broadcast/eager_tree.hpp"
#include "coll/broadcast/local_store_tree.hpp"
#include "coll/broadcast/one_copy.hpp"
#include "coll/broadcast/one_to_all.hpp"
#include "coll/broadcast/pieces.hpp"
#include "coll/broadcast/ppe_memcpy.hpp"
#include "coll/broadcast/root_copies.hpp"
#include "coll/broadcast/root_stage.hpp"
#include "coll/broadcast/scatter_allgather.hpp"
#include "coll/broadcast/tree_main_memory.hpp"
#include "coll/table.hpp"

namespace corewise::coll::broadcast {

/// The algorithms. What the port cannot do has no `run`.
template <port::Port P>
consteval auto make_rows() {
  constexpr auto kOneCopy = []() -> Run<P> {
    if constexpr (port::PeerUserCopy<P>) return &one_copy<P>;
    return nullptr;
  };
  constexpr std::uint32_t kCopies = kPieceBytes | kBuffering | kAhead | kWaits | kClosing;
  constexpr auto kTreeMainMemory = []() -> Run<P> {
    if constexpr (port::DirectRead<P>) return &tree_main_memory<P>;
    return nullptr;
  };
  constexpr auto kOneToAll = []() -> Run<P> {
    if constexpr (port::DirectRead<P>) return &one_to_all<P>;
    return nullptr;
  };
  constexpr auto kRootCopies = []() -> Run<P> {
    if constexpr (port::DirectWrite<P>) return &root_copies<P>;
    return nullptr;
  };
  constexpr auto kPieces = []() -> Run<P> {
    if constexpr (port::DirectRead<P> && port::DirectWrite<P>) return &pieces<P>;
    return nullptr;
  };
  constexpr auto kPpeMemcpy = []() -> Run<P> {
    if constexpr (port::Mailboxes<P>) return &ppe_memcpy<P>;
    return nullptr;
  };
  constexpr auto kRootStage = []() -> Run<P> {
    if constexpr (port::PeerStageRead<P>) return &root_stage<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"tree_main_memory", "TREEMM: children copy from their parent's main memory (001, 6.1)",
             kDegree | kCopies, kContiguous, kTreeMainMemory()},
      Row<P>{"one_to_all", "OTA: everybody copies from the root's main memory, shifted (001, 6.1)",
             kDegree | kShift | kCopies, kContiguous, kOneToAll()},
      Row<P>{"root_copies", "G: the root gathers addresses and writes to all (001, 6.1)",
             kDegree | kFenced | kCopies, kContiguous | kAllPairs, kRootCopies()},
      Row<P>{"pieces", "AG: all gather addresses, each writes its part to all (001, 6.1)",
             kMinPiece | kFenced | kFarPercent | kCopies, kContiguous | kAllPairs, kPieces()},
      Row<P>{"local_store_tree",
             "TREE: piece by piece from local store to local store; degree 1 a chain (001, 6.1)",
             kDegree | kFenced | (port::DmaLists<P> ? kList : kNothing) | kCopies, kAnything, &local_store_tree<P>},
      Row<P>{"ppe_memcpy", "the PPE copies with memcpy (001, 6.3)", kClosing, kPpe | kContiguous, kPpeMemcpy()},
      Row<P>{"scatter_allgather", "van de Geijn: scatter, then a ring, over send and receive (001, 6.4)", kClosing,
             kContiguous, &scatter_allgather<P>},
      Row<P>{"eager_tree", "the data inside the entries, down a tree (001, 8)", kDegree | kClosing, kFitsEager,
             &eager_tree<P>},
      Row<P>{"root_stage", "everybody copies from the root's stage straight to its user memory",
             kPieceBytes | kClosing, kContiguous | kAllPairs, kRootStage()},
      Row<P>{"one_copy", "all read the root's user memory, the root writes a part of each result",
             kMinPiece | kClosing, kPeerMemory | kContiguous | kAllPairs, kOneCopy()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::broadcast
