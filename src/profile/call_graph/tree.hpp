// The tree under construction: nodes found by what they are below what parent, within limits. Knows no records;
// `call_graph.cpp` walks them. Internal to the room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/call_graph/call_graph.hpp"

namespace corewise::profile {

/// What a node is, apart from its parent. `what` is an address, a name's number or a procedure's number.
struct CallKey {
  CallKind kind = CallKind::root;
  std::int32_t source = 0;
  std::int32_t destination = 0;
  std::uint64_t what = 0;
  std::uint64_t bytes = 0;  ///< of one message
  friend bool operator==(const CallKey&, const CallKey&) = default;
};

struct TreeNode {
  CallKey key;
  int parent = -1;
  int children = 0;
  int newest = -1;  ///< the child that was asked for last
  int open = 0;     ///< activations under way
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t recursive = 0;
  double inclusive = 0;
  double exclusive = 0;
};

class CallTree {
 public:
  explicit CallTree(const CallGraphLimits& limits) : limits_(limits), nodes_(1) {}

  TreeNode& operator[](int node) { return nodes_[static_cast<std::size_t>(node)]; }
  const TreeNode& operator[](int node) const { return nodes_[static_cast<std::size_t>(node)]; }

  /// The child of `parent` that is `key`: there already, made, the same function further up (recursion), or the
  /// parent's child for what finds no room.
  int child(int parent, const CallKey& key);

  /// A new node `key` between `parent` and all its present children.
  int insert_above_children(int parent, const CallKey& key);

  /// Calls visit(node, depth-first parent's result) for every node but the root; the root's result is `root`.
  template <class Visit>
  void walk(int root, Visit visit) const;

  [[nodiscard]] std::uint64_t without_room() const { return without_room_; }
  [[nodiscard]] bool has_room() const { return nodes_.size() < static_cast<std::size_t>(limits_.nodes); }

 private:
  struct Edge {
    int parent;
    CallKey key;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct Hash {
    std::size_t operator()(const Edge& edge) const;
  };

  int find_or_make(int parent, const CallKey& key);
  int make(int parent, const CallKey& key);
  int folded(int parent, const CallKey& key) const;
  [[nodiscard]] bool has_room(int parent, const CallKey& key) const;

  CallGraphLimits limits_;
  std::vector<TreeNode> nodes_;
  std::unordered_map<Edge, int, Hash> edges_;  ///< folded recursion leads to a node further up
  std::uint64_t without_room_ = 0;
};

template <class Visit>
void CallTree::walk(int root, Visit visit) const {
  std::vector<std::vector<int>> children(nodes_.size());
  for (std::size_t node = 1; node < nodes_.size(); ++node)
    children[static_cast<std::size_t>(nodes_[node].parent)].push_back(static_cast<int>(node));
  std::vector<std::pair<int, int>> left;  // node, its parent's result
  const auto push = [&](int node, int result) {
    const std::vector<int>& below = children[static_cast<std::size_t>(node)];
    for (auto at = below.rbegin(); at != below.rend(); ++at) left.emplace_back(*at, result);
  };
  push(0, root);
  while (!left.empty()) {
    const auto [node, above] = left.back();
    left.pop_back();
    push(node, visit((*this)[node], above));
  }
}

}  // namespace corewise::profile
