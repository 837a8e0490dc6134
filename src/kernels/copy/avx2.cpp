// The copy kernels of AVX2: vectors of 32 bytes.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/copy/kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#include "kernels/copy/loops.hpp"

namespace corewise::kernels {
namespace {

struct Avx2 {
  using Register = __m256i;
  static constexpr Size width = 32;
  [[gnu::always_inline]] static inline Register load(const Byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  [[gnu::always_inline]] static inline void store(Byte* p, Register r) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), r);
  }
  [[gnu::always_inline]] static inline void stream(Byte* p, Register r) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), r);
  }
  [[gnu::always_inline]] static inline void use(Register r) { asm volatile("" : : "x"(r)); }
  [[gnu::always_inline]] static inline void fence() { _mm_sfence(); }
};

}  // namespace

COREWISE_COPY_KERNELS(avx2, Avx2)

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
