// Scans: what paper 001's design implies for them (section 8 names a scan, but not how it works).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/scan/chain.hpp"
#include "coll/scan/eager.hpp"
#include "coll/scan/eager_recursive_doubling.hpp"
#include "coll/scan/pieces.hpp"
#include "coll/scan/recursive_doubling.hpp"
#include "coll/table.hpp"

namespace corewise::coll::scan {

template <Kind kKind, port::Port P>
consteval auto make_rows() {
  constexpr std::uint32_t kPipeline = kPieceBytes | kBuffering | kAhead;
  constexpr auto kPieces = []() -> Run<P> {
    if constexpr (port::DirectRead<P> && port::DirectWrite<P>) return &pieces<kKind, P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"chain", "from rank to rank in local stores, pieces in a pipeline", kPipeline | kClosing, kAnything,
             &chain<kKind, P>},
      Row<P>{"recursive_doubling", "with the rank 2^i before, step by step, in local stores", kPipeline | kClosing,
             kAnything, &recursive_doubling<kKind, P>},
      Row<P>{"pieces", "AG: each rank takes a piece through everybody's main memory and writes all prefixes",
             kMinPiece | kPieceBytes | kBuffering | kWaits | kFarPercent, kAllPairs, kPieces()},
      Row<P>{"eager_recursive_doubling", "recursive doubling inside the metadata (001, 8)", kClosing,
             kFitsEager | kEagerSlots, &eager_recursive_doubling<kKind, P>},
      Row<P>{"eager", "operands inside the metadata, from each to all after it in one phase (001, 8)", kClosing,
             kFitsEager | kEagerSlots | kAllPairs, &eager<kKind, P>},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<Kind::inclusive, P>();

}  // namespace corewise::coll::scan
