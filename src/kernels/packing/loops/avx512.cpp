// Packing with AVX-512 (F, BW, VL and VBMI: Ice Lake, Zen 4 and later). Small strided pieces go by windows
// (plans/window.hpp); where a window would take about as many loads as there are pieces, by the loops of AVX2 with
// wider registers. Gather and scatter instructions are not used: they are no faster than inserts at best, and much
// slower where microcode guards them. SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "kernels/packing/loops/kernels.hpp"

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi2"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi2")
#endif

// GCC 12 warns of its own undefined vectors inside the intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#define COREWISE_REGISTER_BYTES 64
#include "kernels/packing/loops/insert.hpp"

namespace corewise::kernels {
namespace {

bool available() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vbmi") != 0 &&
         __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

template <std::size_t vectors>
COREWISE_INLINE void load_tables(__m512i (&index)[vectors], const Window::Bytes& table) {
  for (std::size_t i = 0; i < vectors; ++i) index[i] = _mm512_load_si512(table[i].data());
}

/// The bytes of a packed vector.
COREWISE_INLINE __mmask64 packed_bytes(const Window& window) {
  return _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(window.group * window.unit));
}

template <std::size_t vectors>
void pack_window(std::byte* packed, const std::byte* items, const Window& window, std::int64_t groups) {
  __m512i index[vectors];
  load_tables(index, window.from);
  const Window::Masks data = window.data, here = window.packed;
  const __mmask64 whole = packed_bytes(window);
  const std::int64_t step = window.group * window.stride, bytes = window.group * window.unit;
  items += window.begin;
  for (; groups > 0; --groups, items += step, packed += bytes) {
    __m512i all = _mm512_permutexvar_epi8(index[0], _mm512_maskz_loadu_epi8(data[0], items));
    for (std::size_t i = 1; i < vectors; ++i)
      all = _mm512_mask_permutexvar_epi8(all, here[i], index[i], _mm512_maskz_loadu_epi8(data[i], items + 64 * i));
    _mm512_mask_storeu_epi8(packed, whole, all);
  }
}

template <std::size_t vectors>
void unpack_window(std::byte* items, const std::byte* packed, const Window& window, std::int64_t groups) {
  __m512i index[vectors];
  load_tables(index, window.to);
  const Window::Masks data = window.data;
  const __mmask64 whole = packed_bytes(window);
  const std::int64_t step = window.group * window.stride, bytes = window.group * window.unit;
  items += window.begin;
  for (; groups > 0; --groups, items += step, packed += bytes) {
    const __m512i all = _mm512_maskz_loadu_epi8(whole, packed);
    for (std::size_t i = 0; i < vectors; ++i)
      _mm512_mask_storeu_epi8(items + 64 * i, data[i], _mm512_permutexvar_epi8(index[i], all));
  }
}

template <std::size_t... more>
WindowKernels window_of(std::int64_t vectors, std::index_sequence<more...>) {
  static constexpr WindowKernels all[] = {{pack_window<more + 1>, unpack_window<more + 1>}...};
  return all[vectors - 1];
}

WindowKernels window(std::int64_t vectors) {
  return window_of(vectors, std::make_index_sequence<kWindowVectors>{});
}

}  // namespace

extern const KernelSet kPackAvx512 = {"avx512", available, kInserted<Blocks>, kInserted<Table>, kRuns, window};

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
