// The reduction kernels of AVX2: vectors of 32 bytes.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/reduce/kernels.hpp"

#if defined(__x86_64__)
#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#include "kernels/reduce/loops.hpp"

namespace corewise::kernels {

ReductionKernels reduction_avx2(Operator operation, Element element) {
  return vector_kernels(operation, element);
}

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
