// Loops that every instruction set shares, written on fixed block lengths that the compiler turns into its widest
// registers. Included by the files of the instruction sets after they have chosen theirs, so everything here is in
// an unnamed namespace: no file may see another's code.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <type_traits>

#include "kernels/packing/loops/kernels.hpp"

namespace corewise::kernels {
namespace {

#define COREWISE_INLINE inline __attribute__((always_inline))

/// Bytes of the widest register; said by the file, because compilers do not always tell the preprocessor what a
/// pragma chose.
#if !defined(COREWISE_REGISTER_BYTES)
#define COREWISE_REGISTER_BYTES 16
#endif
inline constexpr std::size_t kRegisterBytes = COREWISE_REGISTER_BYTES;
/// Above so many bytes a call of memcpy is as quick as registers: measured on a Zen 4, with registers of 64 bytes
/// on a Xeon (family 6, model 207), too, which has 0.7 of the time of memcpy at 512 bytes.
inline constexpr std::size_t kMostByRegisters = kRegisterBytes == 64 ? 4095 : 191;
/// From so many bytes on registers are stored aligned.
inline constexpr std::size_t kLeastAligned = 512;

/// The widest register that N is a multiple of.
template <std::size_t N>
inline constexpr std::size_t kFitting =
    N % kRegisterBytes == 0 ? kRegisterBytes : (N % 32 == 0 && kRegisterBytes > 32 ? 32 : 0);

/// N bytes by loads and stores of registers, all loads first; N is small. Wide registers are asked for as vectors:
/// compilers move blocks of known length by narrower ones than they have.
template <std::size_t N>
COREWISE_INLINE void copy_fixed(std::byte* to, const std::byte* from) {
  if constexpr (kFitting<N> != 0) {
    typedef unsigned char Register __attribute__((vector_size(kFitting<N>), aligned(1), may_alias));
    constexpr std::size_t kCount = N / kFitting<N>;
    Register values[kCount];
    for (std::size_t i = 0; i < kCount; ++i) values[i] = reinterpret_cast<const Register*>(from)[i];
    for (std::size_t i = 0; i < kCount; ++i) reinterpret_cast<Register*>(to)[i] = values[i];
  } else {
    __builtin_memcpy(to, from, N);
  }
}

/// Keeps a compiler from turning a loop into gather and scatter instructions, which lose here.
COREWISE_INLINE void keep_scalar() {
  asm volatile("" ::: "memory");
}

/// N to 2N bytes: two pieces that overlap, both read before either is written.
template <std::size_t N>
COREWISE_INLINE void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  typedef unsigned char Piece __attribute__((vector_size(N), aligned(1), may_alias));
  const Piece first = *reinterpret_cast<const Piece*>(from);
  const Piece last = *reinterpret_cast<const Piece*>(from + bytes - N);
  *reinterpret_cast<Piece*>(to) = first;
  *reinterpret_cast<Piece*>(to + bytes - N) = last;
}

/// N or more bytes, N a register's: four loads before their stores, then one by one, the last one overlapping, and
/// of many the first, so that others are aligned.
template <std::size_t N>
COREWISE_INLINE void copy_registers(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes <= 2 * N) {
    copy_ends<N>(to, from, bytes);
    return;
  }
  std::size_t i = 0;
  if (bytes >= kLeastAligned) {
    copy_fixed<N>(to, from);
    i = N - reinterpret_cast<std::uintptr_t>(to) % N;
  }
  for (; i + 4 * N <= bytes; i += 4 * N) copy_fixed<4 * N>(to + i, from + i);
  for (; i + N <= bytes; i += N) copy_fixed<N>(to + i, from + i);
  if (i < bytes) copy_fixed<N>(to + bytes - N, from + bytes - N);
}

/// Any number of bytes.
COREWISE_INLINE void copy_any(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= 16) {
    if (bytes <= 32) {
      copy_ends<16>(to, from, bytes);
    } else if (bytes <= 64) {
      copy_ends<32>(to, from, bytes);
    } else if (bytes <= kMostByRegisters) {
      copy_registers<kRegisterBytes>(to, from, bytes);
    } else {
      __builtin_memcpy(to, from, bytes);
    }
    return;
  }
  if (bytes >= 8) {
    copy_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(to, from, bytes);
  } else if (bytes >= 2) {
    copy_ends<2>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

/// Blocks of N bytes, N known to the compiler.
template <std::size_t N>
struct Fixed {
  static constexpr bool narrow = N < 16;
  struct Lengths {
    template <class Shape>
    explicit Lengths(const Shape&) {}
    constexpr std::int64_t operator[](std::int64_t) const { return N; }
  };
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t) { copy_fixed<N>(to, from); }
};

/// Blocks whose length the shape tells.
struct Told {
  static constexpr bool narrow = false;
  struct Lengths {
    template <class Shape>
    explicit Lengths(const Shape& shape) : block(shape.block) {}
    std::int64_t operator[](std::int64_t) const { return block; }
    std::int64_t block;
  };
};

/// Blocks of N to 2N bytes.
template <std::size_t N>
struct Ends : Told {
  static constexpr bool narrow = N < 16;
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    copy_ends<N>(to, from, static_cast<std::size_t>(bytes));
  }
};

/// Blocks of any length.
struct Any : Told {
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    copy_any(to, from, static_cast<std::size_t>(bytes));
  }
};

/// Runs of a table that has their lengths.
struct Each : Any {
  struct Lengths {
    explicit Lengths(const Table& shape) : lengths(shape.lengths) {}
    std::int64_t operator[](std::int64_t i) const { return lengths[i]; }
    const std::int64_t* lengths;
  };
};

/// Blocks of a register or more.
struct Registers : Told {
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    copy_registers<kRegisterBytes>(to, from, static_cast<std::size_t>(bytes));
  }
};

/// Blocks that are long enough for a call.
struct Long : Told {
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

template <class Block>
COREWISE_INLINE void move_block(std::byte* to, const std::byte* from, std::int64_t bytes) {
  Block::copy(to, from, bytes);
  if constexpr (Block::narrow) keep_scalar();
}

/// Where the blocks of a row begin: of those that are not yet taken, block i.
struct Even {
  std::int64_t stride;
  std::int64_t first = 0;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return first + i * stride; }
  COREWISE_INLINE void take(std::int64_t blocks) { first += blocks * stride; }
};

struct Listed {
  const std::int32_t* offsets;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return offsets[i]; }
  COREWISE_INLINE void take(std::int64_t blocks) { offsets += blocks; }
};

COREWISE_INLINE Even places_of(const Blocks& shape) {
  return {shape.stride};
}
COREWISE_INLINE Listed places_of(const Table& shape) {
  return {shape.offsets};
}

template <class Block, class Shape>
void pack_blocks(std::byte* packed, const std::byte* items, const Shape& shape) {
  const typename Block::Lengths lengths(shape);
  const std::int64_t count = shape.count;
  for (std::int64_t row = 0; row < shape.rows; ++row, items += shape.row_stride) {
    auto at = places_of(shape);
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t bytes = lengths[i];
      move_block<Block>(packed, items + at[0], bytes);
      packed += bytes;
      at.take(1);
    }
  }
}

template <class Block, class Shape>
void unpack_blocks(std::byte* items, const std::byte* packed, const Shape& shape) {
  const typename Block::Lengths lengths(shape);
  const std::int64_t count = shape.count;
  for (std::int64_t row = 0; row < shape.rows; ++row, items += shape.row_stride) {
    auto at = places_of(shape);
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t bytes = lengths[i];
      move_block<Block>(items + at[0], packed, bytes);
      packed += bytes;
      at.take(1);
    }
  }
}

template <class Block>
void copy_blocks(std::byte* to, const Blocks& target, const std::byte* from, const Blocks& source) {
  const typename Block::Lengths lengths(source);
  const std::int64_t count = source.count;
  for (std::int64_t row = 0; row < source.rows; ++row, to += target.row_stride, from += source.row_stride) {
    auto in = places_of(source), out = places_of(target);
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) {
      move_block<Block>(to + out[0], from + in[0], lengths[i]);
      in.take(1);
      out.take(1);
    }
  }
}

/// A row of a set's tables.
template <class Shape, class Block>
constexpr Candidate<Shape> row(std::string_view name, std::int64_t least, std::int64_t most = kAnyLength) {
  Candidate<Shape> found{name, least, most, pack_blocks<Block, Shape>, unpack_blocks<Block, Shape>};
  if constexpr (std::is_same_v<Shape, Blocks>) found.copy = copy_blocks<Block>;
  return found;
}

template <class Shape, std::size_t N>
constexpr Candidate<Shape> fixed_row(std::string_view name) {
  return row<Shape, Fixed<N>>(name, N, N);
}

/// The plain loops, for every block length.
template <class Shape>
inline constexpr std::array kPlain = {
    fixed_row<Shape, 1>("1"),
    fixed_row<Shape, 2>("2"),
    fixed_row<Shape, 4>("4"),
    fixed_row<Shape, 8>("8"),
    fixed_row<Shape, 16>("16"),
    fixed_row<Shape, 24>("24"),
    fixed_row<Shape, 32>("32"),
    fixed_row<Shape, 64>("64"),
    fixed_row<Shape, 128>("128"),
    fixed_row<Shape, 256>("256"),
    row<Shape, Any>("up to 8", 1, 7),
    row<Shape, Ends<8>>("8 to 16", 9, 15),
    row<Shape, Ends<16>>("16 to 32", 17, 31),
    row<Shape, Ends<32>>("32 to 64", 33, 63),
    row<Shape, Registers>("registers", 65, kMostByRegisters),
    row<Shape, Long>("memcpy", kMostByRegisters + 1),
};

inline constexpr Candidate<Table> kRuns = row<Table, Each>("runs", 1);

}  // namespace
}  // namespace corewise::kernels
