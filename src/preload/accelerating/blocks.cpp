// See blocks.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/blocks.hpp"

#include <algorithm>

namespace corewise::preload::accelerating {

BlockLists::BlockLists(const ItemLists& lists, int ranks, bool copied)
    : ranks_(ranks), copied_(copied), base_(address(lists.at)) {
  if (!lists.counts.given()) return;
  Items items;
  KeptType type;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!read(lists, rank, items, type)) return;
    const auto at = static_cast<std::size_t>(rank);
    sizes_[at] = static_cast<std::uint64_t>(items.count * type.size);
    offsets_[at] = reinterpret_cast<std::uintptr_t>(items.at) - reinterpret_cast<std::uintptr_t>(base_);
    if (sizes_[at] != 0 && (!type.plain || copied)) scattered_.emplace_back(rank, items, type);
  }
  fine_ = true;
}

void BlockLists::place_blocks(const Through& through) {
  if (scattered_.empty()) return;
  comm_ = through.comm;
  const auto put = [this](const Block& block, const std::byte* at) {
    offsets_[static_cast<std::size_t>(block.rank)] =
        reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(base_);
  };
  std::uint64_t total = 0;
  for (Block& block : scattered_) {
    const std::byte* const seen =
        copied_ ? nullptr : view_of(block.items, block.type, through, block.items.count, block.viewed);
    block.copied = seen == nullptr;
    if (block.copied) {
      total += bytes(block.rank);
    } else {
      put(block, seen);
    }
  }
  const std::byte* free = total > 0 ? scratch_.take(total) : nullptr;
  for (const Block& block : scattered_) {
    if (!block.copied) continue;
    put(block, free);
    free += bytes(block.rank);
  }
}

bool BlockLists::read(const ItemLists& lists, int rank, Items& items, KeptType& type) {
  const std::int64_t count = lists.counts[rank];
  if (count <= 0) {  // MPICH takes anything for the type of an empty block
    items = {lists.at, 0, MPI_DATATYPE_NULL};
    return count == 0;
  }
  if (!lists.displacements.given()) return false;
  const MPI_Datatype datatype = lists.datatypes != nullptr ? lists.datatypes[rank] : lists.datatype;
  if (datatype != items.datatype && !type.read(datatype)) return false;
  const std::int64_t step = lists.datatypes != nullptr ? 1 : type.extent;
  const std::uintptr_t at =
      reinterpret_cast<std::uintptr_t>(lists.at) + static_cast<std::uintptr_t>(lists.displacements[rank] * step);
  items = {reinterpret_cast<const void*>(at), count, datatype};
  return true;
}

std::uint64_t BlockLists::longest() const {
  return *std::max_element(sizes_.begin(), sizes_.begin() + ranks_);
}

int BlockLists::load(const Block& block) {
  if (!block.copied) return MPI_SUCCESS;
  const Items& items = block.items;
  return pack(items.at, items.count, items.datatype, block.type, place(block.rank), comm_);
}

int BlockLists::load(int rank) {
  const auto found = std::ranges::find(scattered_, rank, &Block::rank);
  return found != scattered_.end() ? load(*found) : MPI_SUCCESS;
}

int BlockLists::load() {
  int code = MPI_SUCCESS;
  for (const Block& block : scattered_) code = std::max(code, load(block));
  return code;
}

int BlockLists::finish() {
  int code = MPI_SUCCESS;
  for (const Block& block : scattered_) {
    if (!block.copied) continue;
    const Items& items = block.items;
    const int one = unpack(place(block.rank), address(items.at), items.count, items.datatype, block.type, comm_);
    code = std::max(code, one);
  }
  return code;
}

}  // namespace corewise::preload::accelerating
