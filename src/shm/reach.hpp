// Reach: memory of ranks' processes that all of these ranks have mapped, wherever it is in each. A place in it is
// told as its owner's own address. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace corewise::shm {

class Reach {
 public:
  /// Memory of one rank: where it is in its process, and in this one; of none, `bytes` is 0.
  struct Range {
    std::uintptr_t theirs = 0;
    std::uint64_t bytes = 0;
    std::byte* here = nullptr;

    [[nodiscard]] bool has(std::uintptr_t at, std::uint64_t count) const {
      return at >= theirs && at - theirs <= bytes && count <= bytes - (at - theirs);
    }
  };

  /// Nothing.
  Reach() = default;
  /// A Range for each rank.
  explicit Reach(std::vector<Range> ranks) : ranks_(ranks.size()), ranges_(std::move(ranks)) {}

  [[nodiscard]] bool any() const {
    return std::ranges::any_of(ranges_, [](const Range& range) { return range.bytes > 0; });
  }

  /// In the place of what was added before: Ranges for each rank, any number of times.
  void set_more(std::span<const Range> ranges) {
    ranges_.resize(ranks_);
    ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  }

  /// Where `bytes` at `at` in rank `rank`'s process are in this one; null where they are in no such memory.
  [[nodiscard]] std::byte* find(int rank, std::uintptr_t at, std::uint64_t bytes) const {
    for (std::size_t i = static_cast<std::size_t>(rank); i < ranges_.size(); i += ranks_)
      if (ranges_[i].has(at, bytes)) return ranges_[i].here + (at - ranges_[i].theirs);
    return nullptr;
  }

 private:
  std::size_t ranks_ = 0;
  std::vector<Range> ranges_;  ///< of all ranks, then of all ranks once more, and so on
};

}  // namespace corewise::shm
