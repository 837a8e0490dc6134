// One-dimensional transforms of rows by a library that does nothing else: FFTW.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <string>

namespace fft2d {

using Complex = std::complex<double>;

/// A plan for rows of one length in one direction, without scaling. Several threads may run it at once on different
/// rows.
class Engine {
 public:
  Engine(std::size_t length, bool inverse);
  ~Engine();

  /// In place: `count` rows, `stride` elements from one to the next, each at an address of 16 bytes.
  void run(Complex* rows, std::size_t count, std::size_t stride) const;

  /// Name and version of the library.
  static std::string library();

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace fft2d
