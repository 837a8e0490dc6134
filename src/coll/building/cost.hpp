// What an SPU spends beside the port's operations, in core cycles: one set for every algorithm, declared where the
// work is done (the channels, the stage, the combining), so that no algorithm has a cost of its own.
//
// Counted in instructions of an SPU (a load from the local store 6 cycles, a shuffle or rotation 4, a branch
// without a hint 18), as in barrier/pairwise_exchange.hpp. On a host these are nothing.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace corewise::coll::cost {

inline constexpr std::int64_t kCall = 60;   ///< entering a collective: its frame, its arguments, the choice
inline constexpr std::int64_t kTell = 40;   ///< making one entry: number, payload, the address of the line
inline constexpr std::int64_t kHear = 20;   ///< taking one entry in after the poll
inline constexpr std::int64_t kPiece = 40;  ///< the loop over pieces: bounds, addresses, which buffer
inline constexpr std::int64_t kPeer = 20;   ///< the loop over peers: who is next
/// A call of an operator, whatever it combines: the switches over operator and type, the loop's set-up and rest.
/// With Operation::cycles_per_quadword the only numbers here that are fitted: to paper 001's reduce on 8 SPEs
/// (table 3, 128 B and 1 MB). Assumed: all of it is the call's, nothing the operands'. A kernel that takes a row of
/// operands (Operation::combine_row) therefore costs it once, two at a time cost it for each pair. Whoever thinks
/// the assumption too kind finds what is gained without it in tests/cpp/lab/collectives/test_reduce_on_cell.cpp (a
/// user's operator).
inline constexpr std::int64_t kCombine = 1000;
inline constexpr std::int64_t kShiftSetUp = 20;  ///< a copy within the local store that shifts bytes
inline constexpr std::int64_t kShiftQuadword = 3;

/// A copy of `bytes` within the local store.
constexpr std::int64_t shift(std::uint64_t bytes) {
  return kShiftSetUp + kShiftQuadword * static_cast<std::int64_t>((bytes + 15) / 16);
}

}  // namespace corewise::coll::cost
