// The copy kernels of NEON: pairs of vectors of 16 bytes.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/copy/kernels.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/copy/loops.hpp"

namespace corewise::kernels {
namespace {

struct Neon {
  using Register = uint8x16x2_t;
  static constexpr Size width = 32;
  [[gnu::always_inline]] static inline Register load(const Byte* p) { return {{vld1q_u8(p), vld1q_u8(p + 16)}}; }
  [[gnu::always_inline]] static inline void store(Byte* p, Register r) {
    vst1q_u8(p, r.val[0]);
    vst1q_u8(p + 16, r.val[1]);
  }
  [[gnu::always_inline]] static inline void stream(Byte* p, Register r) {
    asm volatile("stnp %q0, %q1, [%2]" : : "w"(r.val[0]), "w"(r.val[1]), "r"(p) : "memory");
  }
  [[gnu::always_inline]] static inline void use(Register r) { asm volatile("" : : "w"(r.val[0]), "w"(r.val[1])); }
  /// A store with the non-temporal hint is ordered by a release as any other.
  [[gnu::always_inline]] static inline void fence() {}
};

}  // namespace

COREWISE_COPY_KERNELS(neon, Neon)

}  // namespace corewise::kernels
#endif
