// The reductions to a root: paper 001, section 7, and its future work. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/reduce/eager_tree.hpp"
#include "coll/reduce/peer_stages.hpp"
#include "coll/reduce/pieces.hpp"
#include "coll/reduce/rabenseifner.hpp"
#include "coll/reduce/tree.hpp"
#include "coll/reduce/tree_main_memory.hpp"
#include "coll/table.hpp"

namespace corewise::coll::reduce {

template <port::Port P>
consteval auto make_rows() {
  constexpr std::uint32_t kPipeline = kPieceBytes | kBuffering | kAhead;
  constexpr auto kPieces = []() -> Run<P> {
    if constexpr (port::DirectRead<P> && port::DirectWrite<P>) return &pieces<P>;
    return nullptr;
  };
  constexpr auto kPeerStages = []() -> Run<P> {
    if constexpr (port::PeerStageCombine<P>) return &peer_stages<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"tree", "TREE: up a tree of degree k from local store to local store; k = 1 pipelined (001, 7.1)",
             kDegree | kPipeline | kChildAhead | kFarFirst | kWaits | kClosing, kAllPairsInOrder, &tree<P>},
      Row<P>{"pieces", "AG: each rank reduces a piece of everybody's main memory (001, 7.1)",
             kMinPiece | kPipeline | kFarPercent | kWaits, kAllPairs, kPieces()},
      Row<P>{"tree_main_memory", "TREEMM: a tree of degree k over send and receive (001, 7.1)", kDegree | kClosing,
             kWorkspace | kContiguous | kAllPairsInOrder, &tree_main_memory<P>},
      Row<P>{"rabenseifner", "recursive halving in local stores, the root gathers the parts (001, 7.3)",
             kPipeline | kClosing, kContiguous | kAllPairs, &rabenseifner<P>},
      Row<P>{"eager_tree", "operands inside the metadata, up a tree of degree k, combined a row at a time (001, 8)",
             kDegree | kClosing, kFitsEager | kEagerSlots | kAllPairsInOrder, &eager_tree<P>},
      Row<P>{"peer_stages", "the root combines everybody's operand straight out of their stages",
             kPieceBytes | kClosing, kCommutative | kContiguous | kAllPairs, kPeerStages()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::reduce
