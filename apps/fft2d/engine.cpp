// The engines behind engine.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include <memory>
#include <string>

#if defined(FFT2D_DUCC)
#include "ducc0/fft/fft.h"

namespace fft2d {

/// DUCC keeps plans itself, by length.
struct Engine::Plan {
  std::size_t length;
  bool inverse;
};

Engine::Engine(std::size_t length, bool inverse) : plan_(new Plan{length, inverse}) {}

void Engine::run(Complex* rows, std::size_t count, std::size_t stride) const {
  const std::vector<std::size_t> shape = {count, plan_->length};
  const std::vector<std::ptrdiff_t> strides = {static_cast<std::ptrdiff_t>(stride), 1};
  const ducc0::cfmav<Complex> from(rows, shape, strides);
  const ducc0::vfmav<Complex> to(rows, shape, strides);
  ducc0::c2c(from, to, {1}, !plan_->inverse, 1.0, 1);
}

std::string Engine::library() {
  return "ducc";
}

}  // namespace fft2d
#else
#include <fftw3.h>

#include <cstring>
#include <mutex>

namespace fft2d {

struct Engine::Plan {
  fftw_plan plan;
  ~Plan() { fftw_destroy_plan(plan); }
};

Engine::Engine(std::size_t length, bool inverse) {
  auto* const row = static_cast<fftw_complex*>(fftw_malloc(length * sizeof(fftw_complex)));
  plan_.reset(new Plan{fftw_plan_dft_1d(static_cast<int>(length), row, row, inverse ? FFTW_BACKWARD : FFTW_FORWARD,
                                        FFTW_PATIENT)});
  fftw_free(row);
}

void Engine::run(Complex* rows, std::size_t count, std::size_t stride) const {
  for (std::size_t row = 0; row < count; ++row) {
    auto* const place = reinterpret_cast<fftw_complex*>(rows + row * stride);
    fftw_execute_dft(plan_->plan, place, place);
  }
}

std::string Engine::library() {
  const std::string version = fftw_version;
  return version.substr(0, version.find_first_of(" ", 0));
}

}  // namespace fft2d
#endif

namespace fft2d {
Engine::~Engine() = default;
}  // namespace fft2d
