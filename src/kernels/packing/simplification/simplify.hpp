// Simplification: small named passes that bring a layout to its canonical form. What is packed, and in which order,
// never changes: a test holds every pass against `for_each_run`.
//
// Canonical form: no node without data (a layout without any is an empty `run`); a node's offset is where its first
// byte of data is; a repeat or list has at least two members; runs that follow each other inside a node are one
// where they are contiguous; evenly spaced members are a repeat, not a list; runs at uneven distances are
// `runs`, not a list; nested sequences are one. It is no normal form of type maps: two types with the same one may
// keep different trees, and the last run of a repeat's member may continue in the first of the next.
//
// Cost: linear in nodes and entries. Contract: levels and values as layout.hpp and datatype.hpp say, so that
// nothing here overflows or runs out of stack. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "kernels/packing/layout/layout.hpp"

namespace corewise::kernels {

/// A layout after a pass that changed it.
struct Stage {
  std::string_view pass;
  Layout layout;
};

/// The canonical form. Where `stages` is given, every pass that changed something is appended to it.
Layout simplify(Layout layout, std::vector<Stage>* stages = nullptr);

}  // namespace corewise::kernels
