// The functions behind the table of copy kernels: private to the room. Contract: copy.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace corewise::kernels {

void* copy_naive(void* to, const void* from, std::size_t bytes);
void* copy_read_allocate(void* to, const void* from, std::size_t bytes);
void* copy_four_stream(void* to, const void* from, std::size_t bytes);

#define COREWISE_DECLARE_COPY_KERNELS(name)                                       \
  void* copy_##name(void* to, const void* from, std::size_t bytes);               \
  void* copy_##name##_prefetch(void* to, const void* from, std::size_t bytes);    \
  void* copy_##name##_backward(void* to, const void* from, std::size_t bytes);    \
  void* copy_##name##_nt(void* to, const void* from, std::size_t bytes);          \
  void* copy_##name##_nt_prefetch(void* to, const void* from, std::size_t bytes); \
  void* copy_##name##_nt_pages4(void* to, const void* from, std::size_t bytes);   \
  void* copy_##name##_nt_pages16(void* to, const void* from, std::size_t bytes);  \
  void* bound_##name##_read(void* to, const void* from, std::size_t bytes);       \
  void* bound_##name##_write(void* to, const void* from, std::size_t bytes);      \
  void* bound_##name##_write_nt(void* to, const void* from, std::size_t bytes);

#if defined(__x86_64__)
void* copy_rep_movsb(void* to, const void* from, std::size_t bytes);
COREWISE_DECLARE_COPY_KERNELS(avx2)
COREWISE_DECLARE_COPY_KERNELS(avx512)
#elif defined(__aarch64__)
COREWISE_DECLARE_COPY_KERNELS(neon)
#endif
#undef COREWISE_DECLARE_COPY_KERNELS

}  // namespace corewise::kernels
