// PairTable: a value for each pair of ranks, of which memory is taken only around pairs that are used.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace corewise::simmpi {

template <class Value>
class PairTable {
 public:
  explicit PairTable(std::size_t ranks) : row_((ranks + kBlock - 1) / kBlock), blocks_(ranks * row_) {}

  Value& at(int from, int to) {
    const auto column = static_cast<std::size_t>(to);
    std::unique_ptr<Value[]>& block = blocks_[static_cast<std::size_t>(from) * row_ + column / kBlock];
    if (!block) block = std::make_unique<Value[]>(kBlock);
    return block[column % kBlock];
  }
  /// Calls visit(from, to, value) for every pair in memory, by sender, then receiver.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t index = 0; index < blocks_.size(); ++index) {
      if (!blocks_[index]) continue;
      for (std::size_t i = 0; i < kBlock; ++i) {
        visit(static_cast<int>(index / row_), static_cast<int>(index % row_ * kBlock + i), blocks_[index][i]);
      }
    }
  }

 private:
  static constexpr std::size_t kBlock = 32;  ///< receivers
  std::size_t row_;                          ///< blocks of one sender
  std::vector<std::unique_ptr<Value[]>> blocks_;
};

}  // namespace corewise::simmpi
