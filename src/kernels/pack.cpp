// Plans: a canonical layout becomes a tree of loops, each with the kernel that fits it. Contract in pack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/pack.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <sstream>
#include <utility>

#include "kernels/pack_program.hpp"
#include "kernels/simplify.hpp"

namespace corewise::kernels {
namespace {

using Kind = Node::Kind;

/// A subtree of at most so many runs becomes a table of them: walking a table costs less than walking nodes.
constexpr std::int64_t kTableRuns = 64;
/// Runs looked at to find how densely data lie.
constexpr std::int64_t kSampledRuns = 256;
/// Of a layout with more, the first so many.
constexpr std::size_t kMostRuns = 4096;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kPage = 4096;

std::vector<const KernelSet*> usable_sets() {
  static constexpr std::array all = {
#if defined(__x86_64__)
      &kPackAvx512, &kPackAvx2,
#elif defined(__aarch64__)
      &kPackNeon,
#endif
      &kPackGeneric};
  std::vector<const KernelSet*> usable;
  std::copy_if(all.begin(), all.end(), std::back_inserter(usable),
               [](const KernelSet* set) { return set->available(); });
  return usable;
}

const KernelSet& preferred() {
  static const KernelSet& set = *usable_sets().front();
  return set;
}

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

/// Where each of the lengths begins in the stream, and behind the last where all of them end.
std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> starts(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
  return starts;
}

/// Builds the tree for one kernel set.
class Compiler {
 public:
  explicit Compiler(const KernelSet& kernels) : kernels_(kernels) {}

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
    node.block_kernels = kernels_.blocks(node.blocks);
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
    node.block_kernels = kernels_.blocks(node.blocks);
    if (inner.unit * inner.members <= static_cast<std::int64_t>(kWindowBytes)) {
      use_window(node, pieces_of(inner));
      node.window_of_rows = node.window != nullptr;
    }
    if (node.window == nullptr) {
      set_window(node, make_window(std::vector<Piece>{{0, inner.unit}}, inner.stride, kernels_.windows));
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

  void use_window(Node& node, const std::vector<Piece>& pieces) const {
    set_window(node, make_window(pieces, node.stride, kernels_.windows));
  }

  void set_window(Node& node, std::unique_ptr<const Window> window) const {
    node.window = std::move(window);
    if (node.window != nullptr) {
      node.window_kernels = kernels_.window(*node.window);
      if (2 * node.window->vectors > node.window->pieces) {
        // A permutation and a masked store cost about two plain stores.
        node.window_kernels.unpack = nullptr;
      }
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
    const std::int64_t first = node.lengths.front();
    if (std::all_of(node.lengths.begin(), node.lengths.end(), [&](std::int64_t bytes) { return bytes == first; })) {
      node.table_block = first;
      node.lengths.clear();
    } else {
      node.starts = starts_of(node.lengths);
    }
    node.table_kernels =
        kernels_.table({node.table_block, node.offsets.data(), node.lengths.empty() ? nullptr : node.lengths.data(),
                        static_cast<std::int64_t>(node.offsets.size()), 0, 1});
    return resized(std::move(node), 1);
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

  const KernelSet& kernels_;
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
    for_each_run(layout, item * extent, [&](std::int64_t at, std::int64_t length) {
      if (pieces.size() < kMostRuns) {
        pieces.emplace_back(piece_of(at), piece_of(at + length - 1) + 1);
        touched.bytes += static_cast<double>(length);
      }
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
  std::ostringstream out;
  out << " [" << kernels.pack_name;
  if (kernels.pack_name != kernels.unpack_name) {
    out << "; unpack: " << kernels.unpack_name;
  }
  out << ']';
  return out.str();
}

/// What one node's loop does, all lengths in bytes.
std::string loop_of(const Node& node) {
  std::ostringstream out;
  if (node.window != nullptr) {
    out << "[windows of " << node.window->vectors << " vectors for " << node.window->group
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
          << node.stride << ", " << node.blocks.stride << names_of(node.block_kernels);
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

void describe(std::ostringstream& out, const Node& node, int depth) {
  out << std::string(static_cast<std::size_t>(2 * depth), ' ') << name_of(node.kind) << " at " << node.offset
      << ": " << loop_of(node) << '\n';
  for (const Node& child : node.children) {
    describe(out, child, depth + 1);
  }
}

}  // namespace

PackPlan::PackPlan(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
PackPlan::PackPlan(PackPlan&&) noexcept = default;
PackPlan& PackPlan::operator=(PackPlan&&) noexcept = default;
PackPlan::~PackPlan() = default;

std::vector<std::string_view> pack_instruction_sets() {
  std::vector<std::string_view> names;
  for (const KernelSet* set : usable_sets()) {
    names.push_back(set->name);
  }
  return names;
}

namespace {

std::unique_ptr<const PackPlan::Program> program_of(const KernelSet& kernels, const Layout& canonical,
                                                    std::int64_t extent) {
  auto program = std::make_unique<PackPlan::Program>();
  const Compiler compiler(kernels);
  Node item = compiler.compile(canonical);
  program->size = item.size;
  program->extent = extent;
  program->contiguous = item.kind == Kind::run && item.size == extent;
  const std::int64_t runs = count_runs(canonical);
  program->mean_run = runs == 0 ? 0 : static_cast<double>(item.size) / static_cast<double>(runs);
  find_densities(*program, canonical);
  program->kernels = &kernels;
  const std::int64_t members = item.members;
  const bool merges = item.kind == Kind::row && item.members * item.stride == extent;
  program->per_item = merges ? members : 1;
  program->root = compiler.repeated(std::move(item), 1, extent);
  return program;
}

}  // namespace

PackPlan PackPlan::compile(const Layout& canonical, std::int64_t extent) {
  return PackPlan(program_of(preferred(), canonical, extent));
}

PackPlan PackPlan::compile(const Datatype& type) {
  return compile(simplify(type.layout), type.extent);
}

std::optional<PackPlan> PackPlan::compile_for(std::string_view instruction_set, const Layout& canonical,
                                              std::int64_t extent) {
  for (const KernelSet* set : usable_sets()) {
    if (set->name == instruction_set) {
      return PackPlan(program_of(*set, canonical, extent));
    }
  }
  return std::nullopt;
}

std::int64_t PackPlan::size() const {
  return program_->size;
}
bool PackPlan::contiguous() const {
  return program_->contiguous;
}
double PackPlan::mean_run() const {
  return program_->mean_run;
}
double PackPlan::line_density() const {
  return program_->line_density;
}
double PackPlan::pages_per_line() const {
  return program_->pages_per_line;
}
std::string_view PackPlan::instruction_set() const {
  return program_->kernels->name;
}

std::string PackPlan::describe() const {
  if (program_->contiguous) {
    return "contiguous: " + std::to_string(program_->size) + " bytes an item\n";
  }
  std::ostringstream out;
  out << "instruction set: " << instruction_set() << '\n';
  kernels::describe(out, program_->root, 0);
  return out.str();
}

}  // namespace corewise::kernels
