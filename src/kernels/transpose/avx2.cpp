// The transposes of AVX2: 4x4 complex numbers in 16 registers of 32 bytes.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/transpose/kernels.hpp"

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#include <immintrin.h>

#include "kernels/transpose/loops.hpp"

namespace corewise::kernels {
namespace {

struct Avx2 {
  template <bool streams>
  [[gnu::always_inline]] static inline void store(Complex* to, __m256d values) {
    auto* const place = reinterpret_cast<double*>(to);
    if constexpr (streams)
      _mm256_stream_pd(place, values);
    else
      _mm256_storeu_pd(place, values);
  }

  /// Two columns of four rows, which are a line each.
  template <bool streams>
  [[gnu::always_inline]] static inline void move_two(Complex* to, std::size_t to_stride, const Complex* from,
                                                     std::size_t from_stride) {
    const auto row = [&](std::size_t r) {
      return _mm256_loadu_pd(reinterpret_cast<const double*>(from + r * from_stride));
    };
    const __m256d r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
    store<streams>(to, _mm256_permute2f128_pd(r0, r1, 0x20));
    store<streams>(to + 2, _mm256_permute2f128_pd(r2, r3, 0x20));
    store<streams>(to + to_stride, _mm256_permute2f128_pd(r0, r1, 0x31));
    store<streams>(to + to_stride + 2, _mm256_permute2f128_pd(r2, r3, 0x31));
  }

  template <bool streams>
  [[gnu::always_inline]] static inline void move(Complex* to, std::size_t to_stride, const Complex* from,
                                                 std::size_t from_stride) {
    move_two<streams>(to, to_stride, from, from_stride);
    move_two<streams>(to + 2 * to_stride, to_stride, from + 2, from_stride);
  }

  [[gnu::always_inline]] static inline void fence() { _mm_sfence(); }
};

}  // namespace

void transpose_avx2(const Transposition& m) {
  transpose_tiles<Avx2, false>(m);
}

void transpose_avx2_nt(const Transposition& m) {
  if (!lines_are_whole(m)) return transpose_avx2(m);
  transpose_tiles<Avx2, true>(m);
}

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
