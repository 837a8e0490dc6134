// Levels: collectives of ranks on several nodes. Inside each node they are corewise's own, between nodes the MPI's
// among one leader of each. Barrier, broadcast, reduce and allreduce; the others are passed on.
//
// Such a communicator has two of the MPI's behind it: that of its ranks on this node, in their order, and that of
// the leaders, the first rank of each node. They end with it. (One whose ranks are all on one node has none.) A
// part that the table of a node leaves to the MPI is the MPI's on the node's communicator, whatever other nodes do.
//
// Inside one node groups of ranks are levels, too, where that is asked for. Their leaders' part is corewise's then,
// and what has no levels is done as without them.
//
// Contract: as in calls.hpp. An operator must be commutative: operands meet node by node.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "preload/accelerating/calls.hpp"
#include "preload/accelerating/communicators.hpp"

namespace corewise::preload::accelerating {

struct Levels {
  Levels() = default;
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;
  ~Levels();

  Communicator node;     ///< `handle` is the MPI's; no team where this rank is alone on its node
  Communicator leaders;  ///< rank i is the leader of node i; no handle on who leads no node; a team inside one node
  int own_node = 0;
  bool reduces = true;        ///< whether reductions go by the levels, too; else all ranks do them together
  std::vector<int> node_of;   ///< by rank
  std::vector<int> place_of;  ///< by rank: its rank in its node's communicator
};

/// Collective over the communicator, in one of its blocking collectives, after `set_up` found several nodes.
/// Fate::several_nodes with levels, or why there are none: the same on all ranks.
Fate set_up_levels(Communicator& on);

/// The same after `set_up` found one node: groups of so many successive ranks, and levels over levels where there
/// are several sizes (domains.hpp). Without levels where the MPI has no more communicators, or there is one group,
/// or each rank would be one.
void set_up_groups(Communicator& on, std::string_view sizes);

/// The same with the groups of ranks that are bound to one core complex, NUMA node or socket, or to one domain of
/// those that the knob tells. Without levels where ranks are not bound so. Barriers and broadcasts go by them;
/// reductions gain nothing (docs/accelerating/levels.md).
void set_up_domains(Communicator& on);

}  // namespace corewise::preload::accelerating
