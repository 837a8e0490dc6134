// FFTW's threads on one process, out of place with the input given up; the result is in natural order.
//
// Usage: fftw_threads N THREADS, and a line of standard input for each transform.
// SPDX-License-Identifier: BSD-3-Clause
#include <fftw3.h>

#include <complex>
#include <cstdlib>
#include <iostream>
#include <string>

#include "buffer.hpp"
#include "turns.hpp"

int main(int count, char** words) {
  if (count != 3) return 2;
  const int n = std::atoi(words[1]);
  const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  fftw_init_threads();
  fftw_plan_with_nthreads(std::atoi(words[2]));
  const fft2d::Buffer in = fft2d::make_buffer(elements), out = fft2d::make_buffer(elements);
  auto* const from = reinterpret_cast<fftw_complex*>(in.get());
  auto* const to = reinterpret_cast<fftw_complex*>(out.get());
  const fftw_plan plan = fftw_plan_dft_2d(n, n, from, to, FFTW_FORWARD, FFTW_MEASURE | FFTW_DESTROY_INPUT);
  corewise::bench::tell_ready();
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
    corewise::bench::fill(in.get(), 0, elements);
    const double begin = corewise::bench::now_ms();
    fftw_execute(plan);
    corewise::bench::tell(corewise::bench::now_ms() - begin);
  }
  fftw_destroy_plan(plan);
  return 0;
}
