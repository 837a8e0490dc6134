// The instruction sets that have kernels of their own: private to the room. Contract: reduce.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/reduce/reduce.hpp"

namespace corewise::kernels {

#if defined(__x86_64__)
/// Null too where wide vectors gain nothing: then those of every processor serve.
ReductionKernels reduction_avx2(Operator operation, Element element);
ReductionKernels reduction_avx512(Operator operation, Element element);
#endif

}  // namespace corewise::kernels
