// Loops that every instruction set shares, written on fixed block lengths that the compiler turns into its widest
// registers. Included by the files of the instruction sets after they have chosen theirs, so everything here is in
// an unnamed namespace: no file may see another's code.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/pack_kernels.hpp"

namespace corewise::kernels {
namespace {

#define COREWISE_INLINE inline __attribute__((always_inline))

/// Bytes of the widest register; said by the file, because compilers do not always tell the preprocessor what a
/// pragma chose.
#if !defined(COREWISE_REGISTER_BYTES)
#define COREWISE_REGISTER_BYTES 16
#endif
inline constexpr std::size_t kRegisterBytes = COREWISE_REGISTER_BYTES;
/// From here on a call of memcpy costs little beside the copy itself.
inline constexpr std::size_t kInlineBytes = kRegisterBytes == 16 ? 256 : 128 * kRegisterBytes;

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
    for (std::size_t i = 0; i < kCount; ++i) {
      values[i] = reinterpret_cast<const Register*>(from)[i];
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      reinterpret_cast<Register*>(to)[i] = values[i];
    }
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

/// N or more bytes, N a register's: four loads before their stores, then one by one, the last one overlapping.
template <std::size_t N>
COREWISE_INLINE void copy_registers(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes <= 2 * N) {
    copy_ends<N>(to, from, bytes);
    return;
  }
  std::size_t i = 0;
  for (; i + 4 * N <= bytes; i += 4 * N) {
    copy_fixed<4 * N>(to + i, from + i);
  }
  for (; i + N <= bytes; i += N) {
    copy_fixed<N>(to + i, from + i);
  }
  if (i < bytes) {
    copy_fixed<N>(to + bytes - N, from + bytes - N);
  }
}

/// Any number of bytes, without a call while they are few.
COREWISE_INLINE void copy_short(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= 16) {
    if (bytes <= 32) {
      copy_ends<16>(to, from, bytes);
    } else if (bytes <= 64) {
      copy_ends<32>(to, from, bytes);
    } else if (bytes <= kInlineBytes) {
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
  static constexpr std::int64_t length(const Blocks&) { return N; }
  static constexpr std::int64_t length(const Table&) { return N; }
  static constexpr std::int64_t length(const Pairs&) { return N; }
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t) { copy_fixed<N>(to, from); }
};

/// Blocks of N to 2N bytes.
template <std::size_t N>
struct Ends {
  static constexpr bool narrow = N < 16;
  static std::int64_t length(const Blocks& shape) { return shape.block; }
  static std::int64_t length(const Table& shape) { return shape.block; }
  static std::int64_t length(const Pairs& shape) { return shape.block; }
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    copy_ends<N>(to, from, static_cast<std::size_t>(bytes));
  }
};

/// Blocks of any length.
struct Any {
  static constexpr bool narrow = false;
  static std::int64_t length(const Blocks& shape) { return shape.block; }
  static std::int64_t length(const Table& shape) { return shape.block; }
  static std::int64_t length(const Pairs& shape) { return shape.block; }
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    copy_short(to, from, static_cast<std::size_t>(bytes));
  }
};

/// Blocks of a register or more, up to kInlineBytes.
struct Registers : Any {
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    copy_registers<kRegisterBytes>(to, from, static_cast<std::size_t>(bytes));
  }
};

/// Blocks that are long enough for a call.
struct Long : Any {
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

template <class Block>
COREWISE_INLINE void move_block(std::byte* to, const std::byte* from, std::int64_t bytes) {
  Block::copy(to, from, bytes);
  if constexpr (Block::narrow) {
    keep_scalar();
  }
}

template <class Block>
void pack_blocks(std::byte* packed, const std::byte* items, const Blocks& shape) {
  const std::int64_t bytes = Block::length(shape);
  const std::int64_t count = shape.count;
  const std::int64_t stride = shape.stride;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const std::byte* from = items + row * shape.row_stride;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) {
      move_block<Block>(packed, from, bytes);
      from += stride;
      packed += bytes;
    }
  }
}

template <class Block>
void unpack_blocks(std::byte* items, const std::byte* packed, const Blocks& shape) {
  const std::int64_t bytes = Block::length(shape);
  const std::int64_t count = shape.count;
  const std::int64_t stride = shape.stride;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::byte* to = items + row * shape.row_stride;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) {
      move_block<Block>(to, packed, bytes);
      to += stride;
      packed += bytes;
    }
  }
}

template <class Block>
void pack_table(std::byte* packed, const std::byte* items, const Table& shape) {
  const std::int64_t bytes = Block::length(shape);
  const std::int64_t count = shape.count;
  const std::int64_t* const offsets = shape.offsets;
  for (std::int64_t repeat = 0; repeat < shape.repeats; ++repeat, items += shape.stride) {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i, packed += bytes) {
      move_block<Block>(packed, items + offsets[i], bytes);
    }
  }
}

template <class Block>
void unpack_table(std::byte* items, const std::byte* packed, const Table& shape) {
  const std::int64_t bytes = Block::length(shape);
  const std::int64_t count = shape.count;
  const std::int64_t* const offsets = shape.offsets;
  for (std::int64_t repeat = 0; repeat < shape.repeats; ++repeat, items += shape.stride) {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i, packed += bytes) {
      move_block<Block>(items + offsets[i], packed, bytes);
    }
  }
}

inline void pack_runs(std::byte* packed, const std::byte* items, const Table& shape) {
  for (std::int64_t repeat = 0; repeat < shape.repeats; ++repeat, items += shape.stride) {
    for (std::int64_t i = 0; i < shape.count; packed += shape.lengths[i], ++i) {
      copy_short(packed, items + shape.offsets[i], static_cast<std::size_t>(shape.lengths[i]));
    }
  }
}

inline void unpack_runs(std::byte* items, const std::byte* packed, const Table& shape) {
  for (std::int64_t repeat = 0; repeat < shape.repeats; ++repeat, items += shape.stride) {
    for (std::int64_t i = 0; i < shape.count; packed += shape.lengths[i], ++i) {
      copy_short(items + shape.offsets[i], packed, static_cast<std::size_t>(shape.lengths[i]));
    }
  }
}

template <class Block>
constexpr Kernels<Blocks> of_blocks(std::string_view name) {
  return {pack_blocks<Block>, unpack_blocks<Block>, name, name};
}

template <class Block>
constexpr Kernels<Table> of_table(std::string_view name) {
  return {pack_table<Block>, unpack_table<Block>, name, name};
}

/// The plain loop for a block length.
inline Kernels<Blocks> plain_blocks(std::int64_t block) {
  switch (block) {
    case 1:
      return of_blocks<Fixed<1>>("block 1");
    case 2:
      return of_blocks<Fixed<2>>("block 2");
    case 4:
      return of_blocks<Fixed<4>>("block 4");
    case 8:
      return of_blocks<Fixed<8>>("block 8");
    case 16:
      return of_blocks<Fixed<16>>("block 16");
    case 24:
      return of_blocks<Fixed<24>>("block 24");
    case 32:
      return of_blocks<Fixed<32>>("block 32");
    case 48:
      return of_blocks<Fixed<48>>("block 48");
    case 64:
      return of_blocks<Fixed<64>>("block 64");
    case 128:
      return of_blocks<Fixed<128>>("block 128");
    case 256:
      return of_blocks<Fixed<256>>("block 256");
    default:
      break;
  }
  if (block > 8 && block < 16) {
    return of_blocks<Ends<8>>("block 8 to 16");
  }
  if (block > 16 && block < 32) {
    return of_blocks<Ends<16>>("block 16 to 32");
  }
  if (block > 32 && block < 64) {
    return of_blocks<Ends<32>>("block 32 to 64");
  }
  return block <= static_cast<std::int64_t>(kInlineBytes) && block > 64 ? of_blocks<Registers>("registers")
         : block < 8                                                    ? of_blocks<Any>("short blocks")
                                                                        : of_blocks<Long>("memcpy");
}

/// Blocks ahead of the one that is copied whose lines are asked for: they may be in another core's cache.
inline constexpr std::int64_t kAhead = 8;

template <class Block>
void copy_pairs(std::byte* to, const std::byte* from, const Pairs& shape) {
  const std::int64_t bytes = Block::length(shape);
  const std::int64_t count = shape.count;
  const std::int64_t to_stride = shape.to_stride;
  const std::int64_t from_stride = shape.from_stride;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i) {
    __builtin_prefetch(from + kAhead * from_stride);
    move_block<Block>(to, from, bytes);
    to += to_stride;
    from += from_stride;
  }
}

/// The loop from stride to stride for a block length.
inline CopyPairs plain_pairs(std::int64_t block) {
  switch (block) {
    case 8:
      return copy_pairs<Fixed<8>>;
    case 16:
      return copy_pairs<Fixed<16>>;
    case 32:
      return copy_pairs<Fixed<32>>;
    case 64:
      return copy_pairs<Fixed<64>>;
    case 128:
      return copy_pairs<Fixed<128>>;
    case 256:
      return copy_pairs<Fixed<256>>;
    default:
      break;
  }
  if (block > 64 && block <= static_cast<std::int64_t>(kInlineBytes)) {
    return copy_pairs<Registers>;
  }
  return block < 64 ? copy_pairs<Any> : copy_pairs<Long>;
}

/// The plain loop for a table.
inline Kernels<Table> plain_table(const Table& shape) {
  if (shape.lengths != nullptr) {
    return {pack_runs, unpack_runs, "runs", "runs"};
  }
  switch (shape.block) {
    case 1:
      return of_table<Fixed<1>>("list of 1");
    case 2:
      return of_table<Fixed<2>>("list of 2");
    case 4:
      return of_table<Fixed<4>>("list of 4");
    case 8:
      return of_table<Fixed<8>>("list of 8");
    case 16:
      return of_table<Fixed<16>>("list of 16");
    case 24:
      return of_table<Fixed<24>>("list of 24");
    case 32:
      return of_table<Fixed<32>>("list of 32");
    case 48:
      return of_table<Fixed<48>>("list of 48");
    case 64:
      return of_table<Fixed<64>>("list of 64");
    case 128:
      return of_table<Fixed<128>>("list of 128");
    default:
      return shape.block <= static_cast<std::int64_t>(kInlineBytes) ? of_table<Any>("list of short blocks")
                                                                    : of_table<Long>("list by memcpy");
  }
}

}  // namespace
}  // namespace corewise::kernels
