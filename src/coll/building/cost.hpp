// What an SPU spends beside the port's operations, in core cycles: one set for every algorithm, declared where the
// work is done (the channels, the stage, the combining), so that no algorithm has a cost of its own.
//
// Counted in instructions of an SPU (a load from the local store 6 cycles, a shuffle or rotation 4, a branch
// without a hint 18), as in barrier/pairwise_exchange.hpp. On a host these are nothing.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace corewise::coll::cost {

inline constexpr std::int64_t kCall = 60;     ///< entering a collective: its frame, its arguments, the choice
inline constexpr std::int64_t kAddress = 20;  ///< of an entry: its message's number, the address of its line
inline constexpr std::int64_t kFill = 20;     ///< an entry with number and payload
inline constexpr std::int64_t kTell = kAddress + kFill;  ///< making one entry
inline constexpr std::int64_t kHear = 20;                ///< taking one entry in after the poll
inline constexpr std::int64_t kPiece = 40;               ///< the loop over pieces: bounds, addresses, which buffer
inline constexpr std::int64_t kPeer = 20;                ///< the loop over peers: who is next
inline constexpr std::int64_t kShiftSetUp = 20;          ///< a copy within the local store that shifts bytes
inline constexpr std::int64_t kShiftQuadword = 3;

/// A copy of `bytes` within the local store.
constexpr std::int64_t shift(std::uint64_t bytes) {
  return kShiftSetUp + kShiftQuadword * static_cast<std::int64_t>((bytes + 15) / 16);
}

}  // namespace corewise::coll::cost
