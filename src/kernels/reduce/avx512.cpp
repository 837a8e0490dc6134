// The reduction kernels of AVX-512 (F, BW, DQ, VL): vectors of 64 bytes.
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
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

#include "kernels/reduce/loops.hpp"

namespace corewise::kernels {

ReductionKernels reduction_avx512(Operator operation, Element element) {
  // GCC 12 fuses multiply and add in products of complex numbers with these vectors, whatever -ffp-contract says.
  const bool complex = element == Element::complex64 || element == Element::complex128;
  if (complex && operation == Operator::product) return {};
  return vector_kernels(operation, element);
}

}  // namespace corewise::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
