// The reductions whose result everybody gets. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/allreduce/eager.hpp"
#include "coll/allreduce/one_shot.hpp"
#include "coll/allreduce/peer_stages.hpp"
#include "coll/allreduce/pieces.hpp"
#include "coll/allreduce/rabenseifner.hpp"
#include "coll/allreduce/recursive_doubling.hpp"
#include "coll/allreduce/reduce_broadcast.hpp"
#include "coll/allreduce/ring.hpp"
#include "coll/table.hpp"

namespace corewise::coll::allreduce {

template <port::Port P>
consteval auto make_rows() {
  constexpr std::uint32_t kPipeline = kPieceBytes | kBuffering | kAhead;
  constexpr auto kPieces = []() -> Run<P> {
    if constexpr (port::DirectRead<P> && port::DirectWrite<P>) return &pieces<P>;
    return nullptr;
  };
  constexpr auto kPeerStages = []() -> Run<P> {
    if constexpr (port::PeerStageRead<P> && port::PeerStageCombine<P>) return &peer_stages<P>;
    return nullptr;
  };
  constexpr auto kOneShot = []() -> Run<P> {
    if constexpr (port::PeerStageRead<P> && port::PeerStageCombine<P>) return &one_shot<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"reduce_broadcast", "the paper's best reduce, then its best broadcast (001, 6.2, 7.2)",
             kMinPiece | kPipeline | kFenced | kWaits | kClosing, kAnything, &reduce_broadcast<P>},
      Row<P>{"recursive_doubling", "operands inside the metadata, exchanged log2 P times (001, 8)", kClosing,
             kFitsEager | kEagerSlots, &recursive_doubling<P>},
      Row<P>{"eager", "operands inside the metadata, from each to all in one phase (001, 8)", kClosing,
             kFitsEager | kEagerSlots | kAllPairs, &eager<P>},
      Row<P>{"pieces", "AG: each rank reduces a piece of all operands and writes it to all (001, 6.1, 7.1)",
             kMinPiece | kPipeline | kWaits | kFarPercent, kAllPairs, kPieces()},
      Row<P>{"ring", "reduce-scatter and all-gather around a ring of local stores", kPipeline | kClosing,
             kCommutative, &ring<P>},
      Row<P>{"rabenseifner", "recursive halving, then doubling, in local stores (001, 7.3)", kPipeline | kClosing,
             kAnything, &rabenseifner<P>},
      Row<P>{"peer_stages", "each rank combines its part out of the peers' stages, all copy the results from there",
             kPieceBytes | kClosing, kCommutative | kAllPairs, kPeerStages()},
      Row<P>{"one_shot", "every rank combines everybody's operand out of their stages, in one phase",
             kPieceBytes | kClosing, kAllPairs, kOneShot()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::allreduce
