// Simplification: small named passes that bring a layout to its canonical form. What is packed, and in which order,
// never changes: a test holds every pass against `for_each_run`.
//
// Canonical form: no node without data (a layout without any is an empty `run`); a repeat or list has at least two
// members; what is contiguous is one run; evenly spaced members are a repeat, not a list; equal runs at uneven
// distances are a list over one run, unequal ones are `runs`; nested sequences are one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "kernels/layout.hpp"

namespace corewise::kernels {

/// A layout after a pass that changed it.
struct Stage {
  std::string_view pass;
  Layout layout;
};

/// The canonical form. Where `stages` is given, every pass that changed something is appended to it.
Layout simplify(Layout layout, std::vector<Stage>* stages = nullptr);

}  // namespace corewise::kernels
