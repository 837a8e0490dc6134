// What is transformed, who has which part of it, and the mask of paper 004 (section 8.4).
//
// The matrix has `rows` x `columns` elements. Rank r has rows parts(rows).begin(r) to end(r) of the input, row by
// row. Of a transposed result it has columns parts(columns).begin(r) to end(r), column by column; of one in natural
// order the rows that it had of the input. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace fft2d {

using Complex = std::complex<double>;

/// Items in parts of nearly equal size; there may be fewer items than parts.
struct Parts {
  std::size_t items = 0;
  std::size_t parts = 1;
  std::size_t begin(std::size_t part) const { return items * part / parts; }
  std::size_t end(std::size_t part) const { return begin(part + 1); }
  std::size_t size(std::size_t part) const { return end(part) - begin(part); }
};

struct Problem {
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool inverse = false;  ///< scaled by 1 / (rows * columns)
  bool natural = false;  ///< order of the result
  double mask = 0;       ///< standard deviation of the mask, in frequencies; 0: no mask
  std::size_t elements() const { return rows * columns; }
};

/// What every element of the result is multiplied by: the scale of an inverse transform, and a Gaussian over the
/// distance from frequency 0, looked up by whole distances as in the paper.
class Finish {
 public:
  explicit Finish(const Problem& problem) : problem_(problem) {
    const double scale = problem.inverse ? 1.0 / static_cast<double>(problem.elements()) : 1.0;
    if (problem.mask == 0) {
      factors_.assign(1, scale);
      return;
    }
    const std::size_t farthest = distance(problem.rows / 2, problem.columns / 2);
    for (std::size_t far = 0; far <= farthest; ++far) {
      const double x = static_cast<double>(far) / problem.mask;
      factors_.push_back(scale * std::exp(-x * x / 2));
    }
  }

  /// A whole column of the result, element by row.
  void column(Complex* values, std::size_t column) const {
    if (factors_.size() == 1 && factors_[0] == 1.0) return;
    const std::size_t x = frequency(column, problem_.columns);
    for (std::size_t row = 0; row < problem_.rows; ++row)
      values[row] *= factors_.size() == 1 ? factors_[0] : factors_[distance(frequency(row, problem_.rows), x)];
  }

 private:
  static std::size_t frequency(std::size_t index, std::size_t length) { return std::min(index, length - index); }

  static std::size_t distance(std::size_t y, std::size_t x) {
    return static_cast<std::size_t>(std::lround(std::hypot(static_cast<double>(y), static_cast<double>(x))));
  }

  Problem problem_;
  std::vector<double> factors_;  ///< by distance; one for all where there is no mask
};

}  // namespace fft2d
