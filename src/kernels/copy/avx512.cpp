// The copy kernels of AVX-512: vectors of 64 bytes, a line each.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/copy/kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif

#include "kernels/copy/loops.hpp"

namespace corewise::kernels {
namespace {

struct Avx512 {
  using Register = __m512i;
  static constexpr Size width = 64;
  [[gnu::always_inline]] static inline Register load(const Byte* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static inline void store(Byte* p, Register r) { _mm512_storeu_si512(p, r); }
  [[gnu::always_inline]] static inline void stream(Byte* p, Register r) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), r);
  }
  [[gnu::always_inline]] static inline void use(Register r) { asm volatile("" : : "v"(r)); }
  [[gnu::always_inline]] static inline void fence() { _mm_sfence(); }
};

}  // namespace

COREWISE_COPY_KERNELS(avx512, Avx512)

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
