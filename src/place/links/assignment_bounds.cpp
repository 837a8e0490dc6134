// Bottleneck assignment: augmenting paths over sets of bits. See assignment_bounds.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/links/assignment_bounds.hpp"

#include <array>
#include <bit>
#include <cstddef>

namespace corewise::place {

namespace {

class Matching {
 public:
  explicit Matching(std::span<const std::uint64_t> allowed) : allowed_(allowed) { holder_.fill(-1); }

  bool complete() {
    for (std::size_t rank = 0; rank < allowed_.size(); ++rank) {
      visited_ = 0;
      if (!augment(rank)) return false;
    }
    return true;
  }

 private:
  bool augment(std::size_t rank) {
    const std::uint64_t open = allowed_[rank] & ~taken_;
    if (open != 0) {
      give(static_cast<unsigned>(std::countr_zero(open)), rank);
      return true;
    }
    for (;;) {
      const std::uint64_t next = allowed_[rank] & ~visited_;
      if (next == 0) return false;
      const auto unit = static_cast<unsigned>(std::countr_zero(next));
      visited_ |= std::uint64_t{1} << unit;
      if (!augment(static_cast<std::size_t>(holder_[unit]))) continue;
      give(unit, rank);
      return true;
    }
  }
  void give(unsigned unit, std::size_t rank) {
    taken_ |= std::uint64_t{1} << unit;
    holder_[unit] = static_cast<int>(rank);
  }

  std::span<const std::uint64_t> allowed_;
  std::uint64_t taken_ = 0;
  std::uint64_t visited_ = 0;
  std::array<int, 64> holder_{};
};

}  // namespace

bool has_assignment(std::span<const std::uint64_t> allowed) {
  return Matching(allowed).complete();
}

}  // namespace corewise::place
