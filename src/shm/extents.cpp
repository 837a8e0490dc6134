// See extents.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "shm/extents.hpp"

#include <algorithm>
#include <iterator>

namespace corewise::shm {

std::optional<std::uint64_t> Extents::take(std::uint64_t bytes) {
  const auto found = std::ranges::find_if(free_, [bytes](const auto& part) { return part.second >= bytes; });
  if (found == free_.end()) return std::nullopt;
  const auto [at, room] = *found;
  free_.erase(found);
  if (room > bytes) free_[at + bytes] = room - bytes;
  taken_[at] = bytes;
  return at;
}

std::uint64_t Extents::give_back(std::uint64_t at) {
  const auto found = taken_.find(at);
  if (found == taken_.end()) return 0;
  const std::uint64_t bytes = found->second;
  taken_.erase(found);
  auto part = free_.emplace(at, bytes).first;
  if (const auto next = std::next(part); next != free_.end() && next->first == at + bytes) {
    part->second += next->second;
    free_.erase(next);
  }
  if (part != free_.begin()) {
    if (const auto before = std::prev(part); before->first + before->second == at) {
      before->second += part->second;
      free_.erase(part);
    }
  }
  return bytes;
}

}  // namespace corewise::shm
