// LinkCells: which atoms are near which. Cells at least as long as the cut-off cover a rank's part of the box and
// one layer around it for ghosts; each holds a linked list (Allen and Tildesley, section 5.3.2).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <vector>

#include "crystal.hpp"

namespace md {

class LinkCells {
 public:
  LinkCells(const Vector& low, const Vector& high) : low_(low) {
    std::size_t all = 1;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const double edge = high[axis] - low[axis];
      own_[axis] = std::max(1, static_cast<int>(edge / kCutoff));
      per_length_[axis] = own_[axis] / edge;
      all *= static_cast<std::size_t>(own_[axis] + 2);
    }
    heads_.resize(all);
  }

  /// Sorts positions into cells; their numbers are their places in the list.
  void fill(const std::vector<Vector>& positions) {
    std::fill(heads_.begin(), heads_.end(), kNobody);
    next_.resize(positions.size());
    for (std::size_t number = 0; number < positions.size(); ++number) {
      int& head = heads_[index(cell_of(positions[number], -1))];
      next_[number] = head;
      head = static_cast<int>(number);
    }
  }

  /// Calls body(number) for all in the 27 cells around a position that is this rank's own.
  template <class Body>
  void for_each_near(const Vector& position, Body&& body) const {
    const Counts middle = cell_of(position, 0);
    for (int z = -1; z <= 1; ++z) {
      for (int y = -1; y <= 1; ++y) {
        for (int x = -1; x <= 1; ++x) {
          int number = heads_[index({middle[0] + x, middle[1] + y, middle[2] + z})];
          for (; number != kNobody; number = next_[static_cast<std::size_t>(number)]) body(number);
        }
      }
    }
  }

 private:
  static constexpr int kNobody = -1;

  /// Own cells count from 0; the layer around them is -1 and one past the last. `margin` 0 keeps out of that layer.
  [[nodiscard]] Counts cell_of(const Vector& position, int margin) const {
    Counts cell{};
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const int at = static_cast<int>(std::floor((position[axis] - low_[axis]) * per_length_[axis]));
      cell[axis] = std::clamp(at, margin, own_[axis] - 1 - margin);
    }
    return cell;
  }

  [[nodiscard]] std::size_t index(const Counts& cell) const {
    std::size_t at = 0;
    for (std::size_t axis = kAxes; axis-- > 0;) {
      at = at * static_cast<std::size_t>(own_[axis] + 2) + static_cast<std::size_t>(cell[axis] + 1);
    }
    return at;
  }

  Vector low_, per_length_{};
  Counts own_{};
  std::vector<int> heads_, next_;
};

}  // namespace md
