// The transpose of 64-bit Arm: an element is a register, so a tile is 16 loads and 16 stores.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/transpose/kernels.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/transpose/loops.hpp"

namespace corewise::kernels {
namespace {

struct Neon {
  template <bool streams>
  [[gnu::always_inline]] static inline void move(Complex* to, std::size_t to_stride, const Complex* from,
                                                 std::size_t from_stride) {
    static_assert(!streams, "a store past the caches is only a hint on Arm");
    for (std::size_t c = 0; c < tile; ++c)
      for (std::size_t r = 0; r < tile; ++r)
        vst1q_f64(reinterpret_cast<double*>(to + c * to_stride + r),
                  vld1q_f64(reinterpret_cast<const double*>(from + r * from_stride + c)));
  }
};

}  // namespace

void transpose_neon(const Transposition& m) {
  transpose_tiles<Neon, false>(m);
}

}  // namespace corewise::kernels
#endif
