// Packing without any instruction set asked for: the plain loops, and on x86 the one instruction that copies a
// whole block, which every one of its processors has and some are quick at. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/loops/tiles.hpp"

namespace corewise::kernels {
namespace {

bool always() {
  return true;
}

#if defined(__x86_64__)
struct String : Told {
  COREWISE_INLINE static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  }
};

template <class Shape>
constexpr auto kRows = joined(kPlain<Shape>, std::array{row<Shape, String>("rep movsb", 129)});
#else
template <class Shape>
constexpr auto kRows = kPlain<Shape>;
#endif

constexpr auto kTiles = joined(joined(square_rows<4>(), square_rows<8>()), kPlainTiles);

}  // namespace

extern const KernelSet kPackGeneric = {"generic", always, kRows<Blocks>, kRows<Table>, kPlainRuns, plain_pairs,
                                       kTiles,    {},     nullptr};

}  // namespace corewise::kernels
