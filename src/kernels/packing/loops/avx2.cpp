// Packing with AVX2: pieces of 4, 8 and 16 bytes inserted into a vector and stored together, longer ones by
// registers of 32 bytes. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/loops/kernels.hpp"

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#include <immintrin.h>

#define COREWISE_REGISTER_BYTES 32
#include "kernels/packing/loops/insert.hpp"

namespace corewise::kernels {
namespace {

bool available() {
  return __builtin_cpu_supports("avx2") != 0;
}

}  // namespace

extern const KernelSet kPackAvx2 = {"avx2", available, kInserted<Blocks>, kInserted<Table>, kRuns};

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
