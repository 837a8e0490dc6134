// Peer arithmetic of the pairwise-exchange barrier (paper 001, 5.1; Yu, Buntinas, Graham, Panda 2004). Ranks below
// the largest power of two m <= P form a hypercube and meet their neighbour along one dimension per step. The
// others stand beside it: rank m + i tells rank i before the exchanges that it has come, and rank i tells it after
// them that all have. log2 P steps for a power of two, 2 + floor(log2 P) otherwise.
//
// Contract as in pattern/schedule.hpp: pure functions, 1 <= ranks, 0 <= rank < ranks, 0 <= step < steps(ranks);
// every `to` has its matching `from`. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>

#include "pattern/schedule.hpp"

namespace corewise::coll::barrier::pairwise_exchange_schedule {

using pattern::schedule::nobody;
using pattern::schedule::Peers;

/// More steps than any number of ranks in an int needs.
inline constexpr int kMaxSteps = 32;

/// How many ranks form the hypercube.
constexpr int hypercube(int ranks) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
}
constexpr int dimensions(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks)) - 1;
}

constexpr int steps(int ranks) {
  return hypercube(ranks) == ranks ? dimensions(ranks) : dimensions(ranks) + 2;
}

constexpr Peers peers(int ranks, int rank, int step) {
  const int cube = hypercube(ranks);
  const int beside = ranks - cube;
  const int dimension = beside == 0 ? step : step - 1;
  const bool opening = dimension < 0;
  const bool closing = dimension == dimensions(ranks);
  if (rank >= cube) return {opening ? rank - cube : nobody, closing ? rank - cube : nobody};
  if (opening || closing) {
    const int other = rank < beside ? rank + cube : nobody;
    return {closing ? other : nobody, opening ? other : nobody};
  }
  return {rank ^ (1 << dimension), rank ^ (1 << dimension)};
}

}  // namespace corewise::coll::barrier::pairwise_exchange_schedule
