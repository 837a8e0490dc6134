// Memory for matrices: on whole pages, large ones where the system gives them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>

#include <complex>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace fft2d {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

/// Elements that nobody has touched yet.
using Buffer = std::unique_ptr<std::complex<double>[], Freed>;

inline Buffer make_buffer(std::size_t elements) {
  constexpr std::size_t large_page = std::size_t{2} << 20;
  const std::size_t bytes = (elements * sizeof(std::complex<double>) / large_page + 1) * large_page;
  void* const memory = std::aligned_alloc(large_page, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without large pages all is as right, and slower
  return Buffer(static_cast<std::complex<double>*>(memory));
}

}  // namespace fft2d
