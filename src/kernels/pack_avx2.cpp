// Packing with AVX2: pieces of 4 and 8 bytes inserted into a vector and stored together, longer ones by registers
// of 32 bytes. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/pack_kernels.hpp"

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#include <immintrin.h>

#define COREWISE_REGISTER_BYTES 32
#include "kernels/pack_insert.hpp"

namespace corewise::kernels {
namespace {

bool available() {
  return __builtin_cpu_supports("avx2") != 0;
}

struct Insert4 {
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

struct Insert8 {
  static constexpr std::int64_t bytes = 8;
  static constexpr std::int64_t per = 4;
  template <class At>
  COREWISE_INLINE static __m128d two(const std::byte* from, At at, std::int64_t i) {
    const auto* low = reinterpret_cast<const double*>(from + at[i]);
    const auto* high = reinterpret_cast<const double*>(from + at[i + 1]);
    return _mm_loadh_pd(_mm_load_sd(low), high);
  }
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const __m256d value = _mm256_insertf128_pd(_mm256_castpd128_pd256(two(from, at, 0)), two(from, at, 2), 1);
    _mm256_storeu_pd(reinterpret_cast<double*>(to), value);
  }
};

struct Insert16 {
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

Kernels<Blocks> blocks(const Blocks& shape) {
  Kernels<Blocks> kernels = plain_blocks(shape.block);
  use_inserted<Insert4, Insert8, Insert16>(kernels, shape);
  return kernels;
}

Kernels<Table> table(const Table& shape) {
  Kernels<Table> kernels = plain_table(shape);
  use_inserted_lists<Insert4, Insert8, Insert16>(kernels, shape);
  return kernels;
}

}  // namespace

extern const KernelSet kPackAvx2 = {"avx2", available, blocks, table, plain_pairs, {}, nullptr};

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
