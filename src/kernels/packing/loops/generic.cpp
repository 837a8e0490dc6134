// Packing without any instruction set asked for: the plain loops. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/loops/tiles.hpp"

namespace corewise::kernels {
namespace {

bool always() {
  return true;
}

}  // namespace

extern const KernelSet kPackGeneric = {"generic", always, kPlain<Blocks>, kPlain<Table>, kRuns, plain_pairs, kTiles,
                                       kLowTiles, {},     nullptr};

}  // namespace corewise::kernels
