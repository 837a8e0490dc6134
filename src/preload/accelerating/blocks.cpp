// See blocks.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/blocks.hpp"

#include <algorithm>

namespace corewise::preload::accelerating {

BlockLists::BlockLists(const ItemLists& lists, int ranks, MPI_Comm comm, bool copied)
    : ranks_(ranks), comm_(comm), base_(address(lists.at)) {
  if (!lists.counts.given()) return;
  Items items;
  Type type;
  std::uint64_t total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!read(lists, rank, items, type)) return;
    const auto at = static_cast<std::size_t>(rank);
    sizes_[at] = static_cast<std::uint64_t>(items.count * type.size);
    offsets_[at] = reinterpret_cast<std::uintptr_t>(items.at) - reinterpret_cast<std::uintptr_t>(base_);
    if (sizes_[at] == 0 || (type.plain && !copied)) continue;
    through_.push_back({rank, items, type});
    total += sizes_[at];
  }
  fine_ = true;
  if (through_.empty()) return;
  std::byte* free = scratch_.take(total);
  for (const Through& block : through_) {
    const auto at = static_cast<std::size_t>(block.rank);
    offsets_[at] = reinterpret_cast<std::uintptr_t>(free) - reinterpret_cast<std::uintptr_t>(base_);
    free += sizes_[at];
  }
}

bool BlockLists::read(const ItemLists& lists, int rank, Items& items, Type& type) {
  const std::int64_t count = lists.counts[rank];
  if (count <= 0) {  // MPICH takes anything for the type of an empty block
    items = {lists.at, 0, MPI_DATATYPE_NULL};
    return count == 0;
  }
  if (!lists.displacements.given()) return false;
  const MPI_Datatype datatype = lists.datatypes != nullptr ? lists.datatypes[rank] : lists.datatype;
  if (datatype != items.datatype && !read_type(datatype, type)) return false;
  const std::int64_t step = lists.datatypes != nullptr ? 1 : type.extent;
  const std::uintptr_t at =
      reinterpret_cast<std::uintptr_t>(lists.at) + static_cast<std::uintptr_t>(lists.displacements[rank] * step);
  items = {reinterpret_cast<const void*>(at), count, datatype};
  return true;
}

std::uint64_t BlockLists::longest() const {
  return *std::max_element(sizes_.begin(), sizes_.begin() + ranks_);
}

int BlockLists::load(const Through& block) {
  const Items& items = block.items;
  return pack(items.at, items.count, items.datatype, block.type, place(block.rank), comm_);
}

int BlockLists::load(int rank) {
  const auto found = std::ranges::find(through_, rank, &Through::rank);
  return found != through_.end() ? load(*found) : MPI_SUCCESS;
}

int BlockLists::load() {
  int code = MPI_SUCCESS;
  for (const Through& block : through_) code = std::max(code, load(block));
  return code;
}

int BlockLists::finish() {
  int code = MPI_SUCCESS;
  for (const auto& [rank, items, type] : through_) {
    const int one = unpack(place(rank), address(items.at), items.count, items.datatype, type, comm_);
    code = std::max(code, one);
  }
  return code;
}

}  // namespace corewise::preload::accelerating
