// The first loop that fits, and what blocks cost. Contract in choice.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/choice.hpp"

#include <algorithm>
#include <iterator>

namespace corewise::kernels {
namespace {

template <class Shape>
bool fits(const Candidate<Shape>& row, std::int64_t block) {
  return row.least <= block && block <= row.most;
}

template <class Shape>
Kernels<Shape> first_of(std::span<const Candidate<Shape>> rows, std::int64_t block) {
  const auto packs =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.pack && fits(row, block); });
  const auto unpacks =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.unpack && fits(row, block); });
  return {packs->pack, unpacks->unpack, packs->name, unpacks->name};
}

struct Cost {
  std::int64_t most;  ///< bytes of a block
  double pack, unpack, listed;
};
constexpr Cost kCosts[] = {{2, 0.27, 0.27, 0.35},  {3, 1.36, 1.63, 1.8},  {4, 0.14, 0.28, 0.32},
                           {7, 0.83, 1.36, 0.97},  {8, 0.18, 0.28, 0.33}, {15, 0.5, 0.48, 0.61},
                           {16, 0.28, 0.36, 0.38}, {31, 0.7, 0.65, 0.75}, {32, 0.57, 0.7, 0.65},
                           {63, 1.05, 1.1, 1.1},   {64, 1.2, 1.2, 1.27}};
constexpr double kLongByte = 0.018;  ///< of blocks above 64 bytes

}  // namespace

Kernels<Blocks> loops_for_blocks(const KernelSet& set, std::int64_t block) {
  return first_of(set.blocks, block);
}

Kernels<Blocks> loops_for_tiles(const KernelSet& set, std::int64_t block, std::int64_t row) {
  // Rows of the packed stream that are a multiple of a page long push each other out of a cache: fewer at once.
  constexpr std::int64_t kPage = 4096, kCrowded = 16;
  const bool crowded = row % kPage == 0 && block <= kCrowded;
  return first_of(crowded ? set.low_tiles : set.tiles, block);
}

Kernels<Table> loops_for_table(const KernelSet& set, std::int64_t block) {
  return first_of(set.tables, block);
}

double block_ns(std::int64_t block, bool packing, bool listed) {
  const auto* const cost =
      std::find_if(std::begin(kCosts), std::end(kCosts), [&](const Cost& each) { return block <= each.most; });
  if (cost == std::end(kCosts)) return kLongByte * static_cast<double>(block);
  return listed ? cost->listed : packing ? cost->pack : cost->unpack;
}

double uneven_ns(std::int64_t mean) {
  return std::max(1.5, 0.8 + kLongByte * static_cast<double>(mean));
}

double window_ns(std::int64_t lane, bool packing) {
  if (lane > 1) return packing ? 0.71 : 0.73;
  return packing ? 0.84 : 0.99;
}

}  // namespace corewise::kernels
