// Packing without any instruction set asked for: the plain loops.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/pack_loops.hpp"

namespace corewise::kernels {
namespace {

bool always() {
  return true;
}

Kernels<Blocks> blocks(const Blocks& shape) {
  return plain_blocks(shape.block);
}

}  // namespace

extern const KernelSet kPackGeneric = {"generic", always, blocks, plain_table, plain_pairs, {}, nullptr};

}  // namespace corewise::kernels
