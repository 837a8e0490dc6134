// From a canonical layout to a tree of loops, each the one for its blocks.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "kernels/packing/plans/program.hpp"

namespace corewise::kernels {

namespace {

using Kind = Node::Kind;
using Runs = std::vector<Piece>;

/// A subtree of at most so many runs becomes a table of them, and one of more counts as irregular: walking a table
/// costs less than walking nodes, and of a short one a processor foresees every step.
constexpr std::int64_t kTableRuns = 64;
/// Runs looked at to find how densely data lie.
constexpr std::int64_t kSampledRuns = 256;
/// Of a layout with more, the first so many.
constexpr std::size_t kMostRuns = 4096;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kPage = 4096;
/// So many pages are found at once: two messages of them fit into a core's tables, which hold 1536 to 4096.
constexpr std::int64_t kFewPages = 1024, kShortBlock = 16;

/// Where each of the lengths begins in the stream, and behind the last where all of them end.
std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> starts(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
  return starts;
}

/// In each direction the first loop that fits.
template <class Shape>
Kernels<Shape> first_of(std::span<const Candidate<Shape>> rows, std::int64_t block) {
  const auto first = [&](auto loop) {
    return std::ranges::find_if(
        rows, [=](const auto& row) { return row.*loop != nullptr && row.least <= block && block <= row.most; });
  };
  using Row = Candidate<Shape>;
  const auto packs = first(&Row::pack), unpacks = first(&Row::unpack), copies = first(&Row::copy);
  return {packs->pack, unpacks->unpack, packs->name, unpacks->name, copies == rows.end() ? nullptr : copies->copy};
}

/// Builds the tree with the loops of a set.
class Compiler {
 public:
  explicit Compiler(const KernelSet& set) : set_(set) {}

  Node compile(const Layout& layout) const {
    switch (layout.kind) {
      case Layout::Kind::run:
        return run(layout.offset, layout.bytes);
      case Layout::Kind::runs:
        return table(layout);
      case Layout::Kind::repeat: {
        if (is_record(layout.children.front()))
          return moved(repeated(table(layout.children.front()), layout.count, layout.stride), layout.offset);
        return moved(repeated(compile(layout.children.front()), layout.count, layout.stride), layout.offset);
      }
      case Layout::Kind::list:
      case Layout::Kind::sequence:
        break;
    }
    if (layout.children.empty() || is_record(layout)) return table(layout);
    return layout.kind == Layout::Kind::list ? list(layout) : sequence(layout);
  }

  /// `count` times a node; the node's own loop and the new one are one where they can be.
  Node repeated(Node node, std::int64_t count, std::int64_t stride) const {
    if (node.size == 0) {
      return node;  // however often, it has no bytes, and no loop moves blocks without any
    }
    if (node.kind == Kind::run) return row(node, count, stride);
    if (node.kind == Kind::row && node.members * node.stride == stride) return resized(std::move(node), count);
    if (node.kind == Kind::table && node.members == 1) {
      node.stride = stride;
      use_window(node, pieces_of(node));
      return resized(std::move(node), count);
    }
    Node outer;
    outer.kind = Kind::repeat;
    outer.unit = node.size;
    outer.stride = stride;
    if (node.kind == Kind::row) {
      outer.offset = std::exchange(node.offset, 0);
      outer.tile_kernels = goes_by_tiles(node, stride) ? first_of(tile_loops(), node.unit) : Kernels<Blocks>{};
    }
    outer.children.push_back(std::move(node));
    return resized(std::move(outer), count);
  }

 private:
  static Node run(std::int64_t offset, std::int64_t bytes) {
    Node node;
    node.offset = offset;
    node.unit = bytes;
    node.size = bytes;
    return node;
  }

  static Node moved(Node node, std::int64_t offset) {
    node.offset += offset;
    return node;
  }

  /// With `times` as many members.
  static Node resized(Node node, std::int64_t times) {
    node.members *= times;
    node.size = node.unit * node.members;
    return node;
  }

  Node row(const Node& block, std::int64_t count, std::int64_t stride) const {
    Node node;
    node.kind = Kind::row;
    node.offset = block.offset;
    node.unit = block.size;
    node.stride = stride;
    const bool apart = count > kFewPages && std::abs(stride) >= kPage && block.size <= kShortBlock;
    node.block_kernels = first_of(apart ? apart_loops() : set_.blocks, block.size);
    use_window(node, {{0, block.size}});
    return resized(std::move(node), count);
  }

  /// Where rows lie in lines of their own, or the blocks of a row fill no line of the packed stream, there is
  /// nothing to gain from tiles.
  static bool goes_by_tiles(const Node& row, std::int64_t stride) {
    const std::int64_t apart = std::abs(stride);
    return row.unit <= apart && apart < kLine && kLine <= std::abs(row.stride) && kLine <= row.size;
  }

  /// The runs of one member of a table.
  static Runs pieces_of(const Node& node) {
    Runs pieces;
    for (std::size_t i = 0; i < node.places.size(); ++i) {
      pieces.push_back({node.places[i], node.block != 0 ? node.block : node.lengths[i]});
    }
    return pieces;
  }

  void use_window(Node& node, const Runs& pieces) const {
    node.window = set_.window == nullptr ? nullptr : make_window(pieces, node.stride);
    if (node.window != nullptr) node.window_kernels = set_.window(node.window->vectors);
  }

  /// Few runs that are not evenly spaced blocks.
  static bool is_record(const Layout& layout) {
    const bool blocks = layout.kind == Layout::Kind::run || layout.kind == Layout::Kind::repeat;
    return !blocks && count_runs(layout) <= kTableRuns;
  }

  Node table(const Layout& layout) const {
    Runs all;
    for_each_run(layout, -layout.offset,
                 [&all](std::int64_t offset, std::int64_t bytes) { all.push_back({offset, bytes}); });
    if (all.empty()) return run(0, 0);
    const bool far = std::any_of(all.begin(), all.end(), is_far);
    return moved(far ? far_tables(all) : table_of(all), layout.offset);
  }

  Node table_of(const Runs& all) const {
    Node node;
    node.kind = Kind::table;
    std::int64_t piece = 0;
    for (const Piece& each : all) {
      node.unit += each.bytes;
      piece = std::gcd(piece, each.bytes);
    }
    const bool equal = node.unit == piece * static_cast<std::int64_t>(all.size());
    if (equal || is_better_cut(all.size(), piece, node.unit)) {
      node.block = piece;
      node.table_kernels = first_of(set_.tables, piece);
    } else {
      node.table_kernels = {set_.runs.pack, set_.runs.unpack, set_.runs.name, set_.runs.name, nullptr};
    }
    for (const auto& [offset, bytes] : all) {
      for (std::int64_t at = 0; at < bytes; at += node.block == 0 ? bytes : node.block)
        node.places.push_back(static_cast<std::int32_t>(offset + at));
      if (node.block == 0) node.lengths.push_back(bytes);
    }
    node.starts = starts_of(node.lengths);
    return resized(std::move(node), 1);
  }

  /// Whether moving runs in pieces of one length costs less: a processor does not foresee the lengths of a long
  /// irregular list, and measured, one that it did not costs as much as six moves.
  static bool is_better_cut(std::size_t runs, std::int64_t piece, std::int64_t bytes) {
    constexpr std::int64_t kRunMoves = 6;
    const auto many = static_cast<std::int64_t>(runs);
    return many > kTableRuns && bytes / piece * moves_of(piece) <= kRunMoves * many;
  }

  /// Too far for the 32 bits of a table.
  static bool is_far(const Piece& piece) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
    return std::abs(piece.offset) + piece.bytes > kFar;
  }

  /// A table for each stretch of runs that are near its first one.
  Node far_tables(const Runs& all) const {
    std::vector<Node> nodes;
    for (auto from = all.begin(), to = from; from != all.end(); from = to) {
      Runs near;
      do {
        near.push_back({to->offset - from->offset, to->bytes});
        ++to;
      } while (to != all.end() && !is_far({to->offset - from->offset, to->bytes}));
      nodes.push_back(moved(near.size() == 1 ? run(0, from->bytes) : table_of(near), from->offset));
    }
    return sequence_of(std::move(nodes));
  }

  Node list(const Layout& layout) const {
    Node node;
    node.kind = Kind::list;
    node.offset = layout.offset;
    node.offsets = layout.offsets;
    node.children.push_back(compile(layout.children.front()));
    node.unit = node.children.front().size;
    return resized(std::move(node), static_cast<std::int64_t>(layout.offsets.size()));
  }

  Node sequence(const Layout& layout) const {
    std::vector<Node> nodes;
    for (const Layout& child : layout.children) nodes.push_back(compile(child));
    return moved(sequence_of(std::move(nodes)), layout.offset);
  }

  static Node sequence_of(std::vector<Node> nodes) {
    Node node;
    node.kind = Kind::sequence;
    std::vector<std::int64_t> sizes;
    for (const Node& child : nodes) sizes.push_back(child.size);
    node.children = std::move(nodes);
    node.members = static_cast<std::int64_t>(sizes.size());
    node.starts = starts_of(sizes);
    node.size = node.starts.back();
    return node;
  }

  const KernelSet& set_;
};

/// Bytes of the pieces of memory of one size, a power of two, that runs lie in; runs by rising offset.
double touched(const Runs& runs, std::int64_t piece) {
  std::int64_t bytes = 0, end = std::numeric_limits<std::int64_t>::min();
  for (const Piece& run : runs) {
    const std::int64_t last = (run.offset + run.bytes + piece - 1) & -piece;
    bytes += std::max<std::int64_t>(0, last - std::max(run.offset & -piece, end));
    end = std::max(end, last);
  }
  return static_cast<double>(bytes);
}

/// The same runs, those that lie side by side next to each other: of nested repeats, that of the least stride is
/// the innermost. The first runs of a matrix that is sent by columns are a few columns, of which no line is whole.
Layout near_runs_first(Layout layout) {
  std::vector<Layout*> repeats;
  for (Layout* at = &layout; at->kind == Layout::Kind::repeat; at = &at->children.front()) repeats.push_back(at);
  std::vector<std::pair<std::int64_t, std::int64_t>> loops;
  for (const Layout* each : repeats) loops.emplace_back(each->stride, each->count);
  std::ranges::stable_sort(loops, std::greater<>{}, [](const auto& loop) { return std::abs(loop.first); });
  for (std::size_t i = 0; i < loops.size(); ++i) std::tie(repeats[i]->stride, repeats[i]->count) = loops[i];
  return layout;
}

void find_densities(PackPlan::Program& program, const Layout& traversed) {
  const Layout layout = near_runs_first(traversed);
  Runs runs;
  double bytes = 0;
  const std::int64_t items =
      std::max<std::int64_t>(1, kSampledRuns / std::max<std::int64_t>(1, count_runs(layout)));
  for (std::int64_t item = 0; item < items; ++item) {
    visit_runs(layout, item * program.extent, [&](std::int64_t offset, std::int64_t length) {
      runs.push_back({offset, length});
      bytes += static_cast<double>(length);
      return runs.size() < kMostRuns;
    });
  }
  if (runs.empty()) return;
  std::ranges::sort(runs, {}, &Piece::offset);
  program.line_density = std::min(1.0, bytes / touched(runs, kLine));
  program.pages_per_line = touched(runs, kPage) / kPage * kLine / bytes;
}

bool has_tiles(const Node& node) {
  return node.tile_kernels.pack != nullptr || std::ranges::any_of(node.children, has_tiles);
}

}  // namespace

std::unique_ptr<const PackPlan::Program> compile_program(const KernelSet& set, const Layout& canonical,
                                                         std::int64_t extent) {
  auto program = std::make_unique<PackPlan::Program>();
  const Compiler compiler(set);
  Node item = compiler.compile(canonical);
  program->size = item.size;
  program->extent = extent;
  program->contiguous = item.kind == Kind::run && item.size == extent;
  const std::int64_t runs = count_runs(canonical);
  program->mean_run = runs == 0 ? 0 : static_cast<double>(item.size) / static_cast<double>(runs);
  find_densities(*program, canonical);
  program->set = &set;
  const std::int64_t members = item.members;
  const bool merges = item.kind == Kind::row && item.members * item.stride == extent;
  program->per_item = merges ? members : 1;
  program->root = compiler.repeated(std::move(item), 1, extent);
  program->tiled = has_tiles(program->root);
  return program;
}

}  // namespace corewise::kernels
