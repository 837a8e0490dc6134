// The innermost loops of packing: one table of them per instruction set, private to the room.
//
// Contract: a kernel moves whole blocks between memory and a packed stream, reads and writes nothing but those
// bytes, asks no alignment, and writes blocks in packing order where they overlap. Every table answers for every
// block length and stride; the choice is made once, when a plan is compiled.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/pack_window.hpp"

namespace corewise::kernels {

/// Equal blocks at even distances in one or two dimensions; all lengths in bytes.
struct Blocks {
  std::int64_t block = 0;       ///< contiguous bytes
  std::int64_t stride = 0;      ///< from block to block
  std::int64_t count = 0;       ///< blocks in a row
  std::int64_t row_stride = 0;  ///< from row to row
  std::int64_t rows = 1;
};

/// Runs at the offsets of a table, repeated. `lengths` is null where every run has `block` bytes.
struct Table {
  std::int64_t block = 0;
  const std::int64_t* offsets = nullptr;
  const std::int64_t* lengths = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0;  ///< from one repetition to the next
  std::int64_t repeats = 1;
};

/// Blocks from one distance to another.
struct Pairs {
  std::int64_t block = 0;
  std::int64_t to_stride = 0;
  std::int64_t from_stride = 0;
  std::int64_t count = 0;
};

using CopyPairs = void (*)(std::byte* to, const std::byte* from, const Pairs& shape);

/// A pair of opposite loops and their names.
template <class Shape>
struct Kernels {
  void (*pack)(std::byte* packed, const std::byte* items, const Shape& shape) = nullptr;
  void (*unpack)(std::byte* items, const std::byte* packed, const Shape& shape) = nullptr;
  std::string_view pack_name;
  std::string_view unpack_name;
};

/// The loops of one instruction set.
struct KernelSet {
  std::string_view name;
  bool (*available)();
  Kernels<Blocks> (*blocks)(const Blocks& shape);
  Kernels<Table> (*table)(const Table& shape);
  CopyPairs (*pairs)(std::int64_t block);
  WindowLimits windows;
  WindowKernels (*window)(const Window& shape);  ///< null where `windows` has no vectors
};

/// In the order of preference; a set that this build's architecture does not have is absent.
extern const KernelSet kPackAvx512;
extern const KernelSet kPackAvx2;
extern const KernelSet kPackNeon;
extern const KernelSet kPackGeneric;

}  // namespace corewise::kernels
