// Rows of adjacent blocks while the blocks of a row lie far apart: what a matrix is that is sent or
// received transposed. A row in turn uses one block of every line that it comes to, and comes back for the next one
// when the line has gone. Here some rows go together, as many as fill lines. What is moved is short, so that one
// set of loops serves every instruction set. SPDX-License-Identifier: BSD-3-Clause
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
    for (std::int64_t i = 0; i < rows; ++i, out += to.row, in += from.row) move_block<Block>(out, in, bytes);
  }
}

constexpr std::int64_t kTileLine = 64;
/// Columns that go together: so many pages are in use at a time, which is what the nearest table of pages of
/// today's processors holds.
constexpr std::int64_t kTileColumns = 64;
/// Blocks of up to so many bytes go by tiles of one line: rows of the packed stream that are a large power of two
/// long push each other out of a cache, so fewer of them at once. Longer blocks fill three lines about evenly.
constexpr std::int64_t kShort = 16;

/// Blocks to move first so that those behind them begin with a line wherever the other index is; 0 where nothing
/// does that.
std::int64_t blocks_to_lines(const std::byte* at, std::int64_t step, std::int64_t other) {
  const auto missing = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(at) % kTileLine);
  return step > 0 && other % kTileLine == 0 && missing % step == 0 ? missing / step : 0;
}

/// How many of `count` go together at `at`, where the first `head` are apart.
std::int64_t some_of(std::int64_t at, std::int64_t head, std::int64_t tile, std::int64_t count) {
  return std::min(at < head ? head - at : tile, count - at);
}

template <bool packing, class Block>
COREWISE_INLINE void move_tiles(const To& to, const From& from, const Blocks& shape) {
  const std::byte* const items = packing ? from.at : to.at;
  const std::byte* const packed = packing ? to.at : from.at;
  const std::int64_t bytes = shape.block;
  const std::int64_t high = bytes <= kShort ? kTileLine : 3 * kTileLine;
  const std::int64_t tile = std::max<std::int64_t>(1, high / std::max<std::int64_t>(1, std::abs(shape.row_stride)));
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

template <class Block>
void pack_tiles(std::byte* packed, const std::byte* items, const Blocks& shape) {
  move_tiles<true, Block>(To{packed, shape.count * shape.block, shape.block},
                          From{items, shape.row_stride, shape.stride}, shape);
}

template <class Block>
void unpack_tiles(std::byte* items, const std::byte* packed, const Blocks& shape) {
  move_tiles<false, Block>(To{items, shape.row_stride, shape.stride},
                           From{packed, shape.count * shape.block, shape.block}, shape);
}

template <class Block>
constexpr Candidate<Blocks> columns(std::int64_t least, std::int64_t most) {
  return {most <= kShort ? "columns, one line high" : "columns, three lines high", least, most, pack_tiles<Block>,
          unpack_tiles<Block>};
}

/// For every block that is shorter than a line.
constexpr std::array kTiles = {columns<Fixed<1>>(1, 1),
                               columns<Fixed<2>>(2, 2),
                               columns<Fixed<4>>(4, 4),
                               columns<Fixed<8>>(8, 8),
                               columns<Fixed<12>>(12, 12),
                               columns<Fixed<16>>(16, 16),
                               columns<Fixed<24>>(24, 24),
                               columns<Fixed<32>>(32, 32),
                               columns<Fixed<48>>(48, 48),
                               columns<Any>(3, kShort),
                               columns<Any>(kShort + 1, kTileLine - 1)};

/// Short blocks with a page each, more of them than a core's tables of pages hold. A core that waits for many pages
/// at once finds them later than one that waits for some: with a third as many blocks under way, 12 instructions
/// each, a column of 4096 blocks of 8 bytes is sent and received in 73 us and not in 79 (Intel Xeon, family 6,
/// model 207).
template <class Block>
struct Apart : Block {
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    Block::copy(to, from, bytes);
    asm volatile(".rept 8\n\tnop\n\t.endr");
  }
};

constexpr std::array kApart = {row<Blocks, Apart<Fixed<4>>>("4, a page each", 4, 4),
                               row<Blocks, Apart<Fixed<8>>>("8, a page each", 8, 8),
                               row<Blocks, Apart<Fixed<16>>>("16, a page each", 16, 16),
                               row<Blocks, Apart<Any>>("up to 16, a page each", 1, kShort)};

}  // namespace

std::span<const Candidate<Blocks>> tile_loops() {
  return kTiles;
}

std::span<const Candidate<Blocks>> apart_loops() {
  return kApart;
}

}  // namespace corewise::kernels
