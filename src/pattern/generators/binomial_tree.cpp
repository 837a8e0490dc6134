// Binomial tree: broadcast from a root, reduction to it, or both in turn, one phase per step.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"root", ParameterKind::integer, "0", "the tree's root", {}, 0, most_sparse_ranks - 1},
    {"bytes", ParameterKind::bytes, "4096", "bytes per message (scatter and gather: per rank's block)"},
    {"direction", ParameterKind::choice, "from_root",
     "from the root (broadcast), to it (reduce), or to it and back", "from_root|to_root|both"},
    {"order", ParameterKind::choice, "halving", "whether the span halves (MPICH) or doubles (Open MPI) per step",
     "halving|doubling"},
    {"payload", ParameterKind::choice, "whole", "whole: every message alike; blocks: one per rank of the subtree",
     "whole|blocks"},
};

struct Tree {
  int ranks;
  int root;
  schedule::TreeOrder order;
  std::uint64_t bytes;
  bool blocks;
};

std::uint64_t message_bytes(const Tree& tree, int child) {
  if (!tree.blocks) return tree.bytes;
  return tree.bytes *
         static_cast<std::uint64_t>(schedule::binomial_tree_subtree(tree.ranks, tree.root, child, tree.order));
}

/// The steps from the root; reversed in order and direction for a reduction.
std::vector<Phase> steps(const Tree& tree, bool to_root) {
  std::vector<Phase> phases;
  for (int step = 0; step < schedule::binomial_tree_steps(tree.ranks); ++step) {
    Phase phase;
    for (int rank = 0; rank < tree.ranks; ++rank) {
      const int child = schedule::binomial_tree_peers(tree.ranks, tree.root, rank, step, tree.order).to;
      if (child == schedule::nobody) continue;
      const std::uint64_t bytes = message_bytes(tree, child);
      to_root ? add(phase, child, rank, bytes) : add(phase, rank, child, bytes);
    }
    phases.push_back(std::move(phase));
  }
  if (to_root) std::reverse(phases.begin(), phases.end());
  return phases;
}

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  if (values.integer("root") >= ranks) {
    return bad_field("pattern binomial_tree", "root", std::to_string(values.integer("root")),
                     "a rank from 0 to " + std::to_string(ranks - 1));
  }
  const Tree tree{ranks, values.integer("root"),
                  values.text("order") == "halving" ? schedule::TreeOrder::halving : schedule::TreeOrder::doubling,
                  values.bytes("bytes"), values.text("payload") == "blocks"};
  if (tree.blocks && tree.bytes > UINT64_MAX / static_cast<std::uint64_t>(ranks)) {
    return bad_field("pattern binomial_tree", "bytes", "a size that overflows", "bytes times ranks within 64 bits");
  }
  Pattern pattern{"binomial_tree", ranks, {}};
  const std::string& direction = values.text("direction");
  if (direction != "from_root") pattern.phases = steps(tree, true);
  if (direction != "to_root") {
    for (Phase& phase : steps(tree, false)) pattern.phases.push_back(std::move(phase));
  }
  for (std::size_t i = 0; i < pattern.phases.size(); ++i) {
    pattern.phases[i].name = numbered("step", static_cast<int>(i));
  }
  return pattern;
}

}  // namespace

Family binomial_tree() {
  return {"binomial_tree", "broadcast from a root or reduction to it along a binomial tree", parameters, build};
}

}  // namespace corewise::pattern::generators
