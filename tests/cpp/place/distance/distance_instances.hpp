// Distance instances: the quadratic assignment problems of Nugent, Vollmann and Ruml ("An experimental comparison
// of techniques for the assignment of facilities to locations", Operations Research 16, 1968), as numbered in
// QAPLIB (Burkard, Karisch, Rendl 1997), whose proven optima stand beside them: data for regression tests and
// bench/mapping. Distances are Manhattan distances of grid cells, row by row; flows are symmetric and given above
// the diagonal, row by row. The instances 14 and 16a are the first facilities and cells of 15 and 20.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <vector>

#include "pattern/pattern.hpp"
#include "place/distance/distance.hpp"

namespace corewise::place::testing {

struct Nugent {
  int size;
  int grid_width;
  int optimum;  ///< over ordered pairs, as QAPLIB counts: J where a flow goes both ways
  int table_size;
  std::vector<int> flows;  ///< of the table, above the diagonal

  /// Every flow in both directions: J, over unordered pairs with both directions added, is the optimum as printed.
  [[nodiscard]] pattern::Matrix matrix() const {
    pattern::Matrix result{size, {}};
    for (int a = 0; a < size; ++a) {
      for (int b = a + 1; b < size; ++b) {
        const auto row_begin = static_cast<std::size_t>(a * table_size - a * (a + 1) / 2);
        const auto flow = static_cast<std::uint64_t>(flows[row_begin + static_cast<std::size_t>(b - a - 1)]);
        if (flow == 0) continue;
        result.entries.push_back({a, b, flow, 1});
        result.entries.push_back({b, a, flow, 1});
      }
    }
    return result;
  }

  [[nodiscard]] Distances distances() const {
    Distances result{size, {}};
    for (int a = 0; a < size; ++a) {
      for (int b = 0; b < size; ++b) {
        const int rows = std::abs(a / grid_width - b / grid_width);
        const int columns = std::abs(a % grid_width - b % grid_width);
        result.at.push_back(rows + columns);
      }
    }
    return result;
  }
};

// clang-format off
inline const std::vector<int> nug12_flows = {
    5, 2, 4, 1, 0, 0, 6, 2, 1, 1, 1,
    3, 0, 2, 2, 2, 0, 4, 5, 0, 0,
    0, 0, 0, 0, 5, 5, 2, 2, 2,
    5, 2, 2, 10, 0, 0, 5, 5,
    10, 0, 0, 0, 5, 1, 1,
    5, 1, 1, 5, 4, 0,
    10, 5, 2, 3, 3,
    0, 0, 5, 0,
    0, 10, 10,
    5, 0,
    2,
};
// clang-format on

// clang-format off
inline const std::vector<int> nug15_flows = {
    10, 0, 5, 1, 0, 1, 2, 2, 2, 2, 0, 4, 0, 0,
    1, 3, 2, 2, 2, 3, 2, 0, 2, 0, 10, 5, 0,
    10, 2, 0, 2, 5, 4, 5, 2, 2, 5, 5, 5,
    1, 1, 5, 0, 0, 2, 1, 0, 2, 5, 0,
    3, 5, 5, 5, 1, 0, 3, 0, 5, 5,
    2, 2, 1, 5, 0, 0, 2, 5, 10,
    6, 0, 1, 5, 5, 5, 1, 0,
    5, 2, 10, 0, 5, 0, 0,
    0, 10, 5, 10, 0, 2,
    0, 4, 0, 0, 5,
    5, 0, 5, 0,
    3, 3, 0,
    10, 2,
    4,
};
// clang-format on

// clang-format off
inline const std::vector<int> nug20_flows = {
    0, 5, 0, 5, 2, 10, 3, 1, 5, 5, 5, 0, 0, 5, 4, 4, 0, 0, 1,
    3, 10, 5, 1, 5, 1, 2, 4, 2, 5, 0, 10, 10, 3, 0, 5, 10, 5,
    2, 0, 5, 2, 4, 4, 5, 0, 0, 0, 5, 1, 0, 0, 5, 0, 0,
    1, 0, 5, 2, 1, 0, 10, 2, 2, 0, 2, 1, 5, 2, 5, 5,
    5, 6, 5, 2, 5, 2, 0, 5, 1, 1, 1, 5, 2, 5, 1,
    5, 2, 1, 6, 0, 0, 10, 0, 2, 0, 1, 0, 1, 5,
    0, 0, 0, 5, 10, 2, 2, 5, 1, 2, 1, 0, 10,
    1, 1, 10, 10, 2, 0, 10, 2, 5, 2, 2, 10,
    2, 0, 3, 5, 5, 0, 5, 0, 0, 0, 2,
    5, 5, 0, 5, 1, 0, 0, 5, 5, 2,
    5, 2, 5, 1, 10, 0, 2, 2, 5,
    2, 10, 5, 0, 1, 1, 2, 5,
    2, 2, 1, 0, 0, 0, 5,
    5, 5, 1, 5, 5, 0,
    3, 0, 5, 10, 10,
    0, 0, 2, 0,
    5, 2, 0,
    1, 1,
    6,
};
// clang-format on

// clang-format off
inline const std::vector<int> nug16b_flows = {
    0, 5, 0, 2, 10, 3, 1, 5, 5, 0, 0, 4, 4, 0, 0,
    3, 10, 1, 5, 1, 2, 2, 5, 0, 10, 3, 0, 5, 10,
    2, 5, 2, 4, 4, 0, 0, 0, 5, 0, 0, 5, 0,
    0, 5, 2, 1, 10, 2, 2, 0, 1, 5, 2, 5,
    5, 2, 1, 0, 0, 10, 0, 0, 1, 0, 1,
    0, 0, 5, 10, 2, 2, 1, 2, 1, 0,
    1, 10, 10, 2, 0, 2, 5, 2, 2,
    0, 3, 5, 5, 5, 0, 0, 0,
    5, 2, 5, 10, 0, 2, 2,
    2, 10, 0, 1, 1, 2,
    2, 1, 0, 0, 0,
    5, 1, 5, 5,
    0, 0, 2,
    5, 2,
    1,
};
// clang-format on

inline const Nugent nug12{12, 4, 578, 12, nug12_flows};
inline const Nugent nug14{14, 5, 1014, 15, nug15_flows};
inline const Nugent nug15{15, 5, 1150, 15, nug15_flows};
inline const Nugent nug16a{16, 5, 1610, 20, nug20_flows};
inline const Nugent nug16b{16, 4, 1240, 16, nug16b_flows};
inline const Nugent nug18{18, 5, 1930, 20, nug20_flows};
inline const Nugent nug20{20, 5, 2570, 20, nug20_flows};

}  // namespace corewise::place::testing
