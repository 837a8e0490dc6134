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
#include <vector>

#include "kernels/packing/plans/choice.hpp"
#include "kernels/packing/plans/pack.hpp"

namespace corewise::kernels {

struct Node {
  enum class Kind : std::uint8_t {
    run,       ///< `unit` contiguous bytes
    row,       ///< members are blocks
    rows,      ///< members are rows of blocks
    table,     ///< members are all runs of a table
    repeat,    ///< members are the child, `stride` apart
    list,      ///< members are the child at each of `offsets`
    sequence,  ///< members are the children
  };

  Kind kind = Kind::run;
  std::int64_t offset = 0;
  std::int64_t unit = 0;
  std::int64_t members = 1;
  std::int64_t size = 0;    ///< data bytes of all members
  std::int64_t stride = 0;  ///< row: of blocks; rows: of rows; table, repeat: of members
  Blocks blocks;            ///< row, rows: the shape of one member (`count`, `rows` are set by the call)
  Kernels<Blocks> block_kernels;
  bool tiled = false;  ///< rows: they share lines, which the blocks of one row do not: by `tile_kernels`
  Kernels<Blocks> tile_kernels;
  std::int64_t table_block = 0;  ///< table: bytes of every run, 0 where they differ
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> near;  ///< table: the same, for the loops; empty where they do not fit
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> starts;  ///< table of different runs, sequence: where each begins in the stream
  Kernels<Table> table_kernels;
  std::unique_ptr<const Window> window;  ///< row, rows, table: for members; rows too: for blocks of a row
  bool window_of_rows = false;           ///< rows: whether members of the window are rows
  WindowKernels window_kernels;
  double pack_ns = 0;  ///< row, rows, table: what a block or run costs by its loops
  double unpack_ns = 0;
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
/// Runs with data.
std::int64_t count_runs(const Layout& layout);
/// A line per node, indented by its level.
std::string to_text(const Node& node);

}  // namespace corewise::kernels
