// A contestant that waits for its turn: a line of standard input is a transform, whose milliseconds are printed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <functional>

#include "input.hpp"

namespace corewise::bench {

constexpr std::uint64_t seed = 1;

/// Elements `first` to `first + count` of the whole input, row by row.
inline void fill(std::complex<double>* values, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = fft2d::element(seed, first + i);
}

inline double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline void tell(double ms) {
  std::printf("turn ms=%.4f\n", ms);
  std::fflush(stdout);
}

inline void tell_ready() {
  std::printf("ready\n");
  std::fflush(stdout);
}

}  // namespace corewise::bench
