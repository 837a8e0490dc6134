// The input: numbers that depend on the seed and the element's place alone, so that any rank, and any other
// program, can make any part of it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

namespace fft2d {

/// The mixing function of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// In [-1, 1).
inline double number(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(mixed(mixed(seed) + index) >> 11) * 0x1.0p-52 - 1.0;
}

/// The element at a place of the whole matrix, row by row.
inline std::complex<double> element(std::uint64_t seed, std::size_t place) {
  return {number(seed, 2 * place), number(seed, 2 * place + 1)};
}

}  // namespace fft2d
