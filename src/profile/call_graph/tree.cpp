// Finding and making nodes; see tree.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/call_graph/tree.hpp"

namespace corewise::profile {
namespace {

constexpr std::uint64_t mix(std::uint64_t sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15ULL;
  return sum ^ sum >> 29;
}

}  // namespace

std::size_t CallTree::Hash::operator()(const Edge& edge) const {
  std::uint64_t sum = mix(static_cast<std::uint32_t>(edge.parent), edge.key.what);
  sum = mix(sum, static_cast<std::uint64_t>(edge.key.kind));
  sum = mix(sum, static_cast<std::uint32_t>(edge.key.source) |
                     std::uint64_t{static_cast<std::uint32_t>(edge.key.destination)} << 32);
  return static_cast<std::size_t>(mix(sum, edge.key.bytes));
}

int CallTree::child(int parent, const CallKey& key) {
  const int newest = (*this)[parent].newest;
  if (newest >= 0 && (*this)[newest].key == key && (*this)[newest].parent == parent) return newest;
  const int found = find_or_make(parent, key);
  (*this)[parent].newest = found;
  if ((*this)[found].key.kind == CallKind::other) ++without_room_;
  return found;
}

int CallTree::find_or_make(int parent, const CallKey& key) {
  if (const auto known = edges_.find({parent, key}); known != edges_.end()) return known->second;
  if (const int above = folded(parent, key); above >= 0) {
    edges_.emplace(Edge{parent, key}, above);
    return above;
  }
  if ((*this)[parent].key.kind == CallKind::other) return parent;
  if (has_room(parent, key)) return make(parent, key);
  const CallKey other{.kind = CallKind::other};
  const auto known = edges_.find({parent, other});
  return known != edges_.end() ? known->second : make(parent, other);
}

/// The innermost node of a function that is on the path for the allowed number of times, else -1.
int CallTree::folded(int parent, const CallKey& key) const {
  if (key.kind != CallKind::function && key.kind != CallKind::region) return -1;
  int innermost = -1;
  int times = 0;
  for (int node = parent; node > 0; node = (*this)[node].parent) {
    if ((*this)[node].key != key) continue;
    if (innermost < 0) innermost = node;
    ++times;
  }
  return times >= limits_.recursion ? innermost : -1;
}

bool CallTree::has_room(int parent, const CallKey& key) const {
  if (nodes_.size() >= static_cast<std::size_t>(limits_.nodes)) return false;
  return key.kind != CallKind::message || (*this)[parent].children < limits_.messages;
}

int CallTree::make(int parent, const CallKey& key) {
  const int node = static_cast<int>(nodes_.size());
  nodes_.push_back({.key = key, .parent = parent});
  ++(*this)[parent].children;
  edges_[{parent, key}] = node;
  return node;
}

int CallTree::insert_above_children(int parent, const CallKey& key) {
  const int node = static_cast<int>(nodes_.size());
  nodes_.push_back({.key = key, .parent = parent});
  for (int each = 1; each < node; ++each) {
    if ((*this)[each].parent != parent) continue;
    edges_.erase({parent, (*this)[each].key});
    (*this)[each].parent = node;
    edges_[{node, (*this)[each].key}] = each;
    ++(*this)[node].children;
  }
  (*this)[parent].children = 1;
  (*this)[parent].newest = -1;
  edges_[{parent, key}] = node;
  return node;
}

}  // namespace corewise::profile
