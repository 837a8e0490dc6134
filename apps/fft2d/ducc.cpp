// The engine behind engine.hpp: DUCC, whose sources are compiled with the program, without threads of its own.
// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#if defined(FFT2D_DUCC)

#include <ducc0/fft/fft1d_impl.h>

#include <string>
#include <type_traits>
#include <vector>

namespace fft2d {
namespace {

using Element = ducc0::Cmplx<double>;
static_assert(sizeof(Element) == sizeof(Complex) && std::is_trivially_copyable_v<Element>);

/// What a transform works in, kept from row to row: a thread's own, since several run one plan at once.
Element* scratch(std::size_t elements) {
  thread_local ducc0::detail_aligned_array::aligned_array<Element> kept;
  if (kept.size() < elements) kept = ducc0::detail_aligned_array::aligned_array<Element>(elements);
  return kept.data();
}

}  // namespace

struct Engine::Plan {
  ducc0::detail_fft::pocketfft_c<double> plan;
  bool forward;
};

Engine::Engine(std::size_t length, bool inverse)
    : plan_(new Plan{ducc0::detail_fft::pocketfft_c<double>(length, true), !inverse}) {}

Engine::~Engine() = default;

void Engine::run(const Complex* from, std::size_t from_stride, Complex* to, std::size_t to_stride,
                 std::size_t count) const {
  Element* const buffer = scratch(plan_->plan.bufsize());
  for (std::size_t row = 0; row < count; ++row) {
    Complex* const values = to + row * to_stride;
    if (from != to) std::copy_n(from + row * from_stride, plan_->plan.length(), values);
    plan_->plan.exec_copyback(reinterpret_cast<Element*>(values), buffer, 1.0, plan_->forward);
  }
}

std::string Engine::library() {
  return "ducc0";
}

}  // namespace fft2d

#endif
