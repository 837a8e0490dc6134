// Complete tree of a given arity: ranks are numbered level by level from the root, wrapping around. One phase per
// direction: children of a level differ in when they are served, which a complete tree does not prescribe.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"arity", ParameterKind::integer, "2", "children of a rank", {}, 1, most_sparse_ranks},
    {"root", ParameterKind::integer, "0", "the tree's root", {}, 0, most_sparse_ranks - 1},
    {"direction", ParameterKind::choice, "from_root",
     "from the root (broadcast), to it (reduce), or to it and back", "from_root|to_root|both"},
    {"bytes", ParameterKind::bytes, "4096", "bytes per message"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  const int root = values.integer("root");
  if (root >= ranks) {
    return bad_field("pattern k_ary_tree", "root", std::to_string(root),
                     "a rank from 0 to " + std::to_string(ranks - 1));
  }
  Phase up{"to the root", {}};
  Phase down{"from the root", {}};
  for (int place = 1; place < ranks; ++place) {
    const int child = (place + root) % ranks;
    const int parent = ((place - 1) / values.integer("arity") + root) % ranks;
    add(up, child, parent, values.bytes("bytes"));
    add(down, parent, child, values.bytes("bytes"));
  }
  Pattern pattern{"k_ary_tree", ranks, {}};
  if (values.text("direction") != "from_root") pattern.phases.push_back(std::move(up));
  if (values.text("direction") != "to_root") pattern.phases.push_back(std::move(down));
  return pattern;
}

}  // namespace

Family k_ary_tree() {
  return {"k_ary_tree", "broadcast or reduction along a complete tree", parameters, build};
}

}  // namespace corewise::pattern::generators
