// Packing by putting short pieces together in a register, shared by the files of the instruction sets. Each brings
// types with `name`, `bytes` (of a piece), `per` (pieces of a store) and `move(to, from, at)`, where at[i] is the
// offset of piece i. Like loops.hpp, all of it is in an unnamed namespace.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/packing/loops/loops.hpp"

namespace corewise::kernels {
namespace {

/// Where block i begins: at even distances, or by a table.
struct Even {
  std::int64_t stride;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return i * stride; }
};

struct Listed {
  const std::int32_t* offsets;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return offsets[i]; }
};

template <class Insert>
COREWISE_INLINE void pack_one(std::byte* packed, const std::byte* from) {
  copy_fixed<Insert::bytes>(packed, from);
  keep_scalar();
}

/// Blocks to move one by one until whole vectors can be stored without crossing lines; none where blocks do not lie
/// at multiples of their length.
template <class Insert>
COREWISE_INLINE std::int64_t blocks_to_a_line(const std::byte* packed, std::int64_t count) {
  constexpr std::uintptr_t kVector = Insert::bytes * Insert::per < 64 ? Insert::bytes * Insert::per : 64;
  const std::uintptr_t missing = -reinterpret_cast<std::uintptr_t>(packed) % kVector;
  const auto blocks = static_cast<std::int64_t>(missing / Insert::bytes);
  return missing % Insert::bytes == 0 && count >= 4 * Insert::per ? blocks : 0;
}

template <class Insert>
COREWISE_INLINE void insert_even(std::byte* packed, const std::byte* from, std::int64_t stride,
                                 std::int64_t count) {
  for (std::int64_t head = blocks_to_a_line<Insert>(packed, count); head > 0; --head, --count) {
    pack_one<Insert>(packed, from);
    from += stride;
    packed += Insert::bytes;
  }
#pragma GCC unroll 4
  for (; count >= Insert::per; count -= Insert::per) {
    Insert::move(packed, from, Even{stride});
    from += Insert::per * stride;
    packed += Insert::per * Insert::bytes;
  }
  for (; count > 0; --count, from += stride, packed += Insert::bytes) {
    pack_one<Insert>(packed, from);
  }
}

template <class Insert>
void pack_inserted(std::byte* packed, const std::byte* items, const Blocks& shape) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    insert_even<Insert>(packed, items + row * shape.row_stride, shape.stride, shape.count);
    packed += shape.count * Insert::bytes;
  }
}

template <class Insert>
void pack_inserted_list(std::byte* packed, const std::byte* items, const Table& shape) {
  const std::int64_t count = shape.count;
  const std::int32_t* const offsets = shape.offsets;
  for (std::int64_t repeat = 0; repeat < shape.repeats; ++repeat, items += shape.stride) {
    std::int64_t i = 0;
    for (const std::int64_t head = blocks_to_a_line<Insert>(packed, count); i < head;
         ++i, packed += Insert::bytes) {
      pack_one<Insert>(packed, items + offsets[i]);
    }
#pragma GCC unroll 2
    for (; i + Insert::per <= count; i += Insert::per, packed += Insert::per * Insert::bytes) {
      Insert::move(packed, items, Listed{offsets + i});
    }
    for (; i < count; ++i, packed += Insert::bytes) {
      pack_one<Insert>(packed, items + offsets[i]);
    }
  }
}

/// Rows of a set's tables: they pack only.
template <class... Inserts>
inline constexpr std::array kInsertedBlocks = {
    Candidate<Blocks>{Inserts::name, Inserts::bytes, Inserts::bytes, pack_inserted<Inserts>, nullptr}...};
template <class... Inserts>
inline constexpr std::array kInsertedTables = {
    Candidate<Table>{Inserts::name, Inserts::bytes, Inserts::bytes, pack_inserted_list<Inserts>, nullptr}...};

}  // namespace
}  // namespace corewise::kernels
