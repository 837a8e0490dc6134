// Packing pieces of 4, 8 and 16 bytes by putting some of them together in a vector, for every file whose
// instruction set has AVX2. Included after intrinsics were. Like loops.hpp, all of it is in an unnamed namespace.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "kernels/packing/loops/loops.hpp"

namespace corewise::kernels {
namespace {

struct Insert4 {
  static constexpr std::string_view name = "four of 4 put together";
  static constexpr std::int64_t bytes = 4;
  static constexpr std::int64_t per = 4;
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, const At& at) {
    const auto value = [&](std::int64_t j) {
      int word;
      __builtin_memcpy(&word, from + at[j], 4);
      return word;
    };
    const __m128i low = _mm_insert_epi32(_mm_cvtsi32_si128(value(0)), value(1), 1);
    const __m128i high = _mm_insert_epi32(_mm_cvtsi32_si128(value(2)), value(3), 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi64(low, high));
  }
};

struct Insert8 {
  static constexpr std::string_view name = "four of 8 put together";
  static constexpr std::int64_t bytes = 8;
  static constexpr std::int64_t per = 4;
  template <class At>
  COREWISE_INLINE static __m128d two(const std::byte* from, const At& at, std::int64_t i) {
    // Wherever it lies: _mm_load_sd reads an aligned number.
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + at[i]));
    return _mm_loadh_pd(_mm_castsi128_pd(low), reinterpret_cast<const double*>(from + at[i + 1]));
  }
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, const At& at) {
    const __m256d low = _mm256_castpd128_pd256(two(from, at, 0));
    _mm256_storeu_pd(reinterpret_cast<double*>(to), _mm256_insertf128_pd(low, two(from, at, 2), 1));
  }
};

struct Insert16 {
  static constexpr std::string_view name = "two of 16 put together";
  static constexpr std::int64_t bytes = 16;
  static constexpr std::int64_t per = 2;
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, const At& at) {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at[0]));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at[1]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_set_m128i(high, low));
  }
};

template <class Insert, class Shape>
void pack_inserted(std::byte* packed, const std::byte* items, const Shape& shape) {
  for (std::int64_t row = 0; row < shape.rows; ++row, items += shape.row_stride) {
    auto at = places_of(shape);
    std::int64_t left = shape.count;
#pragma GCC unroll 4
    for (; left >= Insert::per; left -= Insert::per, packed += Insert::per * Insert::bytes) {
      Insert::move(packed, items, at);
      at.take(Insert::per);
    }
    for (; left > 0; --left, packed += Insert::bytes) {
      move_block<Fixed<Insert::bytes>>(packed, items + at[0], Insert::bytes);
      at.take(1);
    }
  }
}

template <class Insert, class Shape>
inline constexpr Candidate<Shape> kInsert = {Insert::name, Insert::bytes, Insert::bytes,
                                             pack_inserted<Insert, Shape>, nullptr};

/// The plain loops, behind those that put pieces together: they pack only.
template <class Shape>
inline constexpr auto kInserted = [] {
  constexpr std::array kFirst = {kInsert<Insert4, Shape>, kInsert<Insert8, Shape>, kInsert<Insert16, Shape>};
  std::array<Candidate<Shape>, kFirst.size() + kPlain<Shape>.size()> all;
  std::copy(kPlain<Shape>.begin(), kPlain<Shape>.end(), std::copy(kFirst.begin(), kFirst.end(), all.begin()));
  return all;
}();

}  // namespace
}  // namespace corewise::kernels
