// Which loop of loops/kernels.hpp moves which blocks, private to the room: the first of an instruction set that
// fits their length, which its tables have in the order of what was measured; and what a block costs by it.
//
// Contract: pure functions of a set and a length. Costs were measured once, on a Zen 4 core with AVX-512 (4 to 32
// KB of data, every other block), and are used as ratios only: between a loop and a window, between long runs and
// short pieces. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/packing/loops/kernels.hpp"

namespace corewise::kernels {

/// A pair of opposite loops, and their names.
template <class Shape>
struct Kernels {
  void (*pack)(std::byte* packed, const std::byte* items, const Shape& shape) = nullptr;
  void (*unpack)(std::byte* items, const std::byte* packed, const Shape& shape) = nullptr;
  std::string_view packing;
  std::string_view unpacking;
};

/// The sets that this build has and this host can run, the preferred one first.
std::vector<const KernelSet*> usable_pack_sets();

Kernels<Blocks> loops_for_blocks(const KernelSet& set, std::int64_t block);
/// For rows that lie side by side while the blocks of a row are lines or more apart; `row`: bytes of a row in the
/// packed stream.
Kernels<Blocks> loops_for_tiles(const KernelSet& set, std::int64_t block, std::int64_t row);
Kernels<Table> loops_for_table(const KernelSet& set, std::int64_t block);

/// Nanoseconds of one block, at even distances or listed.
double block_ns(std::int64_t block, bool packing, bool listed);
/// Of one run among runs of different lengths, in their mean.
double uneven_ns(std::int64_t mean);
/// Of one vector of a window.
double window_ns(std::int64_t lane, bool packing);

}  // namespace corewise::kernels
