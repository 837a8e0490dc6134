// The innermost loops of packing: tables of them, one per instruction set, private to the room.
//
// Contract: a loop moves whole blocks between memory and a packed stream, reads and writes nothing but those
// bytes, asks no alignment, and writes blocks in packing order where they overlap. Each set has a row for every
// block length, both directions; the first that fits runs.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/packing/plans/window.hpp"

namespace corewise::kernels {

/// Equal blocks at even distances in one or two dimensions; all lengths in bytes.
struct Blocks {
  std::int64_t block = 0;       ///< contiguous bytes
  std::int64_t stride = 0;      ///< from block to block
  std::int64_t count = 0;       ///< blocks in a row
  std::int64_t row_stride = 0;  ///< from row to row
  std::int64_t rows = 1;
};

/// Runs at the offsets of a table, which is one row. `lengths` is null where every run has `block` bytes.
struct Table {
  std::int64_t block = 0;
  const std::int32_t* offsets = nullptr;  ///< of 32 bits: half the bytes to read beside the data
  const std::int64_t* lengths = nullptr;
  std::int64_t count = 0;
  std::int64_t row_stride = 0;
  std::int64_t rows = 1;
};

template <class Shape>
using PackLoop = void (*)(std::byte* packed, const std::byte* items, const Shape& shape);
template <class Shape>
using UnpackLoop = void (*)(std::byte* items, const std::byte* packed, const Shape& shape);

/// From rows of blocks to rows of as many blocks of the same length, which may lie at other distances.
using CopyLoop = void (*)(std::byte* to, const Blocks& target, const std::byte* from, const Blocks& source);

inline constexpr std::int64_t kAnyLength = std::numeric_limits<std::int64_t>::max();

/// A pair of opposite loops for blocks of `least` to `most` bytes, and the one that copies; each may be null.
template <class Shape>
struct Candidate {
  std::string_view name;
  std::int64_t least = 1;
  std::int64_t most = kAnyLength;
  PackLoop<Shape> pack = nullptr;
  UnpackLoop<Shape> unpack = nullptr;
  CopyLoop copy = nullptr;
};

/// The loops of one instruction set, the quickest first (measured: docs/packing/packing-kernels.md).
struct KernelSet {
  std::string_view name;
  bool (*available)();
  std::span<const Candidate<Blocks>> blocks;
  std::span<const Candidate<Table>> tables;                 ///< of runs of one length
  Candidate<Table> runs;                                    ///< of runs of different lengths
  WindowKernels (*window)(std::int64_t vectors) = nullptr;  ///< null where it has no windows
};

/// In the order of preference; a set that this build's architecture does not have is absent.
extern const KernelSet kPackAvx512;
extern const KernelSet kPackAvx2;
extern const KernelSet kPackGeneric;

/// The sets that this build has and this host can run, the preferred one first.
std::vector<const KernelSet*> usable_pack_sets();

/// Loops of any instruction set for rows of blocks that are shorter than a line, `row_stride` not less than the
/// block; unpacking, no two blocks overlap.
std::span<const Candidate<Blocks>> tile_loops();

/// The same for blocks of up to 16 bytes, a page or more apart, more than a thousand in a row.
std::span<const Candidate<Blocks>> apart_loops();

}  // namespace corewise::kernels
