// Peer arithmetic of the collective algorithms; see the header for the contract each keeps.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/schedule.hpp"

#include <algorithm>
#include <bit>

namespace corewise::pattern::schedule {
namespace {

int modulo(int value, int ranks) {
  const int rest = value % ranks;
  return rest < 0 ? rest + ranks : rest;
}

bool is_power_of_two(int ranks) {
  return std::has_single_bit(static_cast<unsigned>(ranks));
}

int highest_bit(int value) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(value)));
}

int lowest_bit(int value) {
  return value & -value;
}

/// Ranks beyond the largest power of two.
int folded_pairs(int ranks) {
  return ranks - floor_power_of_two(ranks);
}

/// Number in the hypercube, nobody for a rank that has folded itself away.
int cube_number(int ranks, int rank) {
  const int pairs = folded_pairs(ranks);
  if (rank >= 2 * pairs) return rank - pairs;
  return rank % 2 == 1 ? rank / 2 : nobody;
}

int rank_of_cube_number(int ranks, int number) {
  const int pairs = folded_pairs(ranks);
  return number < pairs ? 2 * number + 1 : number + pairs;
}

/// The step's exchange as (smaller even rank -> odd rank) for the opening fold, reversed for the closing one.
Peers fold_peers(int ranks, int rank, bool opening) {
  if (rank >= 2 * folded_pairs(ranks)) return {};
  const bool sends = (rank % 2 == 0) == opening;
  const int partner = rank ^ 1;
  return sends ? Peers{partner, nobody} : Peers{nobody, partner};
}

/// Parent of a relative rank (not the root's 0) in the tree.
int tree_parent(int relative, TreeOrder order) {
  return relative - (order == TreeOrder::halving ? lowest_bit(relative) : highest_bit(relative));
}

}  // namespace

int ceil_log2(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks - 1));
}

int floor_power_of_two(int ranks) {
  return highest_bit(ranks);
}

int ring_steps(int ranks) {
  return ranks - 1;
}

Peers ring_peers(int ranks, int rank, int /*step*/) {
  return {modulo(rank + 1, ranks), modulo(rank - 1, ranks)};
}

int ring_block(int ranks, int rank, int step) {
  return modulo(rank - step, ranks);
}

int pairwise_exchange_steps(int ranks) {
  return ranks - 1;
}

Peers pairwise_exchange_peers(int ranks, int rank, int step) {
  const int distance = step + 1;
  if (is_power_of_two(ranks)) return {rank ^ distance, rank ^ distance};
  return {modulo(rank + distance, ranks), modulo(rank - distance, ranks)};
}

int dissemination_steps(int ranks) {
  return ceil_log2(ranks);
}

Peers dissemination_peers(int ranks, int rank, int step) {
  const int distance = 1 << step;
  return {modulo(rank + distance, ranks), modulo(rank - distance, ranks)};
}

int bruck_steps(int ranks) {
  return ceil_log2(ranks);
}

Peers bruck_all_gather_peers(int ranks, int rank, int step) {
  const Peers forward = dissemination_peers(ranks, rank, step);
  return {forward.from, forward.to};
}

int bruck_all_gather_blocks(int ranks, int step) {
  const int held = 1 << step;
  return std::min(held, ranks - held);
}

Peers bruck_all_to_all_peers(int ranks, int rank, int step) {
  return dissemination_peers(ranks, rank, step);
}

std::vector<int> bruck_all_to_all_offsets(int ranks, int step) {
  std::vector<int> offsets;
  for (int offset = 1; offset < ranks; ++offset) {
    if (((offset >> step) & 1) != 0) offsets.push_back(offset);
  }
  return offsets;
}

int bruck_all_to_all_offset_count(int ranks, int step) {
  const int bit = 1 << step;
  return ranks / (2 * bit) * bit + std::max(0, ranks % (2 * bit) - bit);
}

int bruck_all_to_all_offset(int step, int index) {
  const int bit = 1 << step;
  return index / bit * 2 * bit + bit + index % bit;
}

int recursive_doubling_steps(int ranks) {
  const int exchanges = ceil_log2(floor_power_of_two(ranks));
  return folded_pairs(ranks) > 0 ? exchanges + 2 : exchanges;
}

bool recursive_doubling_is_fold(int ranks, int step) {
  return folded_pairs(ranks) > 0 && (step == 0 || step == recursive_doubling_steps(ranks) - 1);
}

Peers recursive_doubling_peers(int ranks, int rank, int step) {
  if (recursive_doubling_is_fold(ranks, step)) return fold_peers(ranks, rank, step == 0);
  const int number = cube_number(ranks, rank);
  if (number == nobody) return {};
  const int dimension = folded_pairs(ranks) > 0 ? step - 1 : step;
  const int partner = rank_of_cube_number(ranks, number ^ (1 << dimension));
  return {partner, partner};
}

std::vector<int> recursive_doubling_blocks(int ranks, int rank, int step) {
  std::vector<int> blocks;
  if (recursive_doubling_peers(ranks, rank, step).to == nobody) return blocks;
  const int pairs = folded_pairs(ranks);
  const bool fold = recursive_doubling_is_fold(ranks, step);
  if (fold && step == 0) return {rank};
  const int dimension = pairs > 0 ? step - 1 : step;
  for (int other = 0; other < ranks; ++other) {
    // A folded rank's block travels with the odd rank that took it over.
    const int carrier = cube_number(ranks, other) == nobody ? other + 1 : other;
    const bool together = cube_number(ranks, carrier) >> dimension == cube_number(ranks, rank) >> dimension;
    if (fold || together) blocks.push_back(other);
  }
  return blocks;
}

int recursive_doubling_block_count(int ranks, int rank, int step) {
  if (recursive_doubling_peers(ranks, rank, step).to == nobody) return 0;
  const int pairs = folded_pairs(ranks);
  if (recursive_doubling_is_fold(ranks, step)) return step == 0 ? 1 : ranks;
  const int dimension = pairs > 0 ? step - 1 : step;
  const int size = 1 << dimension;
  const int first = cube_number(ranks, rank) & ~(size - 1);
  // The lowest `pairs` cube numbers carry two blocks each.
  return size + std::clamp(pairs - first, 0, size);
}

int recursive_doubling_first_block(int ranks, int rank, int step) {
  if (recursive_doubling_peers(ranks, rank, step).to == nobody) return 0;
  const int pairs = folded_pairs(ranks);
  if (recursive_doubling_is_fold(ranks, step)) return step == 0 ? rank : 0;
  const int dimension = pairs > 0 ? step - 1 : step;
  const int first = cube_number(ranks, rank) & ~((1 << dimension) - 1);
  // A cube number that carries two blocks is the odd rank of its pair.
  return first < pairs ? 2 * first : first + pairs;
}

int binomial_tree_steps(int ranks) {
  return ceil_log2(ranks);
}

Peers binomial_tree_peers(int ranks, int root, int rank, int step, TreeOrder order) {
  const bool halving = order == TreeOrder::halving;
  const int span = 1 << (halving ? binomial_tree_steps(ranks) - 1 - step : step);
  const int relative = modulo(rank - root, ranks);
  const int child = relative + span;
  const bool has_child = child < ranks && tree_parent(child, order) == relative;
  const bool has_parent = relative > 0 && relative - tree_parent(relative, order) == span;
  return {has_child ? modulo(child + root, ranks) : nobody,
          has_parent ? modulo(relative - span + root, ranks) : nobody};
}

int binomial_tree_subtree(int ranks, int root, int receiver, TreeOrder order) {
  const int relative = modulo(receiver - root, ranks);
  if (relative == 0) return ranks;
  if (order == TreeOrder::halving) return std::min(lowest_bit(relative), ranks - relative);
  // Descendants add higher bits only: relative, plus every multiple of the next power of two above it.
  const int stride = 2 * highest_bit(relative);
  return (ranks - 1 - relative) / stride + 1;
}

}  // namespace corewise::pattern::schedule
