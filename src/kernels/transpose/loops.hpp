// The loop around tiles of 4x4 complex numbers, for every file whose instruction set transposes one in registers.
// Included after intrinsics were; all of it is in an unnamed namespace, so that each file has its own.
//
// A line of 64 bytes holds 4 elements. A tile reads 4 whole lines of the source and writes 4 whole lines of the
// target, so no line is needed twice and it does not matter how many ways a cache has: rows whose distance is a
// power of two need no blocks that fit a cache. The loop goes along a strip of rows of the source, which the
// hardware prefetches, and through bands of columns no wider than the pages that the processor's second level of
// address translation holds. A strip has 4 rows. It has 16 where lines go past the caches to rows that lie at the
// same place of their pages: stores to so many of those get into each other's way, four lines of one row after
// another less (AMD Zen 3, 2048 x 2048: 4.8 ms instead of 10.7). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/transpose/transpose.hpp"

namespace corewise::kernels {
namespace {

constexpr std::size_t tile = 4;            ///< elements of a line
constexpr std::size_t band_columns = 512;  ///< each is another page of the target, where rows are long
constexpr std::size_t page = 4096;
constexpr std::size_t high_strip = 16;  ///< rows

/// Part of a matrix, element by element: what no tile covers.
void transpose_edge(const Transposition& m, std::size_t first_row, std::size_t end_row, std::size_t first_column,
                    std::size_t end_column) {
  for (std::size_t r = first_row; r < end_row; ++r)
    for (std::size_t c = first_column; c < end_column; ++c)
      m.to[c * m.to_stride + r] = m.from[r * m.from_stride + c];
}

/// Rows before the first whose elements begin a line of the target.
std::size_t rows_before_a_line(const Transposition& m) {
  const auto bytes = static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(m.to) & 63);
  return std::min(m.rows, bytes / sizeof(Complex));
}

/// Whether whole lines of the target can be written.
bool lines_are_whole(const Transposition& m) {
  return reinterpret_cast<std::uintptr_t>(m.to) % sizeof(Complex) == 0 && m.to_stride % tile == 0;
}

/// `Tile::move<streams>(to, to_stride, from, from_stride)` transposes 4x4 elements.
template <class Tile, bool streams>
void transpose_tiles(const Transposition& m) {
  const std::size_t first_row = streams ? rows_before_a_line(m) : 0;
  const std::size_t end_row = first_row + (m.rows - first_row) / tile * tile;
  const std::size_t end_column = m.columns / tile * tile;
  const std::size_t strip = streams && m.to_stride * sizeof(Complex) % page == 0 ? high_strip : tile;
  for (std::size_t band = 0; band < end_column; band += band_columns) {
    const std::size_t end_band = std::min(band + band_columns, end_column);
    for (std::size_t top = first_row; top < end_row; top += strip)
      for (std::size_t c = band; c < end_band; c += tile)
        for (std::size_t r = top; r < std::min(top + strip, end_row); r += tile)
          Tile::template move<streams>(m.to + c * m.to_stride + r, m.to_stride, m.from + r * m.from_stride + c,
                                       m.from_stride);
  }
  transpose_edge(m, 0, first_row, 0, m.columns);
  transpose_edge(m, first_row, end_row, end_column, m.columns);
  transpose_edge(m, end_row, m.rows, 0, m.columns);
  if constexpr (streams) Tile::fence();
}

}  // namespace
}  // namespace corewise::kernels
