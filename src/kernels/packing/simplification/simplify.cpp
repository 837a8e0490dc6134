// The driver: every pass over the whole tree, children first, round after round until none changes anything. A
// round is linear in nodes and entries. Every change leaves fewer of them, or moves an offset up, and what one pass
// makes possible another does in the same round or the next, so there are few rounds; a test counts them.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/simplification/simplify.hpp"

#include "kernels/packing/simplification/passes.hpp"

namespace corewise::kernels {
namespace {

struct Pass {
  std::string_view name;
  bool (*change)(Layout& node);
};

constexpr Pass kPasses[] = {
    {"prune", passes::prune},     {"unwrap", passes::unwrap}, {"hoist", passes::hoist},
    {"flatten", passes::flatten}, {"gather", passes::gather}, {"merge", passes::merge},
    {"fuse", passes::fuse},       {"share", passes::share},   {"period", passes::period},
};

bool apply(Layout& layout, bool (*change)(Layout& node)) {
  bool changed = false;
  for (Layout& child : layout.children) changed |= apply(child, change);
  return change(layout) || changed;
}

bool apply_all(Layout& layout, std::vector<Stage>* stages) {
  bool changed = false;
  for (const Pass& pass : kPasses) {
    if (apply(layout, pass.change)) {
      changed = true;
      if (stages != nullptr) {
        stages->push_back({pass.name, layout});
      }
    }
  }
  return changed;
}

}  // namespace

Layout simplify(Layout layout, std::vector<Stage>* stages) {
  while (apply_all(layout, stages)) {
  }
  return layout;
}

}  // namespace corewise::kernels
