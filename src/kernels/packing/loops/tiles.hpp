// Rows of blocks that lie side by side while the blocks of a row lie far apart: what a matrix is that is sent or
// received transposed. A row in turn uses one block of every line that it comes to, and comes back for the next one
// when the line has gone. Here some rows go together, as many as fill lines, and squares of blocks are transposed
// in registers. Like pack_loops.hpp, all of it is in an unnamed namespace. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdlib>
#include <utility>

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

/// Column by column.
template <class Block>
struct Columns {
  using Apart = Columns;
  static constexpr std::int64_t least = 1;  ///< rows and columns that it needs to be itself
  static constexpr bool side_by_side = false;
  template <bool packing>
  COREWISE_INLINE static void move(const To& to, const From& from, std::int64_t rows, std::int64_t columns,
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
};

/// A square of blocks of N bytes as wide as a register.
template <std::size_t N>
struct Square {
  static constexpr std::size_t W = kRegisterBytes;
  using Lane = std::conditional_t<N % 8 == 0, std::uint64_t, std::uint32_t>;
  typedef Lane Register __attribute__((vector_size(W), aligned(1), may_alias));
  typedef Lane Value __attribute__((vector_size(W)));
  static constexpr std::size_t kBlocks = W / N;
  static constexpr std::size_t kPerBlock = N / sizeof(Lane);
  static constexpr std::size_t kLanes = W / sizeof(Lane);

  /// Which lane of two registers one after the other goes to lane `lane` when squares of `half` blocks change
  /// places; `second`: of the second of the two.
  static constexpr int source(std::size_t lane, std::size_t half, bool second) {
    const std::size_t block = lane / kPerBlock;
    const bool upper = (block & half) != 0;
    const std::size_t from = second ? (upper ? block : block + half) : (upper ? block - half : block);
    return static_cast<int>((upper ? kLanes : 0) + from * kPerBlock + lane % kPerBlock);
  }

  template <std::size_t half, bool second, std::size_t... lane>
  COREWISE_INLINE static Value mixed(Value a, Value b, std::index_sequence<lane...>) {
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, source(lane, half, second)...);
#else
    return __builtin_shuffle(a, b, Value{static_cast<Lane>(source(lane, half, second))...});
#endif
  }

  template <std::size_t half>
  COREWISE_INLINE static void change_places(Value (&value)[kBlocks]) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      if ((i & half) == 0) {
        const Value a = value[i];
        const Value b = value[i + half];
        value[i] = mixed<half, false>(a, b, std::make_index_sequence<kLanes>());
        value[i + half] = mixed<half, true>(a, b, std::make_index_sequence<kLanes>());
      }
    }
    if constexpr (half > 1) {
      change_places<half / 2>(value);
    }
  }

  /// `step` bytes from one register to the next.
  COREWISE_INLINE static void move(std::byte* to, std::int64_t to_step, const std::byte* from,
                                   std::int64_t from_step) {
    Value value[kBlocks];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kBlocks; ++i) {
      value[i] = *reinterpret_cast<const Register*>(from + static_cast<std::int64_t>(i) * from_step);
    }
    change_places<kBlocks / 2>(value);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kBlocks; ++i) {
      *reinterpret_cast<Register*>(to + static_cast<std::int64_t>(i) * to_step) = value[i];
    }
  }
};

/// Square by square, column of squares by column, and what is left of either by columns. Blocks (i, j) and (i + 1,
/// j) lie side by side in memory, as (i, j) and (i, j + 1) do in the packed stream.
template <std::size_t N>
struct Squares {
  using Apart = Columns<Fixed<N>>;
  static constexpr auto least = static_cast<std::int64_t>(Square<N>::kBlocks);
  static constexpr bool side_by_side = true;
  template <bool packing>
  COREWISE_INLINE static void move(const To& to, const From& from, std::int64_t rows, std::int64_t columns,
                                   std::int64_t bytes) {
    const std::int64_t whole = rows - rows % least;
    std::int64_t j = 0;
    for (; j + least <= columns; j += least) {
      for (std::int64_t i = 0; i < whole; i += least) {
        Square<N>::move(to.moved(i, j).at, packing ? to.row : to.column, from.moved(i, j).at,
                        packing ? from.column : from.row);
      }
    }
    Apart::template move<packing>(to.moved(whole, 0), from.moved(whole, 0), rows - whole, j, bytes);
    Apart::template move<packing>(to.moved(0, j), from.moved(0, j), rows, columns - j, bytes);
  }
};

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

template <bool packing, class Mover, std::int64_t lines>
COREWISE_INLINE void move_tiles(const To& to, const From& from, const Blocks& shape) {
  const std::byte* const items = packing ? from.at : to.at;
  const std::byte* const packed = packing ? to.at : from.at;
  const std::int64_t bytes = shape.block;
  const std::int64_t tile =
      std::max(Mover::least, lines * kTileLine / std::max<std::int64_t>(1, std::abs(shape.row_stride)));
  const std::int64_t row_head = blocks_to_lines(items, shape.row_stride, shape.stride);
  const std::int64_t column_head = blocks_to_lines(packed, bytes, shape.count * bytes);
  for (std::int64_t j = 0; j < shape.count;) {
    const std::int64_t columns = some_of(j, column_head, kTileColumns, shape.count);
    for (std::int64_t i = 0; i < shape.rows;) {
      const std::int64_t rows = some_of(i, row_head, tile, shape.rows);
      Mover::template move<packing>(to.moved(i, j), from.moved(i, j), rows, columns, bytes);
      i += rows;
    }
    j += columns;
  }
}

/// With what the mover has for blocks of a column that do not lie side by side, if they do not.
template <bool packing, class Mover, std::int64_t lines>
COREWISE_INLINE void move_matrix(const To& to, const From& from, const Blocks& shape) {
  if (Mover::side_by_side && shape.row_stride != shape.block) {
    move_tiles<packing, typename Mover::Apart, lines>(to, from, shape);
  } else {
    move_tiles<packing, Mover, lines>(to, from, shape);
  }
}

template <class Mover, std::int64_t lines>
void pack_tiles(std::byte* packed, const std::byte* items, const Blocks& shape) {
  move_matrix<true, Mover, lines>(To{packed, shape.count * shape.block, shape.block},
                                  From{items, shape.row_stride, shape.stride}, shape);
}

template <class Mover, std::int64_t lines>
void unpack_tiles(std::byte* items, const std::byte* packed, const Blocks& shape) {
  move_matrix<false, Mover, lines>(To{items, shape.row_stride, shape.stride},
                                   From{packed, shape.count * shape.block, shape.block}, shape);
}

/// Tiles as high as one line and as three: blocks of every length fill three about evenly.
template <class Block>
constexpr std::array<Candidate<Blocks>, 2> column_rows(std::int64_t least, std::int64_t most) {
  using Mover = Columns<Block>;
  return {
      Candidate<Blocks>{"columns, one line high", least, most, pack_tiles<Mover, 1>, unpack_tiles<Mover, 1>},
      Candidate<Blocks>{"columns, three lines high", least, most, pack_tiles<Mover, 3>, unpack_tiles<Mover, 3>}};
}

template <std::size_t N>
constexpr std::array<Candidate<Blocks>, 2> square_rows() {
  return {
      Candidate<Blocks>{"squares, one line high", N, N, pack_tiles<Squares<N>, 1>, unpack_tiles<Squares<N>, 1>},
      Candidate<Blocks>{"squares, four lines high", N, N, pack_tiles<Squares<N>, 4>, unpack_tiles<Squares<N>, 4>}};
}

/// Lengths that the compiler is told, and behind each those that it is not, up to the next one.
template <std::size_t N, std::int64_t next>
constexpr std::array<Candidate<Blocks>, 4> columns_from() {
  return joined(column_rows<Fixed<N>>(N, N), column_rows<Any>(N + 1, next - 1));
}

/// For every block that is shorter than a line.
inline constexpr std::array kPlainTiles =
    joined(joined(joined(column_rows<Fixed<1>>(1, 1), columns_from<2, 4>()),
                  joined(columns_from<4, 8>(), columns_from<8, 12>())),
           joined(joined(columns_from<12, 16>(), columns_from<16, 24>()),
                  joined(columns_from<24, 32>(), joined(columns_from<32, 48>(), columns_from<48, kTileLine>()))));

}  // namespace
}  // namespace corewise::kernels
