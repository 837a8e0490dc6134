// Packing with AVX2: pieces of 4 and 8 bytes inserted into a vector and stored together, longer ones by registers
// of 32 bytes. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/loops/kernels.hpp"

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#include <immintrin.h>

#define COREWISE_REGISTER_BYTES 32
#include "kernels/packing/loops/insert_x86.hpp"
#include "kernels/packing/loops/tiles.hpp"

namespace corewise::kernels {
namespace {

bool available() {
  return __builtin_cpu_supports("avx2") != 0;
}

constexpr auto kBlocks = joined(kInsertedBlocks<Insert4, Insert8, Insert16>, kPlain<Blocks>);
constexpr auto kTables = joined(kInsertedTables<Insert4, Insert8, Insert16>, kPlain<Table>);

}  // namespace

extern const KernelSet kPackAvx2 = {"avx2",      available, kBlocks,   kTables, kRuns,
                                    plain_pairs, kTiles,    kLowTiles, {},      nullptr};

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
