// The functions behind the table of transposes: private to the room. Contract: transpose.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/transpose/transpose.hpp"

namespace corewise::kernels {

void transpose_naive(const Transposition& matrix);
void transpose_blocked(const Transposition& matrix);
void transpose_blocked_read_allocate(const Transposition& matrix);

#if defined(__x86_64__)
void transpose_avx2(const Transposition& matrix);
void transpose_avx2_nt(const Transposition& matrix);
void transpose_avx512(const Transposition& matrix);
void transpose_avx512_nt(const Transposition& matrix);
#elif defined(__aarch64__)
void transpose_neon(const Transposition& matrix);
#endif

}  // namespace corewise::kernels
