// Passes on the shape of the tree: what carries no data, what has one member, where offsets are kept.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/packing/simplification/passes.hpp"

namespace corewise::kernels::passes {
namespace {

using Kind = Layout::Kind;

bool prune_runs(Layout& node) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < node.lengths.size(); ++i) {
    if (node.lengths[i] > 0) {
      node.offsets[kept] = node.offsets[i];
      node.lengths[kept] = node.lengths[i];
      ++kept;
    }
  }
  const bool changed = kept < node.lengths.size();
  node.offsets.resize(kept);
  node.lengths.resize(kept);
  return changed;
}

/// Members of a node that is no run.
std::int64_t members_of(const Layout& node) {
  if (node.kind == Kind::repeat) return node.count;
  return static_cast<std::int64_t>(node.kind == Kind::sequence ? node.children.size() : node.offsets.size());
}

/// Whether a node has no members, or members without data.
bool has_no_data(const Layout& node) {
  if (node.kind == Kind::run) return node.bytes == 0;
  const bool of_one = node.kind == Kind::repeat || node.kind == Kind::list;
  return members_of(node) == 0 || (of_one && is_empty(node.children.front()));
}

}  // namespace

bool prune(Layout& node) {
  bool changed = node.kind == Kind::runs && prune_runs(node);
  if (node.kind == Kind::sequence) changed = std::erase_if(node.children, is_empty) > 0;
  if (has_no_data(node) && node != Layout{}) {
    node = Layout{};
    changed = true;
  }
  return changed;
}

bool unwrap(Layout& node) {
  if (node.kind == Kind::run || members_of(node) != 1) return false;
  Layout member = node.kind == Kind::runs ? run_of(node.lengths.front()) : std::move(node.children.front());
  member.offset += node.offset + (node.offsets.empty() ? 0 : node.offsets.front());
  node = std::move(member);
  return true;
}

bool hoist(Layout& node) {
  bool changed = false;
  const auto take = [&](std::int64_t offset) {
    node.offset += offset;
    changed |= offset != 0;
    return offset;
  };
  if (node.kind == Kind::repeat || node.kind == Kind::list) take(std::exchange(node.children.front().offset, 0));
  if (!node.offsets.empty()) {
    const std::int64_t first = take(node.offsets.front());
    for (std::int64_t& offset : node.offsets) offset -= first;
  }
  if (node.kind == Kind::sequence && !node.children.empty()) {
    const std::int64_t first = take(node.children.front().offset);
    for (Layout& child : node.children) child.offset -= first;
  }
  return changed;
}

bool flatten(Layout& node) {
  const auto nested = [](const Layout& child) { return child.kind == Kind::sequence; };
  if (node.kind != Kind::sequence || std::none_of(node.children.begin(), node.children.end(), nested)) return false;
  std::vector<Layout> members;
  for (Layout& child : node.children) {
    if (!nested(child)) {
      members.push_back(std::move(child));
      continue;
    }
    for (Layout& member : child.children) {
      members.push_back(std::move(member));
      members.back().offset += child.offset;
    }
  }
  node.children = std::move(members);
  return true;
}

}  // namespace corewise::kernels::passes
