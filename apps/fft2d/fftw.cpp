// The engine behind engine.hpp: FFTW.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#if defined(FFT2D_FFTW)

#include <fftw3.h>

#include <new>
#include <string>

namespace fft2d {

struct Engine::Plan {
  fftw_plan plan;
  ~Plan() { fftw_destroy_plan(plan); }
};

Engine::Engine(std::size_t length, bool inverse) {
  auto* const row = static_cast<fftw_complex*>(fftw_malloc(length * sizeof(fftw_complex)));
  if (row == nullptr) throw std::bad_alloc();
  plan_.reset(new Plan{
      fftw_plan_dft_1d(static_cast<int>(length), row, row, inverse ? FFTW_BACKWARD : FFTW_FORWARD, FFTW_MEASURE)});
  fftw_free(row);
}

Engine::~Engine() = default;

void Engine::run(Complex* rows, std::size_t count, std::size_t stride) const {
  for (std::size_t row = 0; row < count; ++row) {
    auto* const place = reinterpret_cast<fftw_complex*>(rows + row * stride);
    fftw_execute_dft(plan_->plan, place, place);
  }
}

std::string Engine::library() {
  return fftw_version;
}

}  // namespace fft2d

#endif
