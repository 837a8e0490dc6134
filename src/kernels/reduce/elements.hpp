// Element types with the layout that MPI's predefined types have, and how they are loaded from and stored to any
// address; private to the room. A store writes the bytes of the value and nothing else: see the contract in
// reduce.hpp for gaps and for the meaningless bytes of a long double. Internal linkage: see loops.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace corewise::kernels {
namespace {

#if defined(__SIZEOF_FLOAT128__)
using Quad = __float128;
inline constexpr std::size_t kQuadBytes = 16;
#elif LDBL_MANT_DIG == 113
using Quad = long double;
inline constexpr std::size_t kQuadBytes = sizeof(long double);
#else
using Quad = void;
inline constexpr std::size_t kQuadBytes = 0;
#endif

/// IEEE binary16 as its bits.
struct Half {
  std::uint16_t bits = 0;
};

inline float to_float(Half half) {
  const std::uint32_t sign = std::uint32_t{half.bits & 0x8000U} << 16;
  const std::uint32_t rest = half.bits & 0x7fffU;
  if (rest >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (rest & 0x3ffU) << 13);
  // The exponent of the single is 112 larger; a multiplication by 2^112 makes subnormal halves normal as well.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112F));
}

/// Rounds to nearest, ties to even. A NaN stays one and becomes quiet.
inline Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t size = bits & 0x7fffffffU;
  const auto signed_half = [sign](std::uint32_t rest) { return Half{static_cast<std::uint16_t>(sign | rest)}; };
  if (size > 0x7f800000U) return signed_half(0x7e00U | (size >> 13 & 0x1ffU));
  if (size >= 0x477ff000U) return signed_half(0x7c00U);  // 65520 and more round to infinity
  if (size < 0x38800000U) {                              // below 2^-14: subnormal, the adder rounds
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return signed_half(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U);
  }
  const std::uint32_t odd = size >> 13 & 1U;
  return signed_half((size - 0x38000000U + 0xfffU + odd) >> 13);
}

template <class Part>
struct Complex {
  Part real;
  Part imaginary;
};

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

template <class T>
inline constexpr bool is_complex = false;
template <class Part>
inline constexpr bool is_complex<Complex<Part>> = true;
/// The bytes of T that carry its value; the others mean nothing.
template <class T>
inline constexpr std::size_t kValueBytes =
    std::is_same_v<T, long double> && LDBL_MANT_DIG == 64 ? std::size_t{10} : sizeof(T);

template <class T>
inline T load(const std::byte* from) {
  if constexpr (is_complex<T>) {  // by parts: so the compiler finds the vectors
    using Part = decltype(T::real);
    return {load<Part>(from), load<Part>(from + sizeof(Part))};
  } else {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

template <class T>
inline void store(std::byte* to, const T& value) {
  std::memcpy(to, &value, kValueBytes<T>);
  if constexpr (kValueBytes<T> != sizeof(T)) std::memset(to + kValueBytes<T>, 0, sizeof(T) - kValueBytes<T>);
}

template <class Part>
inline void store(std::byte* to, const Complex<Part>& value) {
  store(to, value.real);
  store(to + sizeof value.real, value.imaginary);
}

template <class Value, class Index>
inline void store(std::byte* to, const Pair<Value, Index>& value) {
  using Layout = Pair<Value, Index>;
  store(to, value.value);
  store(to + offsetof(Layout, index), value.index);
}

}  // namespace
}  // namespace corewise::kernels
