// Blocks: the vector collectives' lists as the algorithms take them, offsets and sizes in bytes. Blocks that are
// one run of bytes are used where they lie; others go through memory of this rank's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "preload/accelerating/operands.hpp"

namespace corewise::preload::accelerating {

class BlockLists {
 public:
  /// With `copied`, all blocks go through memory of this rank's.
  BlockLists(const ItemLists& lists, int ranks, MPI_Comm comm, bool copied);

  /// Whether MPI would take them: counts of 0 or more, types that can be read.
  [[nodiscard]] bool fine() const { return fine_; }
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] coll::Blocks blocks() const { return {0, offsets_.data(), sizes_.data()}; }
  [[nodiscard]] std::uint64_t bytes(int rank) const { return sizes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::uint64_t longest() const;
  [[nodiscard]] std::byte* place(int rank) const { return base_ + offsets_[static_cast<std::size_t>(rank)]; }

  /// Blocks that are to be read: fetches those that go through other memory; all, or one.
  int load();
  int load(int rank);
  /// Blocks that were written.
  int finish();

 private:
  /// A block that goes through other memory.
  struct Through {
    int rank;
    Items items;
    Type type;
  };
  /// The items of a rank's block, and their type, which is read unless it is the last block's; false where MPI is
  /// to judge.
  static bool read(const ItemLists& lists, int rank, Items& items, Type& type);
  int load(const Through& block);

  int ranks_;
  MPI_Comm comm_;
  bool fine_ = false;
  std::byte* base_;
  std::array<std::uint64_t, coll::kMostRanks> offsets_, sizes_;
  std::vector<Through> through_;
  Scratch scratch_;
};

}  // namespace corewise::preload::accelerating
