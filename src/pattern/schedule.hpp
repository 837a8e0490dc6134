// Schedules: the peer arithmetic of collective algorithms. At step k of p ranks, whom does rank r send to, whom
// does it receive from, and which blocks travel. Shared by the pattern generators and by everything that runs the
// algorithms.
//
// Contract: pure functions, no state, no allocation except in the functions that return lists. Requires
// 1 <= ranks, 0 <= rank < ranks, 0 <= step < the algorithm's step count. `nobody` marks a step in which a rank does
// not send or does not receive; in the whole room no rank is ever its own peer. Every send has exactly one matching
// receive: if peers(p, r, k).to == t then peers(p, t, k).from == r.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace corewise::pattern::schedule {

inline constexpr int nobody = -1;

/// One step of one rank.
struct Peers {
  int to = nobody;
  int from = nobody;

  friend bool operator==(const Peers&, const Peers&) = default;
};

/// Smallest s with 2^s >= ranks; 0 for one rank.
int ceil_log2(int ranks);
/// Largest power of two that is at most `ranks`.
int floor_power_of_two(int ranks);

// Ring all-gather: p-1 steps, everything moves one rank on.
int ring_steps(int ranks);
Peers ring_peers(int ranks, int rank, int step);
/// The block sent at this step: the own one first, then what the step before brought.
int ring_block(int ranks, int rank, int step);

// Pairwise exchange (all-to-all): p-1 steps; partner r xor k for a power of two, else to r+k, from r-k. The block
// sent is the one meant for the peer.
int pairwise_exchange_steps(int ranks);
Peers pairwise_exchange_peers(int ranks, int rank, int step);

// Dissemination (barrier; Hensgen, Finkel, Manber 1988): ceil(log2 p) steps, to r+2^k, from r-2^k.
int dissemination_steps(int ranks);
Peers dissemination_peers(int ranks, int rank, int step);

// Bruck (Bruck, Ho, Kipnis, Upfal, Weathersby 1997): ceil(log2 p) steps.
int bruck_steps(int ranks);
/// All-gather: to r-2^k, from r+2^k.
Peers bruck_all_gather_peers(int ranks, int rank, int step);
/// Blocks sent at a step; they are the own rank's block and those of the next ones, in that order.
int bruck_all_gather_blocks(int ranks, int step);
/// All-to-all: to r+2^k, from r-2^k.
Peers bruck_all_to_all_peers(int ranks, int rank, int step);
/// Offsets whose blocks travel at a step: those in 1..p-1 with bit k set. After the opening rotation, offset i of
/// rank r holds the block for rank r+i.
std::vector<int> bruck_all_to_all_offsets(int ranks, int step);
/// The same without the list: how many, and number `index` of them.
int bruck_all_to_all_offset_count(int ranks, int step);
int bruck_all_to_all_offset(int step, int index);

// Recursive doubling (hypercube) with the usual fold for other sizes: of the first 2*(p - 2^s) ranks each even one
// hands its part to the next odd one before the exchanges and gets the result after them.
int recursive_doubling_steps(int ranks);
Peers recursive_doubling_peers(int ranks, int rank, int step);
/// True for the opening and the closing step of a size that is no power of two.
bool recursive_doubling_is_fold(int ranks, int step);
/// How many blocks those are: the length of recursive_doubling_blocks, without the list.
int recursive_doubling_block_count(int ranks, int rank, int step);
/// The first of them; they are those of consecutive ranks. 0 where nothing is sent.
int recursive_doubling_first_block(int ranks, int rank, int step);
/// The ranks whose blocks `rank` sends at this step of an all-gather, ascending; all of them in the closing step.
std::vector<int> recursive_doubling_blocks(int ranks, int rank, int step);

// Binomial tree from a root: ceil(log2 p) steps. Halving (MPICH's broadcast): the span between sender and receiver
// halves at every step and a subtree is contiguous. Doubling (Open MPI's): it doubles, starting at one.
enum class TreeOrder { halving, doubling };
int binomial_tree_steps(int ranks);
Peers binomial_tree_peers(int ranks, int root, int rank, int step, TreeOrder order);
/// Ranks in the subtree that the receiver of this step heads (itself included): the blocks a scatter sends it.
int binomial_tree_subtree(int ranks, int root, int receiver, TreeOrder order);

}  // namespace corewise::pattern::schedule
