// One-dimensional transforms of rows by a library that does nothing else: FFTW, or DUCC where FFTW is absent.
// The compiler's command decides by FFT2D_FFTW or FFT2D_DUCC; without either, the library whose header is found,
// FFTW before DUCC. fftw.cpp and ducc.cpp are the two engines; the one that is not wanted is empty.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <string>

#if !defined(FFT2D_FFTW) && !defined(FFT2D_DUCC)
#if __has_include(<fftw3.h>)
#define FFT2D_FFTW
#elif __has_include("ducc0/fft/fft.h")
#define FFT2D_DUCC
#else
#error "found neither fftw3.h nor ducc0/fft/fft.h, needed: FFTW, or the sources of DUCC in the include path"
#endif
#endif

namespace fft2d {

using Complex = std::complex<double>;

/// A plan for rows of one length in one direction, without scaling. Several threads may run it at once on different
/// rows.
class Engine {
 public:
  Engine(std::size_t length, bool inverse);
  ~Engine();

  /// In place: `count` rows, `stride` elements from one to the next, each at an address of 16 bytes.
  void run(Complex* rows, std::size_t count, std::size_t stride) const { run(rows, stride, rows, stride, count); }

  /// From one place to another, or in place where both are the same. `from` keeps its content.
  void run(const Complex* from, std::size_t from_stride, Complex* to, std::size_t to_stride,
           std::size_t count) const;

  /// Name and version of the library.
  static std::string library();

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace fft2d
