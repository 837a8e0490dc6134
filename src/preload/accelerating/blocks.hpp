// Blocks: the vector collectives' lists as the algorithms take them, offsets and sizes in bytes. Blocks that are
// one run of bytes are used where they lie; others are viewed, or go through memory of this rank's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <list>

#include "preload/accelerating/operands.hpp"

namespace corewise::preload::accelerating {

class BlockLists {
 public:
  /// Reads them. With `copied`, all blocks will go through memory of this rank's.
  BlockLists(const ItemLists& lists, int ranks, bool copied);
  BlockLists(const BlockLists&) = delete;
  BlockLists& operator=(const BlockLists&) = delete;
  ~BlockLists() = default;

  /// Whether MPI would take them: counts of 0 or more, types that can be read.
  [[nodiscard]] bool fine() const { return fine_; }
  [[nodiscard]] std::uint64_t bytes(int rank) const { return sizes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::uint64_t longest() const;

  /// Where blocks that do not lie in one piece are seen or copied: before anything that follows.
  void place_blocks(const Through& through);
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] coll::Blocks blocks() const { return {0, offsets_.data(), sizes_.data()}; }
  [[nodiscard]] std::byte* place(int rank) const { return base_ + offsets_[static_cast<std::size_t>(rank)]; }

  /// Blocks that are to be read: fetches those that go through other memory; all, or one.
  int load();
  int load(int rank);
  /// Blocks that were written.
  int finish();

 private:
  /// A block that does not lie in one piece.
  struct Block {
    Block(int of, const Items& has, const KeptType& how) : rank(of), items(has), type(how) {}
    int rank;
    Items items;
    KeptType type;
    Viewed viewed{};
    bool copied = false;
  };
  /// The items of a rank's block, and their type, which is read unless it is the last block's; false where MPI is
  /// to judge.
  static bool read(const ItemLists& lists, int rank, Items& items, KeptType& type);
  int load(const Block& block);

  int ranks_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool fine_ = false;
  bool copied_;
  std::byte* base_;
  std::array<std::uint64_t, coll::kMostRanks> offsets_, sizes_;
  std::list<Block> scattered_;
  Scratch scratch_;
};

}  // namespace corewise::preload::accelerating
