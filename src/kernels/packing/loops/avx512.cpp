// Packing with AVX-512 (F, BW, DQ, VL). Small strided pieces go by windows (plans/window.hpp); where a window would
// take as many loads as there are pieces, pieces are inserted into a vector and stored together. Gather and scatter
// instructions are not used: they are no faster than inserts at best, and much slower where microcode guards them.
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "kernels/packing/loops/kernels.hpp"

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

#define COREWISE_REGISTER_BYTES 64
#include "kernels/packing/loops/insert_x86.hpp"
#include "kernels/packing/loops/tiles.hpp"

namespace corewise::kernels {
namespace {

bool available() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0;
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

/// Members to move first so that no vector of memory crosses lines; fewer than a group.
COREWISE_INLINE std::int64_t members_to_a_line(const std::byte* vector, const Window& window,
                                               std::int64_t members) {
  if (window.line_shift < 0 || members < 4 * window.group) {
    return 0;
  }
  const std::uintptr_t missing = -reinterpret_cast<std::uintptr_t>(vector) % kWindowBytes;
  const auto head = static_cast<std::int64_t>(missing >> window.line_shift);
  return static_cast<std::uintptr_t>(head) << window.line_shift == missing ? head : 0;
}

/// Calls `whole(items, packed)` for every group and `part(items, packed, members)` for what is none.
template <class Items, class Stream, class Whole, class Part>
COREWISE_INLINE void for_groups(Items items, Stream packed, const Window& window, std::int64_t members,
                                const Whole& whole, const Part& part) {
  const std::int64_t bytes = window.group * window.unit;
  const std::int64_t step = window.group * window.stride;
  items += window.begin;
  if (const std::int64_t head = members_to_a_line(items, window, members); head > 0) {
    part(items, packed, head);
    items += head * window.stride;
    packed += head * window.unit;
    members -= head;
  }
  for (; members >= window.group; members -= window.group, items += step, packed += bytes) {
    whole(items, packed);
  }
  if (members > 0) {
    part(items, packed, members);
  }
}

template <class Lane, std::size_t vectors>
void pack_window(std::byte* packed, const std::byte* items, const Window& window, std::int64_t members) {
  __m512i index[vectors];
  load_tables(index, window.gather);
  const Window::Lanes data = window.data[static_cast<std::size_t>(window.group)];
  const Window::Lanes from = window.packed;
  const auto lanes = first_lanes<Lane>(window.group * window.unit);
  for_groups(
      items, packed, window, members,
      [&](const std::byte* at, std::byte* to) {
        Lane::store(to, lanes, gathered<Lane, vectors>(at, data, index, from));
      },
      [&](const std::byte* at, std::byte* to, std::int64_t some) {
        Lane::store(to, first_lanes<Lane>(some * window.unit),
                    gathered<Lane, vectors>(at, window.data[static_cast<std::size_t>(some)], index, from));
      });
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
  const auto lanes = first_lanes<Lane>(window.group * window.unit);
  for_groups(
      items, packed, window, members,
      [&](std::byte* at, const std::byte* from) {
        scattered<Lane, vectors>(at, data, index, Lane::load(lanes, from));
      },
      [&](std::byte* at, const std::byte* from, std::int64_t some) {
        scattered<Lane, vectors>(at, window.data[static_cast<std::size_t>(some)], index,
                                 Lane::load(first_lanes<Lane>(some * window.unit), from));
      });
}

// Windows of byte lanes: a packed vector has 16.

/// Each 16 bytes of a vector shuffled to their packed places, all of them laid over each other.
template <std::size_t vectors>
COREWISE_INLINE __m128i gathered_bytes(const std::byte* from, const Window::Lanes& data,
                                       const __m512i (&index)[vectors]) {
  __m512i all = _mm512_shuffle_epi8(_mm512_maskz_loadu_epi8(data[0], from), index[0]);
  for (std::size_t i = 1; i < vectors; ++i) {
    all = _mm512_or_si512(all, _mm512_shuffle_epi8(_mm512_maskz_loadu_epi8(data[i], from + 64 * i), index[i]));
  }
  const __m256i half = _mm256_or_si256(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

COREWISE_INLINE __mmask16 first_bytes(std::int64_t bytes) {
  return static_cast<__mmask16>(_bzhi_u32(0xFFFF, static_cast<unsigned>(bytes)));
}

template <std::size_t vectors>
void pack_bytes(std::byte* packed, const std::byte* items, const Window& window, std::int64_t members) {
  __m512i index[vectors];
  load_tables(index, window.gather);
  const Window::Lanes data = window.data[static_cast<std::size_t>(window.group)];
  const __mmask16 whole = first_bytes(window.group * window.unit);
  for_groups(
      items, packed, window, members,
      [&](const std::byte* at, std::byte* to) { _mm_mask_storeu_epi8(to, whole, gathered_bytes(at, data, index)); },
      [&](const std::byte* at, std::byte* to, std::int64_t some) {
        _mm_mask_storeu_epi8(to, first_bytes(some * window.unit),
                             gathered_bytes(at, window.data[static_cast<std::size_t>(some)], index));
      });
}

template <std::size_t vectors>
COREWISE_INLINE void scattered_bytes(std::byte* to, const Window::Lanes& data, const __m512i (&index)[vectors],
                                     __m128i packed) {
  const __m512i everywhere = _mm512_broadcast_i32x4(packed);
  for (std::size_t i = 0; i < vectors; ++i) {
    _mm512_mask_storeu_epi8(to + 64 * i, data[i], _mm512_shuffle_epi8(everywhere, index[i]));
  }
}

template <std::size_t vectors>
void unpack_bytes(std::byte* items, const std::byte* packed, const Window& window, std::int64_t members) {
  __m512i index[vectors];
  load_tables(index, window.scatter);
  const Window::Lanes data = window.data[static_cast<std::size_t>(window.group)];
  const __mmask16 whole = first_bytes(window.group * window.unit);
  for_groups(
      items, packed, window, members,
      [&](std::byte* at, const std::byte* from) {
        scattered_bytes(at, data, index, _mm_maskz_loadu_epi8(whole, from));
      },
      [&](std::byte* at, const std::byte* from, std::int64_t some) {
        scattered_bytes(at, window.data[static_cast<std::size_t>(some)], index,
                        _mm_maskz_loadu_epi8(first_bytes(some * window.unit), from));
      });
}

template <std::size_t... more>
WindowKernels bytes_of(std::int64_t vectors, std::index_sequence<more...>) {
  static constexpr WindowKernels all[] = {{pack_bytes<more + 1>, unpack_bytes<more + 1>}...};
  return all[vectors - 1];
}

template <class Lane, std::size_t... more>
WindowKernels window_of(std::int64_t vectors, std::index_sequence<more...>) {
  static constexpr WindowKernels all[] = {{pack_window<Lane, more + 1>, unpack_window<Lane, more + 1>}...};
  return all[vectors - 1];
}

WindowKernels window(const Window& shape) {
  constexpr auto kVectors = std::make_index_sequence<kWindowVectors>{};
  if (shape.lane == 1) {
    return bytes_of(shape.vectors, kVectors);
  }
  return shape.lane == 2 ? window_of<Lane2>(shape.vectors, kVectors) : window_of<Lane4>(shape.vectors, kVectors);
}

// Inserts of AVX2 put short pieces together: wider ones were no faster.
constexpr auto kBlocks = joined(kInsertedBlocks<Insert4, Insert8, Insert16>, kPlain<Blocks>);
constexpr auto kTables = joined(kInsertedTables<Insert4, Insert8, Insert16>, kPlain<Table>);

}  // namespace

extern const KernelSet kPackAvx512 = {
    "avx512", available, kBlocks, kTables, kRuns, plain_pairs, kTiles, kLowTiles, {64, 1, kWindowVectors}, window};

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
