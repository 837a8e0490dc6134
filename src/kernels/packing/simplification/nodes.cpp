// Passes on the shape of the tree: what carries no data, what has one member, where offsets are kept.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/packing/simplification/passes.hpp"

namespace corewise::kernels::passes {
namespace {

using Kind = Layout::Kind;

/// Makes a node an empty run; whether it was not one.
bool clear(Layout& node) {
  if (node == Layout{}) {
    return false;
  }
  node = Layout{};
  return true;
}

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
  return kept == 0 ? clear(node) : changed;
}

bool prune_sequence(Layout& node) {
  const std::size_t removed = std::erase_if(node.children, is_empty);
  return node.children.empty() ? clear(node) : removed > 0;
}

/// The node becomes its first child, moved by `offset`.
bool become_child(Layout& node, std::int64_t offset) {
  Layout child = std::move(node.children.front());
  child.offset += offset;
  node = std::move(child);
  return true;
}

bool unwrap_runs(Layout& node) {
  node = run_of(node.lengths.front(), node.offset + node.offsets.front());
  return true;
}

/// Offsets so that the first is 0; the node's own takes what they lose.
bool hoist_offsets(Layout& node) {
  const std::int64_t first = node.offsets.empty() ? 0 : node.offsets.front();
  for (std::int64_t& offset : node.offsets) {
    offset -= first;
  }
  node.offset += first;
  return first != 0;
}

bool hoist_sequence(Layout& node) {
  const std::int64_t first = node.children.empty() ? 0 : node.children.front().offset;
  for (Layout& child : node.children) {
    child.offset -= first;
  }
  node.offset += first;
  return first != 0;
}

bool hoist_child(Layout& node) {
  const std::int64_t first = std::exchange(node.children.front().offset, 0);
  node.offset += first;
  return first != 0;
}

std::size_t flat_members(const Layout& node) {
  std::size_t members = 0;
  for (const Layout& child : node.children) {
    members += child.kind == Kind::sequence ? child.children.size() : 1;
  }
  return members;
}

}  // namespace

bool prune(Layout& node) {
  switch (node.kind) {
    case Kind::run:
      return node.bytes == 0 && clear(node);
    case Kind::repeat:
      return (node.count == 0 || is_empty(node.children.front())) && clear(node);
    case Kind::list:
      return (node.offsets.empty() || is_empty(node.children.front())) && clear(node);
    case Kind::runs:
      return prune_runs(node);
    case Kind::sequence:
      break;
  }
  return prune_sequence(node);
}

bool unwrap(Layout& node) {
  switch (node.kind) {
    case Kind::run:
      return false;
    case Kind::repeat:
      return node.count == 1 && become_child(node, node.offset);
    case Kind::list:
      return node.offsets.size() == 1 && become_child(node, node.offset + node.offsets.front());
    case Kind::runs:
      return node.offsets.size() == 1 && unwrap_runs(node);
    case Kind::sequence:
      break;
  }
  return node.children.size() == 1 && become_child(node, node.offset);
}

bool hoist(Layout& node) {
  switch (node.kind) {
    case Kind::run:
      return false;
    case Kind::repeat:
      return hoist_child(node);
    case Kind::list: {
      const bool moved = hoist_child(node);
      return hoist_offsets(node) || moved;
    }
    case Kind::runs:
      return hoist_offsets(node);
    case Kind::sequence:
      break;
  }
  return hoist_sequence(node);
}

bool flatten(Layout& node) {
  const auto nested = [](const Layout& child) { return child.kind == Kind::sequence; };
  if (node.kind != Kind::sequence || std::none_of(node.children.begin(), node.children.end(), nested)) {
    return false;
  }
  std::vector<Layout> members;
  members.reserve(flat_members(node));
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
