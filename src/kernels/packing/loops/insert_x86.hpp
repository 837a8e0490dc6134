// Pieces of 4, 8 and 16 bytes put together in vectors of 16 and 32 bytes, for every file whose instruction set has
// AVX2. Included after intrinsics were. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/packing/loops/insert.hpp"

namespace corewise::kernels {
namespace {

struct Insert4 {
  static constexpr std::string_view name = "four of 4 put together";
  static constexpr std::int64_t bytes = 4;
  static constexpr std::int64_t per = 4;
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const auto value = [&](std::int64_t i) {
      int word;
      __builtin_memcpy(&word, from + at[i], 4);
      return word;
    };
    const __m128i low = _mm_insert_epi32(_mm_cvtsi32_si128(value(0)), value(1), 1);
    const __m128i high = _mm_insert_epi32(_mm_cvtsi32_si128(value(2)), value(3), 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi64(low, high));
  }
};

/// Four pieces of 8 bytes.
struct Insert8 {
  static constexpr std::string_view name = "four of 8 put together";
  static constexpr std::int64_t bytes = 8;
  static constexpr std::int64_t per = 4;
  template <class At>
  COREWISE_INLINE static __m128d two(const std::byte* from, At at, std::int64_t i) {
    // Wherever it lies: _mm_load_sd reads an aligned number.
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + at[i]));
    return _mm_loadh_pd(_mm_castsi128_pd(low), reinterpret_cast<const double*>(from + at[i + 1]));
  }
  template <class At>
  COREWISE_INLINE static __m256d four(const std::byte* from, At at, std::int64_t i) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(two(from, at, i)), two(from, at, i + 2), 1);
  }
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    _mm256_storeu_pd(reinterpret_cast<double*>(to), four(from, at, 0));
  }
};

struct Insert16 {
  static constexpr std::string_view name = "two of 16 put together";
  static constexpr std::int64_t bytes = 16;
  static constexpr std::int64_t per = 2;
  COREWISE_INLINE static __m128i load(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const __m256i value = _mm256_castsi128_si256(load(from + at[0]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_inserti128_si256(value, load(from + at[1]), 1));
  }
};

}  // namespace
}  // namespace corewise::kernels
