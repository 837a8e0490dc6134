// Packing with AVX-512 (F, BW, DQ, VL). Small strided pieces go by windows (pack_window.hpp); where a window would
// take as many loads as there are pieces, pieces are inserted into a vector and stored together. Gather and scatter
// instructions are not used: they are no faster than inserts at best, and much slower where microcode guards them.
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "kernels/pack_kernels.hpp"

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi2"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi2")
#endif

// GCC 12 warns of its own undefined vectors inside the intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "kernels/pack_loops.hpp"

namespace corewise::kernels {
namespace {

bool available() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

// Windows. ------------------------------------------------------------------------------------------------------

struct Lane4 {
  static constexpr std::int64_t bytes = 4;
  using Mask = __mmask16;
  COREWISE_INLINE static __m512i load(Mask mask, const std::byte* from) {
    return _mm512_maskz_loadu_epi32(mask, from);
  }
  COREWISE_INLINE static void store(std::byte* to, Mask mask, __m512i value) {
    _mm512_mask_storeu_epi32(to, mask, value);
  }
  COREWISE_INLINE static __m512i from_one(__m512i index, __m512i value) {
    return _mm512_permutexvar_epi32(index, value);
  }
  COREWISE_INLINE static __m512i from_two(__m512i first, __m512i index, __m512i second) {
    return _mm512_permutex2var_epi32(first, index, second);
  }
  COREWISE_INLINE static __m512i merge(__m512i into, Mask mask, __m512i index, __m512i value) {
    return _mm512_mask_permutexvar_epi32(into, mask, index, value);
  }
};

struct Lane2 {
  static constexpr std::int64_t bytes = 2;
  using Mask = __mmask32;
  COREWISE_INLINE static __m512i load(Mask mask, const std::byte* from) {
    return _mm512_maskz_loadu_epi16(mask, from);
  }
  COREWISE_INLINE static void store(std::byte* to, Mask mask, __m512i value) {
    _mm512_mask_storeu_epi16(to, mask, value);
  }
  COREWISE_INLINE static __m512i from_one(__m512i index, __m512i value) {
    return _mm512_permutexvar_epi16(index, value);
  }
  COREWISE_INLINE static __m512i from_two(__m512i first, __m512i index, __m512i second) {
    return _mm512_permutex2var_epi16(first, index, second);
  }
  COREWISE_INLINE static __m512i merge(__m512i into, Mask mask, __m512i index, __m512i value) {
    return _mm512_mask_permutexvar_epi16(into, mask, index, value);
  }
};

/// One group: the vectors' data lanes, permuted into one.
template <class Lane, std::size_t vectors>
COREWISE_INLINE __m512i gathered(const std::byte* from, const Window::Lanes& data, const __m512i (&index)[vectors],
                                 const Window::Lanes& packed) {
  using Mask = typename Lane::Mask;
  const __m512i first = Lane::load(static_cast<Mask>(data[0]), from);
  if constexpr (vectors == 1) {
    return Lane::from_one(index[0], first);
  } else {
    __m512i all = Lane::from_two(first, index[0], Lane::load(static_cast<Mask>(data[1]), from + 64));
    for (std::size_t i = 2; i < vectors; ++i) {
      all = Lane::merge(all, static_cast<Mask>(packed[i]), index[i],
                        Lane::load(static_cast<Mask>(data[i]), from + 64 * i));
    }
    return all;
  }
}

template <std::size_t vectors>
COREWISE_INLINE void load_tables(__m512i (&index)[vectors],
                                 const std::array<std::array<std::uint8_t, kWindowBytes>, kWindowVectors>& table) {
  for (std::size_t i = 0; i < vectors; ++i) {
    index[i] = _mm512_load_si512(table[i].data());
  }
}

/// Lanes that so many data bytes take.
template <class Lane>
COREWISE_INLINE typename Lane::Mask first_lanes(std::int64_t bytes) {
  return static_cast<typename Lane::Mask>(_bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(bytes / Lane::bytes)));
}

template <class Lane, std::size_t vectors>
void pack_window(std::byte* packed, const std::byte* items, const Window& window, std::int64_t members) {
  __m512i index[vectors];
  load_tables(index, window.gather);
  const Window::Lanes data = window.data[static_cast<std::size_t>(window.group)];
  const Window::Lanes from = window.packed;
  const std::int64_t bytes = window.group * window.unit;
  const std::int64_t step = window.group * window.stride;
  const auto whole = first_lanes<Lane>(bytes);
  items += window.begin;
  for (; members >= window.group; members -= window.group, items += step, packed += bytes) {
    Lane::store(packed, whole, gathered<Lane, vectors>(items, data, index, from));
  }
  if (members > 0) {
    Lane::store(packed, first_lanes<Lane>(members * window.unit),
                gathered<Lane, vectors>(items, window.data[static_cast<std::size_t>(members)], index, from));
  }
}

template <class Lane, std::size_t vectors>
COREWISE_INLINE void scattered(std::byte* to, const Window::Lanes& data, const __m512i (&index)[vectors],
                               __m512i value) {
  for (std::size_t i = 0; i < vectors; ++i) {
    Lane::store(to + 64 * i, static_cast<typename Lane::Mask>(data[i]), Lane::from_one(index[i], value));
  }
}

template <class Lane, std::size_t vectors>
void unpack_window(std::byte* items, const std::byte* packed, const Window& window, std::int64_t members) {
  __m512i index[vectors];
  load_tables(index, window.scatter);
  const Window::Lanes data = window.data[static_cast<std::size_t>(window.group)];
  const std::int64_t bytes = window.group * window.unit;
  const std::int64_t step = window.group * window.stride;
  const auto whole = first_lanes<Lane>(bytes);
  items += window.begin;
  for (; members >= window.group; members -= window.group, items += step, packed += bytes) {
    scattered<Lane, vectors>(items, data, index, Lane::load(whole, packed));
  }
  if (members > 0) {
    scattered<Lane, vectors>(items, window.data[static_cast<std::size_t>(members)], index,
                             Lane::load(first_lanes<Lane>(members * window.unit), packed));
  }
}

template <class Lane, std::size_t... more>
WindowKernels window_of(std::int64_t vectors, std::index_sequence<more...>) {
  static constexpr WindowKernels all[] = {{pack_window<Lane, more + 1>, unpack_window<Lane, more + 1>}...};
  return all[vectors - 1];
}

WindowKernels window(const Window& shape) {
  constexpr auto kVectors = std::make_index_sequence<kWindowVectors>{};
  return shape.lane == 2 ? window_of<Lane2>(shape.vectors, kVectors) : window_of<Lane4>(shape.vectors, kVectors);
}

// Pieces inserted into vectors. ---------------------------------------------------------------------------------

/// Where block i begins: at even distances, or by a table.
struct Even {
  std::int64_t stride;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return i * stride; }
};

struct Listed {
  const std::int64_t* offsets;
  COREWISE_INLINE std::int64_t operator[](std::int64_t i) const { return offsets[i]; }
};

/// Vectors of blocks of 4, 8, 16 and 32 bytes, put together from `per` of them.
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
  static constexpr std::int64_t per = 8;
  template <class At>
  COREWISE_INLINE static __m128d two(const std::byte* from, At at, std::int64_t i) {
    const auto* low = reinterpret_cast<const double*>(from + at[i]);
    const auto* high = reinterpret_cast<const double*>(from + at[i + 1]);
    return _mm_loadh_pd(_mm_load_sd(low), high);
  }
  template <class At>
  COREWISE_INLINE static __m256d four(const std::byte* from, At at, std::int64_t i) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(two(from, at, i)), two(from, at, i + 2), 1);
  }
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const __m512d value = _mm512_insertf64x4(_mm512_castpd256_pd512(four(from, at, 0)), four(from, at, 4), 1);
    _mm512_storeu_pd(to, value);
  }
};

struct Insert16 {
  static constexpr std::int64_t bytes = 16;
  static constexpr std::int64_t per = 4;
  COREWISE_INLINE static __m128i load(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    __m512i value = _mm512_castsi128_si512(load(from + at[0]));
    value = _mm512_mask_broadcast_i64x2(value, 0x0C, load(from + at[1]));
    value = _mm512_mask_broadcast_i64x2(value, 0x30, load(from + at[2]));
    _mm512_storeu_si512(to, _mm512_mask_broadcast_i64x2(value, 0xC0, load(from + at[3])));
  }
};

struct Insert32 {
  static constexpr std::int64_t bytes = 32;
  static constexpr std::int64_t per = 2;
  COREWISE_INLINE static __m256i load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const __m512i value = _mm512_castsi256_si512(load(from + at[0]));
    _mm512_storeu_si512(to, _mm512_mask_broadcast_i64x4(value, 0xF0, load(from + at[1])));
  }
};

/// Whole vectors of a longer block: the loads of four blocks before their stores.
struct Together64 {
  static constexpr std::int64_t bytes = 64;
  static constexpr std::int64_t per = 4;
  template <class At>
  COREWISE_INLINE static void move(std::byte* to, const std::byte* from, At at) {
    const __m512i a = _mm512_loadu_si512(from + at[0]);
    const __m512i b = _mm512_loadu_si512(from + at[1]);
    const __m512i c = _mm512_loadu_si512(from + at[2]);
    const __m512i d = _mm512_loadu_si512(from + at[3]);
    _mm512_storeu_si512(to, a);
    _mm512_storeu_si512(to + 64, b);
    _mm512_storeu_si512(to + 128, c);
    _mm512_storeu_si512(to + 192, d);
  }
};

template <class Insert>
COREWISE_INLINE void insert_even(std::byte* packed, const std::byte* from, std::int64_t stride,
                                 std::int64_t count) {
  for (; count >= Insert::per; count -= Insert::per) {
    Insert::move(packed, from, Even{stride});
    from += Insert::per * stride;
    packed += Insert::per * Insert::bytes;
  }
  for (; count > 0; --count, from += stride, packed += Insert::bytes) {
    copy_fixed<Insert::bytes>(packed, from);
    keep_scalar();
  }
}

template <class Insert>
void pack_inserted(std::byte* packed, const std::byte* items, const Blocks& shape) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    insert_even<Insert>(packed, items + row * shape.row_stride, shape.stride, shape.count);
    packed += shape.count * Insert::bytes;
  }
}

template <class Insert>
void pack_inserted_list(std::byte* packed, const std::byte* items, const Table& shape) {
  for (std::int64_t repeat = 0; repeat < shape.repeats; ++repeat, items += shape.stride) {
    std::int64_t i = 0;
    for (; i + Insert::per <= shape.count; i += Insert::per, packed += Insert::per * Insert::bytes) {
      Insert::move(packed, items, Listed{shape.offsets + i});
    }
    for (; i < shape.count; ++i, packed += Insert::bytes) {
      copy_fixed<Insert::bytes>(packed, items + shape.offsets[i]);
      keep_scalar();
    }
  }
}

Kernels<Blocks> blocks(const Blocks& shape) {
  Kernels<Blocks> kernels = plain_blocks(shape.block);
  const auto use = [&](auto insert, std::string_view name) {
    kernels.pack = pack_inserted<decltype(insert)>;
    kernels.pack_name = name;
  };
  switch (shape.block) {
    case 4:
      use(Insert4{}, "4 inserted");
      break;
    case 8:
      use(Insert8{}, "8 inserted");
      break;
    case 16:
      use(Insert16{}, "16 inserted");
      break;
    case 32:
      use(Insert32{}, "32 inserted");
      break;
    case 64:
      use(Together64{}, "64 by four");
      break;
    default:
      break;
  }
  return kernels;
}

Kernels<Table> table(const Table& shape) {
  Kernels<Table> kernels = plain_table(shape);
  if (shape.lengths != nullptr) {
    return kernels;
  }
  const auto use = [&](auto insert, std::string_view name) {
    kernels.pack = pack_inserted_list<decltype(insert)>;
    kernels.pack_name = name;
  };
  switch (shape.block) {
    case 4:
      use(Insert4{}, "list of 4 inserted");
      break;
    case 8:
      use(Insert8{}, "list of 8 inserted");
      break;
    case 16:
      use(Insert16{}, "list of 16 inserted");
      break;
    case 32:
      use(Insert32{}, "list of 32 inserted");
      break;
    case 64:
      use(Together64{}, "list of 64 by four");
      break;
    default:
      break;
  }
  return kernels;
}

}  // namespace

extern const KernelSet kPackAvx512 = {"avx512", available, blocks, table, {64, 2, kWindowVectors}, window};

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
