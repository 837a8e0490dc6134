// From a canonical layout to a tree of loops, each the one for its blocks.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/packing/plans/program.hpp"

namespace corewise::kernels {

std::int64_t count_runs(const Layout& layout) {
  switch (layout.kind) {
    case Layout::Kind::run:
      return layout.bytes > 0 ? 1 : 0;
    case Layout::Kind::repeat:
      return layout.count * count_runs(layout.children.front());
    case Layout::Kind::list:
      return static_cast<std::int64_t>(layout.offsets.size()) * count_runs(layout.children.front());
    case Layout::Kind::runs:
      return static_cast<std::int64_t>(std::count_if(layout.lengths.begin(), layout.lengths.end(),
                                                     [](std::int64_t bytes) { return bytes > 0; }));
    case Layout::Kind::sequence:
      break;
  }
  return std::accumulate(layout.children.begin(), layout.children.end(), std::int64_t{0},
                         [](std::int64_t sum, const Layout& child) { return sum + count_runs(child); });
}

namespace {

using Kind = Node::Kind;

/// A subtree of at most so many runs becomes a table of them, and one of more counts as irregular: walking a table
/// costs less than walking nodes, and of a short one a processor foresees every step.
constexpr std::int64_t kTableRuns = 64;
/// Runs looked at to find how densely data lie.
constexpr std::int64_t kSampledRuns = 256;
/// Of a layout with more, the first so many.
constexpr std::size_t kMostRuns = 4096;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kPage = 4096;

/// Where each of the lengths begins in the stream, and behind the last where all of them end.
std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> starts(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
  return starts;
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
        if (is_record(layout.children.front())) {
          return moved(repeated(table(layout.children.front()), layout.count, layout.stride), layout.offset);
        }
        return moved(repeated(compile(layout.children.front()), layout.count, layout.stride), layout.offset);
      }
      case Layout::Kind::list:
      case Layout::Kind::sequence:
        break;
    }
    if (layout.children.empty() || is_record(layout) || is_list_of_runs(layout)) {
      return table(layout);
    }
    return layout.kind == Layout::Kind::list ? list(layout) : sequence(layout);
  }

  /// `count` times a node; the node's own loop and the new one are one where they can be.
  Node repeated(Node node, std::int64_t count, std::int64_t stride) const {
    if (node.size == 0) {
      return node;  // however often, it has no bytes, and no loop moves blocks without any
    }
    if (node.kind == Kind::run) {
      return row(node, count, stride);
    }
    if (node.kind == Kind::row && node.members * node.stride == stride) {
      return resized(std::move(node), count);
    }
    if (node.kind == Kind::row) {
      return rows(node, count, stride);
    }
    if (node.kind == Kind::table && node.members == 1) {
      node.stride = stride;
      use_window(node, pieces_of(node));
      return resized(std::move(node), count);
    }
    Node outer;
    outer.kind = Kind::repeat;
    outer.unit = node.size;
    outer.stride = stride;
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
    node.blocks = {block.size, stride, count, 0, 1};
    use_blocks(node);
    use_window(node, {{0, block.size}});
    return resized(std::move(node), count);
  }

  Node rows(const Node& inner, std::int64_t count, std::int64_t stride) const {
    Node node;
    node.kind = Kind::rows;
    node.offset = inner.offset;
    node.unit = inner.size;
    node.stride = stride;
    node.blocks = {inner.unit, inner.stride, inner.members, stride, count};
    use_blocks(node);
    use_tiles(node);
    if (inner.unit * inner.members <= static_cast<std::int64_t>(kWindowBytes)) {
      use_window(node, pieces_of(inner));
      node.window_of_rows = node.window != nullptr;
    }
    if (node.window == nullptr) {
      set_window(node, make_window(std::vector<Piece>{{0, inner.unit}}, inner.stride, set_.windows));
    }
    return resized(std::move(node), count);
  }

  /// The runs of one member of a table, or of a row.
  static std::vector<Piece> pieces_of(const Node& node) {
    std::vector<Piece> pieces;
    if (node.kind == Kind::row) {
      for (std::int64_t i = 0; i < node.members; ++i) {
        pieces.push_back({i * node.stride, node.unit});
      }
    }
    for (std::size_t i = 0; i < node.offsets.size(); ++i) {
      pieces.push_back({node.offsets[i], node.table_block != 0 ? node.table_block : node.lengths[i]});
    }
    return pieces;
  }

  void use_blocks(Node& node) const {
    node.block_kernels = loops_for_blocks(set_, node.blocks.block);
    node.pack_ns = block_ns(node.blocks.block, true, false);
    node.unpack_ns = block_ns(node.blocks.block, false, false);
  }

  /// Where rows lie in lines of their own, or the blocks of a row fill no line of the packed stream, there is
  /// nothing to gain from tiles.
  void use_tiles(Node& node) const {
    const Blocks& shape = node.blocks;
    const std::int64_t apart = std::abs(shape.row_stride);
    node.tiled = shape.block <= apart && apart < kLine && kLine <= std::abs(shape.stride) &&
                 kLine <= shape.count * shape.block;
    if (node.tiled) {
      node.tile_kernels = loops_for_tiles(set_, shape.block, shape.count * shape.block);
    }
  }

  void use_table(Node& node) const {
    const auto runs = static_cast<std::int64_t>(node.offsets.size());
    const bool even = node.table_block != 0;
    node.table_kernels = even ? loops_for_table(set_, node.table_block)
                              : Kernels<Table>{set_.runs.pack, set_.runs.unpack, set_.runs.name, set_.runs.name};
    node.pack_ns = even ? block_ns(node.table_block, true, true) : uneven_ns((node.unit + runs - 1) / runs);
    node.unpack_ns = node.pack_ns;
  }

  void use_window(Node& node, const std::vector<Piece>& pieces) const {
    set_window(node, make_window(pieces, node.stride, set_.windows));
  }

  /// Takes the directions of a window that cost less than the loop.
  void set_window(Node& node, std::unique_ptr<const Window> window) const {
    if (window == nullptr) {
      return;
    }
    WindowKernels kernels = set_.window(*window);
    const auto vectors = static_cast<double>(window->vectors);
    const auto pieces = static_cast<double>(window->pieces);
    const double pack_ns = vectors / pieces * window_ns(window->lane, true);
    const double unpack_ns = vectors / pieces * window_ns(window->lane, false);
    if (pack_ns > node.pack_ns) {
      kernels.pack = nullptr;
    }
    if (unpack_ns > node.unpack_ns) {
      kernels.unpack = nullptr;
    }
    if (kernels.pack != nullptr || kernels.unpack != nullptr) {
      node.pack_ns = std::min(node.pack_ns, pack_ns);
      node.unpack_ns = std::min(node.unpack_ns, unpack_ns);
      node.window_kernels = kernels;
      node.window = std::move(window);
    }
  }

  /// Few runs that are not evenly spaced blocks.
  static bool is_record(const Layout& layout) {
    const bool blocks = layout.kind == Layout::Kind::run || layout.kind == Layout::Kind::repeat;
    return !blocks && count_runs(layout) <= kTableRuns;
  }

  static bool is_list_of_runs(const Layout& layout) {
    return layout.kind == Layout::Kind::list && layout.children.front().kind == Layout::Kind::run;
  }

  Node table(const Layout& layout) const {
    Node node;
    node.kind = Kind::table;
    for_each_run(layout, 0, [&](std::int64_t offset, std::int64_t bytes) {
      node.offsets.push_back(offset);
      node.lengths.push_back(bytes);
      node.unit += bytes;
    });
    if (node.offsets.empty()) {
      return run(0, 0);
    }
    cut_equally(node);
    set_near(node);
    use_table(node);
    return resized(std::move(node), 1);
  }

  /// Runs of one length where they are, or where moving them in pieces of one length costs less: a processor does
  /// not foresee the lengths of a long irregular list.
  void cut_equally(Node& node) const {
    constexpr std::int64_t kMostPieces = 8;  // per run: so much larger may a table become
    const auto runs = static_cast<std::int64_t>(node.lengths.size());
    const std::int64_t piece = std::accumulate(node.lengths.begin(), node.lengths.end(), std::int64_t{0},
                                               [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
    const std::int64_t pieces = node.unit / piece;
    const bool equal = pieces == runs * (node.lengths.front() / piece) && all_equal(node.lengths);
    if (!equal && (runs <= kTableRuns || pieces > kMostPieces * runs || !pieces_pay(node, piece, pieces))) {
      node.starts = starts_of(node.lengths);
      return;
    }
    node.table_block = equal ? node.lengths.front() : piece;
    if (!equal) {
      std::vector<std::int64_t> offsets;
      offsets.reserve(static_cast<std::size_t>(pieces));
      for (std::size_t i = 0; i < node.offsets.size(); ++i) {
        for (std::int64_t at = 0; at < node.lengths[i]; at += piece) {
          offsets.push_back(node.offsets[i] + at);
        }
      }
      node.offsets = std::move(offsets);
    }
    node.lengths.clear();
  }

  static bool all_equal(const std::vector<std::int64_t>& lengths) {
    return std::adjacent_find(lengths.begin(), lengths.end(), std::not_equal_to<>{}) == lengths.end();
  }

  static bool pieces_pay(const Node& node, std::int64_t piece, std::int64_t pieces) {
    const auto runs = static_cast<std::int64_t>(node.lengths.size());
    return static_cast<double>(pieces) * block_ns(piece, true, true) <
           static_cast<double>(runs) * uneven_ns((node.unit + runs - 1) / runs);
  }

  /// The offsets in 32 bits, if all of them fit.
  static void set_near(Node& node) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
    if (std::all_of(node.offsets.begin(), node.offsets.end(),
                    [](std::int64_t offset) { return std::abs(offset) <= kFar; })) {
      node.near.assign(node.offsets.begin(), node.offsets.end());
    }
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
    Node node;
    node.kind = Kind::sequence;
    node.offset = layout.offset;
    std::vector<std::int64_t> sizes;
    for (const Layout& child : layout.children) {
      node.children.push_back(compile(child));
      sizes.push_back(node.children.back().size);
    }
    node.members = static_cast<std::int64_t>(node.children.size());
    node.starts = starts_of(sizes);
    node.size = node.starts.back();
    return node;
  }

  const KernelSet& set_;
};

/// Pieces of memory of one size that the data of many items lie in.
struct Touched {
  std::int64_t pieces = 0;
  double bytes = 0;  ///< data in them
};

Touched find_touched(const Layout& layout, std::int64_t extent, std::int64_t piece) {
  const std::int64_t runs = count_runs(layout);
  if (runs == 0) {
    return {};
  }
  Touched touched;
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  const std::int64_t items = std::max<std::int64_t>(1, kSampledRuns / runs);
  const auto piece_of = [&](std::int64_t at) { return (at >= 0 ? at : at - (piece - 1)) / piece; };
  for (std::int64_t item = 0; item < items; ++item) {
    visit_runs(layout, item * extent, [&](std::int64_t at, std::int64_t length) {
      pieces.emplace_back(piece_of(at), piece_of(at + length - 1) + 1);
      touched.bytes += static_cast<double>(length);
      return pieces.size() < kMostRuns;
    });
  }
  std::sort(pieces.begin(), pieces.end());
  std::int64_t end = pieces.front().first;
  for (const auto& [first, last] : pieces) {
    touched.pieces += std::max<std::int64_t>(0, last - std::max(first, end));
    end = std::max(end, last);
  }
  return touched;
}

void find_densities(PackPlan::Program& program, const Layout& layout) {
  const Touched lines = find_touched(layout, program.extent, kLine);
  if (lines.pieces > 0) {
    const Touched pages = find_touched(layout, program.extent, kPage);
    program.line_density = std::min(1.0, lines.bytes / static_cast<double>(lines.pieces * kLine));
    program.pages_per_line = static_cast<double>(pages.pieces * kLine) / pages.bytes;
  }
}

bool has_tiles(const Node& node) {
  return node.tiled || std::ranges::any_of(node.children, has_tiles);
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
