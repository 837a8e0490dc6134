// Passes on contiguous bytes: which runs are one, and which lists are lists of runs.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/packing/simplification/passes.hpp"

namespace corewise::kernels::passes {
namespace {

using Kind = Layout::Kind;

bool is_runs(const Layout& layout) {
  return layout.kind == Kind::run || layout.kind == Kind::runs;
}

bool over_run(const Layout& layout) {
  return (layout.kind == Kind::list || layout.kind == Kind::repeat) && layout.children.front().kind == Kind::run;
}

/// Appends the runs of a child of a sequence.
void append(Layout& runs, const Layout& child) {
  if (child.kind == Kind::run) {
    runs.offsets.push_back(child.offset);
    runs.lengths.push_back(child.bytes);
    return;
  }
  for (const std::int64_t offset : child.offsets) runs.offsets.push_back(child.offset + offset);
  runs.lengths.insert(runs.lengths.end(), child.lengths.begin(), child.lengths.end());
}

/// Runs without those that continue the one before; whether there were any.
bool merge_runs(Layout& node) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < node.offsets.size(); ++i) {
    if (node.offsets[last] + node.lengths[last] == node.offsets[i]) {
      node.lengths[last] += node.lengths[i];
    } else {
      ++last;
      node.offsets[last] = node.offsets[i];
      node.lengths[last] = node.lengths[i];
    }
  }
  const bool merged = last + 1 < node.offsets.size();
  if (merged) {
    node.offsets.resize(last + 1);
    node.lengths.resize(last + 1);
  }
  return merged;
}

/// A list over a run is `runs`.
bool merge_list(Layout& node) {
  const Layout run = std::move(node.children.front());
  node.kind = Kind::runs;
  node.offset += run.offset;
  node.lengths.assign(node.offsets.size(), run.bytes);
  node.children.clear();
  merge_runs(node);
  return true;
}

bool merge_repeat(Layout& node) {
  const Layout& run = node.children.front();
  if (node.stride != run.bytes) return false;
  node = run_of(node.count * run.bytes, node.offset + run.offset);
  return true;
}

}  // namespace

bool gather(Layout& node) {
  const auto both = [](const Layout& one, const Layout& next) { return is_runs(one) && is_runs(next); };
  if (node.kind != Kind::sequence ||
      std::adjacent_find(node.children.begin(), node.children.end(), both) == node.children.end()) {
    return false;
  }
  std::vector<Layout> members;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Layout& child = node.children[i];
    if (i == 0 || !both(node.children[i - 1], child)) {
      members.push_back(std::move(child));
      continue;
    }
    Layout& runs = members.back();
    if (runs.kind == Kind::run || runs.offset != 0) {
      const Layout first = std::exchange(runs, Layout{});
      runs.kind = Kind::runs;
      append(runs, first);
    }
    append(runs, child);
  }
  node.children = std::move(members);
  return true;
}

bool merge(Layout& node) {
  if (node.kind == Kind::runs) return merge_runs(node);
  if (!over_run(node)) return false;
  return node.kind == Kind::list ? merge_list(node) : merge_repeat(node);
}

bool fuse(Layout& node) {
  if (node.kind != Kind::repeat || node.children.front().kind != Kind::repeat) return false;
  Layout& inner = node.children.front();
  if (node.stride != inner.count * inner.stride) return false;
  inner.count *= node.count;
  inner.offset += node.offset;
  Layout fused = std::move(inner);
  node = std::move(fused);
  return true;
}

}  // namespace corewise::kernels::passes
