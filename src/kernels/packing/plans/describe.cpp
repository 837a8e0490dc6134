// A compiled plan as text: what `corewise explain datatype` shows of it.
// SPDX-License-Identifier: BSD-3-Clause
#include <sstream>

#include "kernels/packing/plans/program.hpp"

namespace corewise::kernels {
namespace {

using Kind = Node::Kind;

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::run:
      return "run";
    case Kind::row:
      return "row of blocks";
    case Kind::rows:
      return "rows of blocks";
    case Kind::table:
      return "table of runs";
    case Kind::repeat:
      return "repeat";
    case Kind::list:
      return "list";
    case Kind::sequence:
      break;
  }
  return "sequence";
}

template <class Shape>
std::string names_of(const Kernels<Shape>& kernels) {
  return " [pack: " + std::string(kernels.packing) + "; unpack: " + std::string(kernels.unpacking) + ']';
}

/// What one node's loop does, all lengths in bytes.
std::string loop_of(const Node& node) {
  std::ostringstream out;
  if (node.window != nullptr) {
    out << (node.window_kernels.pack == nullptr     ? "[unpack: windows of "
            : node.window_kernels.unpack == nullptr ? "[pack: windows of "
                                                    : "[windows of ")
        << node.window->vectors << " vectors for " << node.window->group
        << (node.kind == Kind::row || (node.kind == Kind::rows && !node.window_of_rows) ? " blocks] "
                                                                                        : " members] ");
  }
  switch (node.kind) {
    case Kind::run:
      out << node.unit << " bytes";
      break;
    case Kind::row:
      out << node.members << " x " << node.unit << " bytes, stride " << node.stride << names_of(node.block_kernels);
      break;
    case Kind::rows:
      out << node.members << " x " << node.blocks.count << " x " << node.blocks.block << " bytes, strides "
          << node.stride << ", " << node.blocks.stride
          << names_of(node.tiled ? node.tile_kernels : node.block_kernels);
      break;
    case Kind::table:
      out << node.members << " x " << node.offsets.size() << " runs, " << node.unit << " bytes, stride "
          << node.stride << names_of(node.table_kernels);
      break;
    case Kind::repeat:
      out << node.members << " x " << node.unit << " bytes, stride " << node.stride;
      break;
    case Kind::list:
      out << node.members << " x " << node.unit << " bytes";
      break;
    case Kind::sequence:
      out << node.members << " parts, " << node.size << " bytes";
      break;
  }
  return out.str();
}

void put(std::ostringstream& out, const Node& node, int depth) {
  out << std::string(static_cast<std::size_t>(2 * depth), ' ') << name_of(node.kind) << " at " << node.offset
      << ": " << loop_of(node) << '\n';
  for (const Node& child : node.children) {
    put(out, child, depth + 1);
  }
}

}  // namespace

std::string to_text(const Node& node) {
  std::ostringstream out;
  put(out, node, 0);
  return out.str();
}

}  // namespace corewise::kernels
