// Hints: what the two sides of a message have, told to each other through a board in shared memory, so that each
// picks what is best for the pair (docs/decisions/0009-hints-board.md). The launcher makes the board and names it
// in COREWISE_PACKING_BOARD; the ranks of its node map it. A cell is a byte, written by one rank about its messages
// to or from one other rank, by a hash of their tags: whether they lie in one run there, or have gaps.
//
// Contract: hints are not facts. A cell may be old, of another communicator, or nonsense; whatever it says, a
// message is right. Without a board, and for wildcards, other worlds, ranks beyond its size: unknown, nothing is
// written. A rank writes where its answer changes, and after some changes says "unknown" for good, so that cells do
// not go to and fro between cores. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/packing/plans/cost.hpp"
#include "preload/mpi_api.hpp"

namespace corewise::preload::packing::hints {

using kernels::OtherSide;
using kernels::PackingUse;
using Cell = std::atomic<std::uint8_t>;

/// The board's head; the cells follow: `send` by writer, partner and tag, then `receive`.
struct Head {
  char magic[8];
  std::uint32_t ranks;                ///< that it serves
  std::atomic<std::uint32_t> opened;  ///< ranks that have opened it
  char room[48];
};
inline constexpr char kMagic[] = "CWHINTS1";
inline constexpr std::uint32_t kMostRanks = 512, kTags = 16;

extern constinit std::atomic<Cell*> cells;  ///< null: there is no board
inline bool on() {
  return cells.load(std::memory_order_relaxed) != nullptr;
}

/// MPI_Init: opens the board, and maps it where hints are wanted.
void begin(bool wanted);
void end();

/// Says what one side, `send` or `receive`, of a message has, and gives what the other one last had for such.
/// Where `mine` is unknown, nothing is said.
OtherSide exchange(PackingUse side, OtherSide mine, int peer, int tag, MPI_Comm comm);

/// A communicator ends: its handle may mean another one.
void forget_communicators();

}  // namespace corewise::preload::packing::hints
