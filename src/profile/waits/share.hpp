// Shares: the waits of a world cut so that several readers find them, each in a pass of its own over all records.
//
// Messages go by their receiver, and collectives by their number on a communicator, into kWaitGroups groups, of
// which a share has some. Everything that could wait for memory (matching.hpp, collectives.hpp) is bounded by
// group, and sums are whole numbers. So what a group says depends neither on the other groups of its share nor on
// how many shares there are: one reader of all groups finds the same, bit for bit.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace corewise::profile {

inline constexpr int kWaitGroups = 16;

constexpr std::size_t group_of_receiver(int rank) {
  return static_cast<std::size_t>(rank) % kWaitGroups;
}

constexpr std::size_t group_of_collective(std::uint64_t number) {
  return static_cast<std::size_t>(number % kWaitGroups);
}

class WaitShare {
 public:
  /// All groups.
  constexpr WaitShare() = default;
  /// One of `parts` shares that have all groups together; 0 <= part < parts <= kWaitGroups.
  constexpr WaitShare(int part, int parts) : groups_(0) {
    for (int group = part; group < kWaitGroups; group += parts) groups_ |= 1U << group;
  }

  [[nodiscard]] constexpr bool has(std::size_t group) const { return (groups_ >> group & 1U) != 0; }

 private:
  std::uint32_t groups_ = (1U << kWaitGroups) - 1;
};

}  // namespace corewise::profile
