// Distance symmetry: which indices of a symmetric matrix can trade places without the matrix changing; private to
// the weighted distance search. Owns the orbits under the automorphisms that fix a given set, computed when asked
// for.
//
// Contract: two indices share an orbit only where an automorphism that fixes the set and takes one to the other has
// been found and holds for every pair. A search that gives up loses symmetry, never correctness.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace corewise::place {

/// An index in a set of up to 64.
constexpr std::uint64_t bit(int index) {
  return std::uint64_t{1} << index;
}

class MatrixSymmetry {
 public:
  /// `values`: size * size, row by row, symmetric; size at most 64.
  MatrixSymmetry(int size, std::vector<std::int64_t> values);

  struct Orbits {
    std::vector<int> least;  ///< smallest index of the orbit of x at [x]
    bool trivial = true;     ///< every orbit has one index
  };
  /// Under the automorphisms that fix every index whose bit is set. The reference lasts.
  const Orbits& orbits_fixing(std::uint64_t fixed);

 private:
  [[nodiscard]] std::int64_t value(int a, int b) const {
    return values_[static_cast<std::size_t>(a) * static_cast<std::size_t>(size_) + static_cast<std::size_t>(b)];
  }
  [[nodiscard]] bool has_automorphism(std::uint64_t fixed, int from, int to);
  bool extend(std::size_t depth);
  [[nodiscard]] bool fits(std::size_t depth, int image) const;

  int size_;
  std::vector<std::int64_t> values_;
  std::unordered_map<std::uint64_t, Orbits> known_;
  std::vector<int> order_;  ///< indices in the order of assignment
  std::vector<int> image_;  ///< of order_[k] at [k]
  std::uint64_t used_ = 0;
  int steps_left_ = 0;
};

}  // namespace corewise::place
