// Packing without any instruction set asked for: the plain loops, by the registers that every processor of the
// architecture has (16 bytes: SSE2, NEON). SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/loops/loops.hpp"

namespace corewise::kernels {
namespace {

bool always() {
  return true;
}

}  // namespace

extern const KernelSet kPackGeneric = {"generic", always, kPlain<Blocks>, kPlain<Table>, kRuns};

}  // namespace corewise::kernels
