// The populations of one rank's cells with a layer of ghost cells around them: one array per direction, z fastest.
// Local coordinates: 0 .. extent-1 are the rank's own cells, -1 and extent are ghosts.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "lattice.hpp"

namespace lbm {

class Populations {
 public:
  explicit Populations(const Vector& extent)
      : extent_(extent),
        stride_y_(extent[2] + 2),
        stride_x_(stride_y_ * (extent[1] + 2)),
        cells_(stride_x_ * (extent[0] + 2)),
        values_(static_cast<std::size_t>(cells_) * kDirections) {}

  [[nodiscard]] const Vector& extent() const { return extent_; }

  /// Distance in memory between a cell and the one at `offset` from it.
  [[nodiscard]] std::ptrdiff_t distance(const Vector& offset) const {
    return offset[0] * stride_x_ + offset[1] * stride_y_ + offset[2];
  }
  [[nodiscard]] std::ptrdiff_t index(std::size_t direction, const Vector& cell) const {
    return static_cast<std::ptrdiff_t>(direction) * cells_ + distance({cell[0] + 1, cell[1] + 1, cell[2] + 1});
  }
  [[nodiscard]] const double* data() const { return values_.data(); }
  [[nodiscard]] double* data() { return values_.data(); }

  [[nodiscard]] Cell load(const Vector& at) const {
    Cell cell;
    for (std::size_t direction = 0; direction < kDirections; ++direction) {
      cell[direction] = values_[static_cast<std::size_t>(index(direction, at))];
    }
    return cell;
  }
  void store(const Vector& at, const Cell& cell) {
    for (std::size_t direction = 0; direction < kDirections; ++direction) {
      values_[static_cast<std::size_t>(index(direction, at))] = cell[direction];
    }
  }

 private:
  Vector extent_;
  std::ptrdiff_t stride_y_;
  std::ptrdiff_t stride_x_;
  std::ptrdiff_t cells_;
  std::vector<double> values_;
};

}  // namespace lbm
