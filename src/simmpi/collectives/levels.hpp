// Levels: a communicator's ranks in groups, those that share a part of the machine (a blade), and the collectives
// that go inside each group by room coll's algorithms on local stores, between the groups by messages among one
// leader each, and inside again (paper 001, sections 3 and 8).
//
// The setting `collective_level` says which parts: 0 none, n the machine's n-th level, counted from the outermost.
//
// Contract. All members decide alike by what is equal on all of them. The algorithms without levels are taken in
// the background, where every group has one rank or a group has more than coll::kMostRanks, for a datatype with
// gaps in a reduction, and for an operator that does not commute where groups are not consecutive ranks; with
// groups that are its operands meet in the order of ranks. Members of a group whose bytes differ end the run.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "simmpi/collectives/collectives.hpp"

namespace corewise::simmpi {

class Levels;

/// Null where the call goes without levels; for what moves data and for a barrier.
Levels* levels_for(const Context& call);
/// The same for a reduction.
Levels* levels_for(const Context& call, const Reduction& how);

void barrier_by(Levels& levels, Context& call);
void broadcast_by(Levels& levels, Context& call, const Data& data, int root);
void reduce_by(Levels& levels, Context& call, const Reduction& how, const void* in, void* out, int root);
void all_reduce_by(Levels& levels, Context& call, const Reduction& how, const void* in, void* out);

}  // namespace corewise::simmpi
