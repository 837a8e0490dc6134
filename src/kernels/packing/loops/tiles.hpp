// Rows of adjacent blocks while the blocks of a row lie far apart: what a matrix is that is sent or
// received transposed. A row in turn uses one block of every line that it comes to, and comes back for the next one
// when the line has gone. Here some rows go together, as many as fill lines. Like loops.hpp, all of it is in an
// unnamed namespace. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdlib>

#include "kernels/packing/loops/loops.hpp"

namespace corewise::kernels {
namespace {

/// Blocks (i, j) from one place to another, either of which is the packed stream: `row` bytes from i to i + 1, and
/// `column` bytes from j to j + 1.
template <class Byte>
struct Grid {
  Byte* at;
  std::int64_t row;
  std::int64_t column;
  COREWISE_INLINE Grid moved(std::int64_t i, std::int64_t j) const {
    return {at + i * row + j * column, row, column};
  }
};
using To = Grid<std::byte>;
using From = Grid<const std::byte>;

/// Blocks column by column.
template <class Block>
COREWISE_INLINE void move_columns(const To& to, const From& from, std::int64_t rows, std::int64_t columns,
                                  std::int64_t bytes) {
  for (std::int64_t j = 0; j < columns; ++j) {
    std::byte* out = to.at + j * to.column;
    const std::byte* in = from.at + j * from.column;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < rows; ++i, out += to.row, in += from.row) {
      move_block<Block>(out, in, bytes);
    }
  }
}

inline constexpr std::int64_t kTileLine = 64;
/// Columns that go together: so many pages are in use at a time, which is what the nearest table of pages of
/// today's processors holds.
inline constexpr std::int64_t kTileColumns = 64;

/// Blocks to move first so that those behind them begin with a line wherever the other index is; 0 where nothing
/// does that.
inline std::int64_t blocks_to_lines(const std::byte* at, std::int64_t step, std::int64_t other) {
  const auto missing = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(at) % kTileLine);
  return step > 0 && other % kTileLine == 0 && missing % step == 0 ? missing / step : 0;
}

/// How many of `count` go together at `at`, where the first `head` are apart.
inline std::int64_t some_of(std::int64_t at, std::int64_t head, std::int64_t tile, std::int64_t count) {
  return std::min(at < head ? head - at : tile, count - at);
}

template <bool packing, class Block, std::int64_t lines>
COREWISE_INLINE void move_tiles(const To& to, const From& from, const Blocks& shape) {
  const std::byte* const items = packing ? from.at : to.at;
  const std::byte* const packed = packing ? to.at : from.at;
  const std::int64_t bytes = shape.block;
  const std::int64_t tile =
      std::max<std::int64_t>(1, lines * kTileLine / std::max<std::int64_t>(1, std::abs(shape.row_stride)));
  const std::int64_t row_head = blocks_to_lines(items, shape.row_stride, shape.stride);
  const std::int64_t column_head = blocks_to_lines(packed, bytes, shape.count * bytes);
  for (std::int64_t j = 0; j < shape.count;) {
    const std::int64_t columns = some_of(j, column_head, kTileColumns, shape.count);
    for (std::int64_t i = 0; i < shape.rows;) {
      const std::int64_t rows = some_of(i, row_head, tile, shape.rows);
      move_columns<Block>(to.moved(i, j), from.moved(i, j), rows, columns, bytes);
      i += rows;
    }
    j += columns;
  }
}

template <class Block, std::int64_t lines>
void pack_tiles(std::byte* packed, const std::byte* items, const Blocks& shape) {
  move_tiles<true, Block, lines>(To{packed, shape.count * shape.block, shape.block},
                                 From{items, shape.row_stride, shape.stride}, shape);
}

template <class Block, std::int64_t lines>
void unpack_tiles(std::byte* items, const std::byte* packed, const Blocks& shape) {
  move_tiles<false, Block, lines>(To{items, shape.row_stride, shape.stride},
                                  From{packed, shape.count * shape.block, shape.block}, shape);
}

template <class Block, std::int64_t lines>
constexpr Candidate<Blocks> columns(std::int64_t least, std::int64_t most) {
  return {lines == 1 ? "columns, one line high" : "columns, three lines high", least, most,
          pack_tiles<Block, lines>, unpack_tiles<Block, lines>};
}

/// For every block that is shorter than a line. Blocks above 4 bytes fill three lines about evenly.
inline constexpr std::array kTiles = {columns<Fixed<1>, 1>(1, 1),    columns<Fixed<2>, 1>(2, 2),
                                      columns<Fixed<4>, 1>(4, 4),    columns<Fixed<8>, 3>(8, 8),
                                      columns<Fixed<12>, 3>(12, 12), columns<Fixed<16>, 3>(16, 16),
                                      columns<Fixed<24>, 3>(24, 24), columns<Fixed<32>, 3>(32, 32),
                                      columns<Fixed<48>, 3>(48, 48), columns<Any, 3>(3, kTileLine - 1)};
/// For blocks of up to 16 bytes.
inline constexpr std::array kLowTiles = {columns<Fixed<1>, 1>(1, 1),       columns<Fixed<2>, 1>(2, 2),
                                         columns<Fixed<4>, 1>(4, 4),       columns<Fixed<8>, 1>(8, 8),
                                         columns<Fixed<12>, 1>(12, 12),    columns<Fixed<16>, 1>(16, 16),
                                         columns<Any, 1>(3, kTileLine - 1)};

}  // namespace
}  // namespace corewise::kernels
