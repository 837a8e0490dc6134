// The engine behind engine.hpp: FFTW.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#if defined(FFT2D_FFTW)

#include <fftw3.h>

#include <new>
#include <string>

namespace fft2d {

namespace {

fftw_complex* values_of(const Complex* place) {
  return reinterpret_cast<fftw_complex*>(const_cast<Complex*>(place));
}

}  // namespace

struct Engine::Plan {
  fftw_plan in_place = nullptr, elsewhere = nullptr;
  ~Plan() {
    fftw_destroy_plan(in_place);
    fftw_destroy_plan(elsewhere);
  }
};

Engine::Engine(std::size_t length, bool inverse) : plan_(new Plan) {
  auto* const row = static_cast<fftw_complex*>(fftw_malloc(length * sizeof(fftw_complex)));
  auto* const other = static_cast<fftw_complex*>(fftw_malloc(length * sizeof(fftw_complex)));
  if (row != nullptr && other != nullptr) {
    const int elements = static_cast<int>(length), sign = inverse ? FFTW_BACKWARD : FFTW_FORWARD;
    plan_->in_place = fftw_plan_dft_1d(elements, row, row, sign, FFTW_MEASURE);
    plan_->elsewhere = fftw_plan_dft_1d(elements, row, other, sign, FFTW_MEASURE | FFTW_PRESERVE_INPUT);
  }
  fftw_free(row);
  fftw_free(other);
  if (plan_->elsewhere == nullptr) throw std::bad_alloc();
}

Engine::~Engine() = default;

void Engine::run(const Complex* from, std::size_t from_stride, Complex* to, std::size_t to_stride,
                 std::size_t count) const {
  for (std::size_t row = 0; row < count; ++row)
    fftw_execute_dft(from == to ? plan_->in_place : plan_->elsewhere, values_of(from + row * from_stride),
                     values_of(to + row * to_stride));
}

std::string Engine::library() {
  return fftw_version;
}

}  // namespace fft2d

#endif
