// The passes of the simplifier: each changes one node, whose descendants it has already changed, and says whether
// it did. Private to the room; what they have in common is in simplify.hpp. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/packing/layout/layout.hpp"

namespace corewise::kernels::passes {

/// A layout without data, as the canonical form has it.
inline bool is_empty(const Layout& layout) {
  return layout.kind == Layout::Kind::run && layout.bytes == 0;
}

// Nodes (nodes.cpp)
/// Removes members without data.
bool prune(Layout& node);
/// A repeat, list, `runs` or sequence of one member becomes the member.
bool unwrap(Layout& node);
/// Moves offsets up, until a node's offset is where its first byte of data is.
bool hoist(Layout& node);
/// The members of a sequence in a sequence are the outer one's.
bool flatten(Layout& node);

// Runs (runs.cpp)
/// Neighbours in a sequence that are contiguous runs become one `runs`.
bool gather(Layout& node);
/// Runs that continue each other become one, and a list over a run `runs`.
bool merge(Layout& node);
/// A repeat of a repeat that the next one continues becomes one repeat.
bool fuse(Layout& node);

// Regularity (period.cpp)
/// Members of a sequence that differ in their offsets alone become a list.
bool share(Layout& node);
/// A list or `runs` that is a shorter one several times, evenly spaced, becomes a repeat of that one.
bool period(Layout& node);

}  // namespace corewise::kernels::passes
