// Reduce-scatters: what paper 001's design implies for them. Blocks may have any sizes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/reduce_scatter/eager.hpp"
#include "coll/reduce_scatter/pairwise.hpp"
#include "coll/reduce_scatter/pieces.hpp"
#include "coll/reduce_scatter/recursive_halving.hpp"
#include "coll/table.hpp"

namespace corewise::coll::reduce_scatter {

template <port::Port P>
consteval auto make_rows() {
  constexpr std::uint32_t kPipeline = kPieceBytes | kBuffering | kAhead;
  constexpr auto kPieces = []() -> Run<P> {
    if constexpr (port::DirectRead<P>) return &pieces<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"pairwise", "blocks from rank to rank in local stores, P - 1 steps", kPipeline | kClosing,
             kCommutative | kAllPairs, &pairwise<P>},
      Row<P>{"recursive_halving", "halves from rank to rank in local stores, log2 P steps", kPipeline | kClosing,
             kAllPairs, &recursive_halving<P>},
      Row<P>{"pieces", "AG: each rank reduces its block out of everybody's main memory (001, 7.1)",
             kPipeline | kWaits, kAllPairs, kPieces()},
      Row<P>{"eager", "blocks inside the metadata, all to all (001, 8)", kClosing,
             kFitsEager | kEagerSlots | kCommutative | kAllPairs, &eager<P>},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::reduce_scatter
