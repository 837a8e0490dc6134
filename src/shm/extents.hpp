// Extents: which parts of a range are taken. Numbers alone: nothing is mapped or touched here. Each part is taken
// where the first free one that holds it begins; free parts that meet become one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace corewise::shm {

class Extents {
 public:
  /// Of [first, end), all of it free.
  Extents(std::uint64_t first, std::uint64_t end) {
    if (first < end) free_[first] = end - first;
  }

  /// Where `bytes` (not 0) have been taken; nothing where no free part holds them.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  /// The bytes of what was taken at `at`, which are free now; 0 where nothing was.
  std::uint64_t give_back(std::uint64_t at);

  /// Begins and bytes of all that is taken, in order.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& taken() const { return taken_; }

 private:
  std::map<std::uint64_t, std::uint64_t> free_, taken_;
};

}  // namespace corewise::shm
