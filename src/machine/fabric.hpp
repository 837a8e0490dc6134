// The room's builders: a specification in, a fabric out. A fabric is a machine whose routes are still a rule
// (stop to stop) instead of a table; `finish` turns it into a checked Machine. Private to this room: readers
// (json, synthetic, host) fill specifications, builders (ring, mesh, tree, flat, composite) own the routing.
//
// Builders trust their specification: readers have verified counts, names and bandwidths, so that the error can
// name the field. What they get wrong all the same, `check` in `finish` catches.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace corewise::machine {

/// Every alternative between two stops of one fabric, equally long, never empty.
using Router = std::function<std::vector<Path>(StopId from, StopId to)>;

struct Fabric {
  std::string kind;
  std::vector<std::string> stops;
  std::vector<Unit> units;
  std::vector<Link> links;
  Router router;
  /// Of a tree: the stop above each, -1 for stop 0, the top. Stop s has link 2(s - 1) up and 2(s - 1) + 1 down.
  std::vector<StopId> above = {};
};

/// The route table of all pairs of units, and `check`. `source` opens the message when the machine is too big.
Result<Machine> finish(std::string name, std::string description, Fabric fabric, std::string_view source);

/// Who takes an exactly half-way transfer on a ring: both directions, or one.
enum class Ties { split, clockwise, counterclockwise };

/// What one directed link can do.
struct LinkSpeed {
  double bandwidth_gb_per_s = 0;
  double latency_ns = 0;
};

struct RingSpec {
  std::vector<std::string> stops;  ///< in clockwise order
  std::vector<Unit> units;
  LinkSpeed link;  ///< one hop, one direction, all parallel rings of that direction together
  int lanes = 1;   ///< how many rings those are
  Ties ties = Ties::split;
};
Fabric build_ring(RingSpec spec);

struct MeshSpec {
  std::vector<int> dims;
  std::vector<bool> torus;  ///< per dimension: does it close to a ring
  int units_per_tile = 1;
  std::string unit_name;
  LinkSpeed link;
  Ties ties = Ties::split;
};
Fabric build_mesh(const MeshSpec& spec);

/// One node of a tree: a stop with a shared link up to its parent and one down from it.
struct TreeNode {
  std::string name;
  int parent = -1;  ///< an earlier node, -1 for the top
  LinkSpeed up;
  LinkSpeed down;
};

struct TreeSpec {
  std::vector<TreeNode> nodes;
  std::vector<Unit> units;  ///< `stop` is an index into `nodes`
};
Fabric build_tree(TreeSpec spec);

/// One level of a tree whose units all lie equally deep.
struct TreeLevel {
  std::string name;
  int count = 1;  ///< per node of the level above
  LinkSpeed up;
  LinkSpeed down;
  std::vector<int> counts = {};           ///< instead of `count`: of each node of the level above
  std::vector<double> latencies_ns = {};  ///< instead of those of `up` and `down`: of each node of this level
};
/// The last level's nodes carry the units. A last level "core" numbers logical cores, as hwloc would.
TreeSpec tree_of_levels(const std::vector<TreeLevel>& levels);

struct FlatSpec {
  int count = 1;
  std::string unit_name;
  LinkSpeed port;
};
Fabric build_flat(const FlatSpec& spec);

struct Part {
  std::string name;
  Fabric fabric;
};

/// Joins two stops of different parts, one link each way.
struct Bridge {
  int parts[2] = {0, 0};
  StopId stops[2] = {0, 0};  ///< numbered within their part
  LinkSpeed link;
};

/// Every part must be reached from every other over the bridges (`unreached_part`).
Fabric build_composite(std::vector<Part> parts, const std::vector<Bridge>& bridges);
/// The first part that no bridges join to part 0, or -1.
int unreached_part(int parts, const std::vector<Bridge>& bridges);

// Shared by the builders.

/// Signed steps (+ clockwise) from one position to another on a line or a closed ring of `size`; two alternatives
/// for an exactly half-way pair whose tie is split.
std::vector<int> shortest_steps(int from, int to, int size, bool closed, Ties ties);
/// Every head followed by every tail.
std::vector<Path> join(const std::vector<Path>& heads, const std::vector<Path>& tails);
/// Climbs to the lowest common ancestor and descends; `above` as in Fabric.
Router tree_router(std::vector<StopId> above);
/// "core3", but "l3-1": a name that ends in a digit is kept apart from its number.
std::string numbered(std::string_view name, int index);

}  // namespace corewise::machine
