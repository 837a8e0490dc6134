// A compiled plan as text: what `corewise explain datatype` shows of it.
// SPDX-License-Identifier: BSD-3-Clause
#include <sstream>

#include "kernels/packing/plans/program.hpp"

namespace corewise::kernels {
namespace {

using Kind = Node::Kind;

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"run", "row of blocks", "table of runs", "repeat", "list", "sequence"};
  return kNames[static_cast<std::size_t>(kind)];
}

template <class Shape>
void put_names(std::ostringstream& out, const Kernels<Shape>& kernels) {
  if (kernels.pack != nullptr) out << " [pack: " << kernels.packing << "; unpack: " << kernels.unpacking << ']';
}

/// What one node's loop does, all lengths in bytes.
void put_loop(std::ostringstream& out, const Node& node) {
  if (node.kind == Kind::sequence) {
    out << node.members << " parts, " << node.size << " bytes";
    return;
  }
  if (node.kind != Kind::run) out << node.members << " x ";
  if (node.kind == Kind::table) out << node.places.size() << " runs, ";
  out << node.unit << " bytes";
  if (node.kind != Kind::run && node.kind != Kind::list) out << ", stride " << node.stride;
  if (node.window != nullptr)
    out << " [windows of " << node.window->vectors << " vectors for " << node.window->group << ']';
  put_names(out, node.tile_kernels);
  put_names(out, node.block_kernels);
  put_names(out, node.table_kernels);
}

void put(std::ostringstream& out, const Node& node, int depth) {
  out << std::string(static_cast<std::size_t>(2 * depth), ' ') << name_of(node.kind) << " at " << node.offset
      << ": ";
  put_loop(out, node);
  out << '\n';
  for (const Node& child : node.children) put(out, child, depth + 1);
}

}  // namespace

std::string to_text(const Node& node) {
  std::ostringstream out;
  put(out, node, 0);
  return out.str();
}

}  // namespace corewise::kernels
