// Trees, the shape of packages, chiplets and caches: every node shares one link up to its parent and one down from
// it; a route climbs to the lowest common ancestor and descends. Node i is stop i + 1, stop 0 is the top; its links
// are 2i (up) and 2i + 1 (down).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "machine/fabric.hpp"

namespace corewise::machine {
namespace {

LinkId up_link(StopId stop) {
  return 2 * (stop - 1);
}
LinkId down_link(StopId stop) {
  return 2 * (stop - 1) + 1;
}

/// Per stop: the one above it and how far below the top it lies.
struct Ancestry {
  std::vector<StopId> above;
  std::vector<int> depth;
};

Ancestry ancestry(std::vector<StopId> above) {
  std::vector<int> depth;
  for (const StopId stop : above) depth.push_back(stop < 0 ? 0 : depth[stop] + 1);
  return {std::move(above), std::move(depth)};
}

Path climb_and_descend(const Ancestry& tree, StopId from, StopId to) {
  Path up;
  Path down;
  while (from != to) {
    if (tree.depth[from] >= tree.depth[to]) {
      up.push_back(up_link(from));
      from = tree.above[from];
    } else {
      down.push_back(down_link(to));
      to = tree.above[to];
    }
  }
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

void add_node(const TreeNode& node, Fabric& fabric) {
  const auto stop = static_cast<StopId>(fabric.stops.size());
  const StopId parent = node.parent + 1;
  fabric.stops.push_back(node.name);
  fabric.above.push_back(parent);
  fabric.links.push_back({node.name + ":up", stop, parent, node.up.bandwidth_gb_per_s, node.up.latency_ns});
  fabric.links.push_back({node.name + ":down", parent, stop, node.down.bandwidth_gb_per_s, node.down.latency_ns});
}

}  // namespace

Router tree_router(std::vector<StopId> above) {
  return [tree = ancestry(std::move(above))](StopId from, StopId to) {
    return std::vector<Path>{climb_and_descend(tree, from, to)};
  };
}

Fabric build_tree(TreeSpec spec) {
  Fabric fabric;
  fabric.kind = "tree";
  fabric.stops = {"node"};
  fabric.above = {-1};
  for (const TreeNode& node : spec.nodes) add_node(node, fabric);
  for (Unit& unit : spec.units) unit.stop += 1;
  fabric.units = std::move(spec.units);
  fabric.router = tree_router(fabric.above);
  return fabric;
}

namespace {

/// Enclosing nodes of a node, outermost first, itself left out.
std::vector<std::string> enclosing(const std::vector<TreeNode>& nodes, int node) {
  std::vector<std::string> names;
  for (int at = nodes[node].parent; at >= 0; at = nodes[at].parent) names.push_back(nodes[at].name);
  std::reverse(names.begin(), names.end());
  return names;
}

TreeNode node_of(const TreeLevel& level, std::size_t number, int parent) {
  TreeNode node{numbered(level.name, static_cast<int>(number)), parent, level.up, level.down};
  if (!level.latencies_ns.empty()) node.up.latency_ns = node.down.latency_ns = level.latencies_ns[number];
  return node;
}

}  // namespace

TreeSpec tree_of_levels(const std::vector<TreeLevel>& levels) {
  TreeSpec spec;
  std::vector<int> above{-1};
  for (const TreeLevel& level : levels) {
    std::vector<int> here;
    for (std::size_t parent = 0; parent < above.size(); ++parent) {
      const int count = level.counts.empty() ? level.count : level.counts[parent];
      for (int k = 0; k < count; ++k) {
        const std::size_t number = here.size();
        here.push_back(static_cast<int>(spec.nodes.size()));
        spec.nodes.push_back(node_of(level, number, above[parent]));
      }
    }
    above = std::move(here);
  }
  for (std::size_t leaf = 0; leaf < above.size(); ++leaf) {
    Unit unit;
    unit.name = spec.nodes[above[leaf]].name;
    unit.stop = above[leaf];
    unit.logical_core = levels.back().name == "core" ? static_cast<int>(leaf) : -1;
    unit.domains = enclosing(spec.nodes, above[leaf]);
    spec.units.push_back(std::move(unit));
  }
  return spec;
}

}  // namespace corewise::machine
