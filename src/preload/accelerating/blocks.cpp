// See blocks.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/blocks.hpp"

#include <algorithm>

namespace corewise::preload::accelerating {

BlockLists::BlockLists(const ItemLists& lists, int ranks, MPI_Comm comm, bool copied)
    : ranks_(ranks), comm_(comm), base_(address(lists.at)) {
  fine_ = lists.counts.given() && lists.displacements.given();
  std::uint64_t through = 0;
  for (int rank = 0; fine_ && rank < ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    Block& block = list_[at];
    fine_ = read(lists, rank, block);
    if (!fine_) return;
    sizes_[at] = static_cast<std::uint64_t>(block.items.count * block.type.size);
    block.through = sizes_[at] > 0 && (copied || !block.type.plain);
    if (block.through) through += sizes_[at];
  }
  if (!fine_) return;
  std::byte* free = through > 0 ? scratch_.take(through) : nullptr;
  if (base_ == nullptr && free != nullptr) base_ = free;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const std::byte* const place = list_[at].through ? free : address(list_[at].items.at);
    offsets_[at] = reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(base_);
    if (list_[at].through) free += sizes_[at];
  }
}

bool BlockLists::read(const ItemLists& lists, int rank, Block& block) {
  const bool own_types = lists.datatypes != nullptr;
  if (own_types && lists.counts[rank] == 0) {  // MPICH takes anything for the type of an empty block
    block.items = {lists.at, 0, lists.datatypes[rank]};
    return true;
  }
  if (own_types || rank == 0) {
    if (!read_type(own_types ? lists.datatypes[rank] : lists.datatype, block.type)) return false;
  } else {
    block.type = list_[0].type;
  }
  const std::int64_t step = own_types ? 1 : block.type.extent;
  const std::uintptr_t at =
      reinterpret_cast<std::uintptr_t>(lists.at) + static_cast<std::uintptr_t>(lists.displacements[rank] * step);
  block.items = {reinterpret_cast<const void*>(at), lists.counts[rank],
                 own_types ? lists.datatypes[rank] : lists.datatype};
  return block.items.count >= 0;
}

std::uint64_t BlockLists::longest() const {
  return *std::max_element(sizes_.begin(), sizes_.begin() + ranks_);
}

int BlockLists::load(int rank) {
  const Block& block = list_[static_cast<std::size_t>(rank)];
  if (!block.through) return MPI_SUCCESS;
  return pack(block.items.at, block.items.count, block.items.datatype, block.type, place(rank), comm_);
}

int BlockLists::load() {
  int code = MPI_SUCCESS;
  for (int rank = 0; rank < ranks_; ++rank) code = std::max(code, load(rank));
  return code;
}

int BlockLists::finish() {
  int code = MPI_SUCCESS;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Block& block = list_[static_cast<std::size_t>(rank)];
    if (!block.through) continue;
    const int one =
        unpack(place(rank), address(block.items.at), block.items.count, block.items.datatype, block.type, comm_);
    code = std::max(code, one);
  }
  return code;
}

}  // namespace corewise::preload::accelerating
