// A compiled layout, private to the room: a tree whose leaves are loops of loops/kernels.hpp.
//
// Contract: every node has an outermost loop of `members`, `unit` data bytes each (a sequence: of different sizes,
// beginning at `starts`), so a place in the packed stream is found by one division or search per level. Items of a
// message are members of the root, whose number comes with the call.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/packing/loops/kernels.hpp"
#include "kernels/packing/plans/pack.hpp"

namespace corewise::kernels {

/// A pair of opposite loops, their names, and the loop that copies.
template <class Shape>
struct Kernels {
  PackLoop<Shape> pack = nullptr;
  UnpackLoop<Shape> unpack = nullptr;
  std::string_view packing;
  std::string_view unpacking;
  CopyLoop copy = nullptr;
};

struct Node {
  enum class Kind : std::uint8_t {
    run,       ///< `unit` contiguous bytes
    row,       ///< members are blocks
    table,     ///< members are all runs of a table
    repeat,    ///< members are the child, `stride` apart
    list,      ///< members are the child at each of `offsets`
    sequence,  ///< members are the children
  };

  Kind kind = Kind::run;
  std::int64_t offset = 0;
  std::int64_t unit = 0;
  std::int64_t members = 1;
  std::int64_t size = 0;          ///< data bytes of all members
  std::int64_t stride = 0;        ///< row, table, repeat: of members
  Kernels<Blocks> block_kernels;  ///< row
  Kernels<Blocks> tile_kernels;   ///< repeat of a row: where rows share lines, which the blocks of one row do not
  Kernels<Table> table_kernels;
  std::vector<std::int64_t> offsets;  ///< list
  std::vector<std::int32_t> places;   ///< table: where its runs are
  std::vector<std::int64_t> lengths;  ///< table: of its runs; none where all have `block` bytes
  std::int64_t block = 0;
  std::vector<std::int64_t> starts;      ///< table of different runs, sequence: where each begins in the stream
  std::unique_ptr<const Window> window;  ///< row, table: for members
  WindowKernels window_kernels;
  std::vector<Node> children;
};

struct PackPlan::Program {
  Node root;                  ///< members: of any number of items
  std::int64_t per_item = 1;  ///< members of the root that are one item
  std::int64_t size = 0;      ///< data bytes of one item
  std::int64_t extent = 0;
  bool contiguous = false;
  bool tiled = false;  ///< whether a node of its tree is
  double mean_run = 0;
  double line_density = 0;
  double pages_per_line = 0;
  const KernelSet* set = nullptr;
};

/// The tree of a canonical layout, a root of any number of items.
std::unique_ptr<const PackPlan::Program> compile_program(const KernelSet& set, const Layout& canonical,
                                                         std::int64_t extent);
/// A line per node, indented by its level.
std::string to_text(const Node& node);

}  // namespace corewise::kernels
