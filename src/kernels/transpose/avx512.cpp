// The transposes of AVX-512: 4x4 complex numbers in 8 registers of 64 bytes, a line each.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/transpose/kernels.hpp"

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif

// GCC 12 takes the undefined register in some of its own intrinsics for ours.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "kernels/transpose/loops.hpp"

namespace corewise::kernels {
namespace {

struct Avx512 {
  template <bool streams>
  [[gnu::always_inline]] static inline void store(Complex* to, __m512d values) {
    if constexpr (streams)
      _mm512_stream_pd(reinterpret_cast<double*>(to), values);
    else
      _mm512_storeu_pd(to, values);
  }

  template <bool streams>
  [[gnu::always_inline]] static inline void move(Complex* to, std::size_t to_stride, const Complex* from,
                                                 std::size_t from_stride) {
    const auto row = [&](std::size_t r) { return _mm512_loadu_pd(from + r * from_stride); };
    const __m512d r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
    // Halves of two rows together, then every other element of two such.
    const __m512d low01 = _mm512_shuffle_f64x2(r0, r1, 0x44), high01 = _mm512_shuffle_f64x2(r0, r1, 0xEE);
    const __m512d low23 = _mm512_shuffle_f64x2(r2, r3, 0x44), high23 = _mm512_shuffle_f64x2(r2, r3, 0xEE);
    store<streams>(to, _mm512_shuffle_f64x2(low01, low23, 0x88));
    store<streams>(to + to_stride, _mm512_shuffle_f64x2(low01, low23, 0xDD));
    store<streams>(to + 2 * to_stride, _mm512_shuffle_f64x2(high01, high23, 0x88));
    store<streams>(to + 3 * to_stride, _mm512_shuffle_f64x2(high01, high23, 0xDD));
  }

  [[gnu::always_inline]] static inline void fence() { _mm_sfence(); }
};

}  // namespace

void transpose_avx512(const Transposition& m) {
  transpose_tiles<Avx512, false>(m);
}

void transpose_avx512_nt(const Transposition& m) {
  if (!lines_are_whole(m)) return transpose_avx512(m);
  transpose_tiles<Avx512, true>(m);
}

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
