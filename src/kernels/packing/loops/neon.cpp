// Packing with NEON: pieces of 4 and 8 bytes inserted into a vector and stored together, longer ones by registers
// of 16 bytes. NEON is part of every 64-bit Arm processor. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/loops/kernels.hpp"

#if defined(__aarch64__)

#include <arm_neon.h>

#define COREWISE_REGISTER_BYTES 16
#include "kernels/packing/loops/insert.hpp"
#include "kernels/packing/loops/tiles.hpp"

namespace corewise::kernels {
namespace {

bool available() {
  return true;
}

struct Insert4 {
  static constexpr std::string_view name = "four of 4 put together";
  static constexpr std::int64_t bytes = 4;
  static constexpr std::int64_t per = 4;
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const auto word = [&](std::int64_t i) { return reinterpret_cast<const std::uint32_t*>(from + at[i]); };
    uint32x4_t value = vdupq_n_u32(0);
    value = vld1q_lane_u32(word(0), value, 0);
    value = vld1q_lane_u32(word(1), value, 1);
    value = vld1q_lane_u32(word(2), value, 2);
    value = vld1q_lane_u32(word(3), value, 3);
    vst1q_u8(reinterpret_cast<std::uint8_t*>(to), vreinterpretq_u8_u32(value));
  }
};

struct Insert8 {
  static constexpr std::string_view name = "two of 8 put together";
  static constexpr std::int64_t bytes = 8;
  static constexpr std::int64_t per = 2;
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const uint8x8_t low = vld1_u8(reinterpret_cast<const std::uint8_t*>(from + at[0]));
    const uint8x8_t high = vld1_u8(reinterpret_cast<const std::uint8_t*>(from + at[1]));
    vst1q_u8(reinterpret_cast<std::uint8_t*>(to), vcombine_u8(low, high));
  }
};

constexpr auto kBlocks = joined(kInsertedBlocks<Insert4, Insert8>, kPlain<Blocks>);
constexpr auto kTables = joined(kInsertedTables<Insert4, Insert8>, kPlain<Table>);

}  // namespace

extern const KernelSet kPackNeon = {"neon",      available, kBlocks,   kTables, kRuns,
                                    plain_pairs, kTiles,    kLowTiles, {},      nullptr};

}  // namespace corewise::kernels

#endif
