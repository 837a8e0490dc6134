// Packing by putting short pieces together in a register, shared by the files of the instruction sets. Each brings
// types with `bytes` (of a piece), `per` (pieces of a store) and `move(to, from, at)`, where at[i] is the offset of
// piece i. Like pack_loops.hpp, all of it is in an unnamed namespace.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/pack_loops.hpp"

namespace corewise::kernels {
namespace {

/// Where block i begins: at even distances, or by a table.
struct Even {
  std::int64_t stride;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return i * stride; }
};

struct Listed {
  const std::int64_t* offsets;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return offsets[i]; }
};

template <class Insert>
COREWISE_INLINE void insert_even(std::byte* packed, const std::byte* from, std::int64_t stride,
                                 std::int64_t count) {
#pragma GCC unroll 4
  for (; count >= Insert::per; count -= Insert::per) {
    Insert::move(packed, from, Even{stride});
    from += Insert::per * stride;
    packed += Insert::per * Insert::bytes;
  }
  for (; count > 0; --count, from += stride, packed += Insert::bytes) {
    copy_fixed<Insert::bytes>(packed, from);
    keep_scalar();
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
  const std::int64_t* const offsets = shape.offsets;
  for (std::int64_t repeat = 0; repeat < shape.repeats; ++repeat, items += shape.stride) {
    std::int64_t i = 0;
#pragma GCC unroll 2
    for (; i + Insert::per <= count; i += Insert::per, packed += Insert::per * Insert::bytes) {
      Insert::move(packed, items, Listed{offsets + i});
    }
    for (; i < count; ++i, packed += Insert::bytes) {
      copy_fixed<Insert::bytes>(packed, items + offsets[i]);
      keep_scalar();
    }
  }
}

/// Takes the loop of whichever of the types has blocks of the shape's length, if one has.
template <class... Inserts>
void use_inserted(Kernels<Blocks>& kernels, const Blocks& shape) {
  const auto use = [&](auto insert) {
    using Insert = decltype(insert);
    if (Insert::bytes == shape.block && Insert::per > 1) {
      kernels.pack = pack_inserted<Insert>;
      kernels.pack_name = "blocks put together";
    }
  };
  (use(Inserts{}), ...);
}

template <class... Inserts>
void use_inserted_lists(Kernels<Table>& kernels, const Table& shape) {
  const auto use = [&](auto insert) {
    using Insert = decltype(insert);
    if (Insert::bytes == shape.block && shape.lengths == nullptr) {
      kernels.pack = pack_inserted_list<Insert>;
      kernels.pack_name = "list put together";
    }
  };
  (use(Inserts{}), ...);
}

}  // namespace
}  // namespace corewise::kernels
