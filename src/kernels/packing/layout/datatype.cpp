// The constructors: rules for their arguments, then a layout and the bounds of its type map, side by side. Contract
// in datatype.hpp. Every node holds a copy of its children, so that what would hold many copies of one layout is
// built as a list over one; and what has no data leaves no node behind. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/layout/datatype.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/packing/simplification/simplify.hpp"

namespace corewise::kernels {
namespace {

using Kind = Layout::Kind;

// Rules

std::string place(std::string_view field, std::size_t i) {
  return std::string(field) + "[" + std::to_string(i) + "]";
}

Status at_least(std::string_view field, std::int64_t value, std::int64_t least) {
  return value >= least ? Status{}
                        : bad_field("", field, std::to_string(value), std::to_string(least) + " or more");
}

Status each_at_least(std::string_view field, std::span<const std::int64_t> values, std::int64_t least) {
  const auto wrong =
      std::find_if(values.begin(), values.end(), [least](std::int64_t value) { return value < least; });
  return wrong == values.end()
             ? Status{}
             : at_least(place(field, static_cast<std::size_t>(wrong - values.begin())), *wrong, least);
}

Status between(const std::string& field, std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most
             ? Status{}
             : bad_field("", field, std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
}

Status as_many(std::string_view field, std::size_t found, std::size_t wanted) {
  return found == wanted ? Status{}
                         : bad_field("", field, std::to_string(found) + " entries", std::to_string(wanted));
}

Status some(std::string_view field, std::size_t found) {
  return found > 0 ? Status{} : bad_field("", field, "no entries", "1 or more");
}

// Reach: how far from an item's address anything of it is. In floating point, which does not overflow.

double magnitude(std::int64_t value) {
  return std::abs(static_cast<double>(value));
}

double reach_of(const Datatype& type) {
  const double bounds = std::max(magnitude(type.lb), magnitude(type.extent) + magnitude(type.lb));
  const double data = magnitude(type.true_lb) + magnitude(type.true_extent);
  return std::max({bounds, data, static_cast<double>(type.size)});
}

Status within_reach(std::string_view field, double reach) {
  return reach < static_cast<double>(kFarthestByte)
             ? Status{}
             : bad_field("", field, "a type that reaches or counts 2^60 bytes or more", "less");
}

double farthest(std::span<const std::int64_t> values) {
  return std::transform_reduce(
      values.begin(), values.end(), 0.0, [](double a, double b) { return std::max(a, b); }, magnitude);
}

double product(std::span<const std::int64_t> values) {
  return std::transform_reduce(values.begin(), values.end(), 1.0, std::multiplies<>{}, magnitude);
}

/// The first rule that is broken; all are computed before, so none may depend on another.
Status first_broken(std::initializer_list<Status> rules) {
  for (const Status& rule : rules)
    if (!rule.ok()) return rule;
  return {};
}

/// Displacements in extents as bytes; the products are formed whether there are blocks or not.
Result<std::vector<std::int64_t>> in_bytes(std::string_view field, std::span<const std::int64_t> values,
                                           const Datatype& old) {
  if (const Status rule = within_reach(field, farthest(values) * magnitude(old.extent)); !rule.ok()) return rule;
  std::vector<std::int64_t> bytes(values.begin(), values.end());
  for (std::int64_t& value : bytes) value *= old.extent;
  return bytes;
}

Status check_share(std::size_t i, std::int64_t gsize, Distribution distribution, std::int64_t darg,
                   std::int64_t processes) {
  if (distribution == Distribution::none) return between(place("psizes", i), processes, 1, 1);
  if (darg == kDefaultDarg) return {};
  const std::int64_t least = distribution == Distribution::block ? (gsize + processes - 1) / processes : 1;
  return between(place("dargs", i), darg, least, kFarthestByte / processes);
}

// Layouts

/// `count` items of a type, one after the other.
Layout block_of(std::int64_t count, const Datatype& old) {
  return repeat_of(count, old.extent, old.layout);
}

/// The one run that a layout of single children is, where it is one.
std::optional<Layout> as_run(const Layout& layout) {
  if (layout.kind == Kind::run) return layout;
  if (layout.kind != Kind::repeat) return std::nullopt;
  const std::optional<Layout> child = as_run(layout.children.front());
  if (!child || (layout.count > 1 && layout.stride != child->bytes)) return std::nullopt;
  return run_of(layout.count * child->bytes, layout.offset + child->offset);
}

/// The run of one item of a type whose blocks are contiguous.
std::optional<Layout> dense_item(const Datatype& type) {
  std::optional<Layout> run = as_run(type.layout);
  return run && run->bytes == type.extent ? run : std::nullopt;
}

/// The layout, simplified where it is too deep.
Layout shallow(Layout layout) {
  return depth_of(layout) > kDeepest ? simplify(std::move(layout)) : std::move(layout);
}

// Bounds of a type map (MPI-4.1, 5.1.6 and 5.1.7)

/// The least and the largest of what was added.
struct Span {
  bool any = false;
  std::int64_t first = 0;
  std::int64_t last = 0;

  void add(std::int64_t from, std::int64_t to) {
    first = any ? std::min(first, from) : from;
    last = any ? std::max(last, to) : to;
    any = true;
  }
};

class Bounds {
 public:
  /// The entries of `type`, moved by `at`.
  void add(const Datatype& type, std::int64_t at) {
    if (type.size > 0) {
      data_.add(at + type.true_lb, at + type.true_lb + type.true_extent);
      alignment_ = std::max(alignment_, type.alignment);
    }
    if (type.marked) {
      marked_ = true;
      lower_.add(at + type.lb, at + type.lb);
      upper_.add(at + type.lb + type.extent, at + type.lb + type.extent);
    }
  }

  /// `count` items from `at` on. Positions of a grid are largest and least at its corners.
  void add_block(const Datatype& type, std::int64_t at, std::int64_t count) {
    if (count > 0) {
      add(type, at);
      add(type, at + (count - 1) * type.extent);
    }
  }

  /// The type with this layout and these bounds.
  Datatype finish(Layout layout) const;

 private:
  Span data_, lower_, upper_;
  std::int64_t alignment_ = 1;
  bool marked_ = false;
};

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Datatype Bounds::finish(Layout layout) const {
  Datatype type;
  if (data_.any) {
    type.layout = shallow(std::move(layout));
    type.size = size_of(type.layout);
  }
  type.alignment = alignment_;
  type.marked = marked_;
  if (data_.any) {
    type.true_lb = type.lb = data_.first;
    type.true_extent = data_.last - data_.first;
    type.extent = rounded_up(type.true_extent, alignment_);
  }
  if (marked_) {
    type.lb = lower_.first;
    type.extent = upper_.last - lower_.first;
  }
  return type;
}

std::int64_t default_alignment(std::int64_t bytes) {
  std::int64_t alignment = 1;
  while (alignment < 16 && bytes % (2 * alignment) == 0) {
    alignment *= 2;
  }
  return alignment;
}

// Blocks

/// `count` items of a type from byte `offset` on: indexed types and structures are lists of them.
struct Block {
  std::int64_t offset;
  std::int64_t count;
  const Datatype* type;
};
using Blocks = std::span<const Block>;

/// The blocks that follow the first one and are like it, with it.
template <class Alike>
Blocks first_alike(Blocks blocks, Alike alike) {
  const auto end = std::find_if_not(blocks.begin(), blocks.end(),
                                    [&](const Block& block) { return alike(blocks.front(), block); });
  return {blocks.begin(), end};
}

bool same_type(const Block& one, const Block& other) {
  return one.type == other.type ||
         (one.type->extent == other.type->extent && one.type->layout == other.type->layout);
}

bool same_count(const Block& one, const Block& other) {
  return one.count == other.count;
}

/// Blocks of types whose items lie one after the other without a gap; none where a type is not so.
std::optional<Layout> dense_blocks(Blocks blocks) {
  std::vector<std::int64_t> offsets, lengths;
  for (const Block& block : blocks) {
    const std::optional<Layout> item = dense_item(*block.type);
    if (!item) return std::nullopt;
    offsets.push_back(block.offset + item->offset);
    lengths.push_back(block.count * item->bytes);
  }
  return runs_of(std::move(offsets), std::move(lengths));
}

/// Blocks of one type and length.
Layout equal_blocks(Blocks blocks) {
  std::vector<std::int64_t> offsets(blocks.size());
  std::transform(blocks.begin(), blocks.end(), offsets.begin(), [](const Block& block) { return block.offset; });
  return list_of(std::move(offsets), block_of(blocks.front().count, *blocks.front().type));
}

/// Blocks of one type, every item by its own offset.
Layout item_by_item(Blocks blocks) {
  std::vector<std::int64_t> offsets;
  for (const Block& block : blocks) {
    for (std::int64_t item = 0; item < block.count; ++item)
      offsets.push_back(block.offset + item * block.type->extent);
  }
  return list_of(std::move(offsets), blocks.front().type->layout);
}

/// Nodes and entries of a layout, which is what a copy of it costs.
std::int64_t weight_of(const Layout& layout) {
  auto weight = static_cast<std::int64_t>(8 + layout.offsets.size() + layout.lengths.size());
  for (const Layout& child : layout.children) weight += weight_of(child);
  return weight;
}

/// Blocks of one type, in the form that needs less memory: every child holds a copy of the type's layout.
void append_blocks(std::vector<Layout>& children, Blocks blocks) {
  std::int64_t stretches = 1, items = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    stretches += i > 0 && !same_count(blocks[i - 1], blocks[i]) ? 1 : 0;
    items += blocks[i].count;
  }
  const std::int64_t weight = weight_of(blocks.front().type->layout) + 16;
  if (stretches > 1 && items / weight <= stretches) {
    children.push_back(item_by_item(blocks));
    return;
  }
  for (Blocks some; !blocks.empty(); blocks = blocks.subspan(some.size())) {
    some = first_alike(blocks, same_count);
    children.push_back(equal_blocks(some));
  }
}

Datatype type_of(std::vector<Block> blocks) {
  Bounds bounds;
  for (const Block& block : blocks) bounds.add_block(*block.type, block.offset, block.count);
  std::erase_if(blocks, [](const Block& block) { return block.count == 0 || block.type->size == 0; });
  if (std::optional<Layout> dense = dense_blocks(blocks)) return bounds.finish(std::move(*dense));
  std::vector<Layout> children;
  Blocks left = blocks;
  for (Blocks some; !left.empty(); left = left.subspan(some.size())) {
    some = first_alike(left, same_type);
    append_blocks(children, some);
  }
  return bounds.finish(children.size() == 1 ? std::move(children.front()) : sequence_of(std::move(children)));
}

// Arrays

/// What of a dimension belongs to a process: `whole` blocks of `block` indexes, `apart` from one to the next, the
/// first at `first`, then one of `rest` at `rest_at`.
struct Share {
  std::int64_t first = 0, block = 0, apart = 0, whole = 0, rest = 0, rest_at = 0;

  std::int64_t indexes() const { return whole * block + rest; }
  std::int64_t lowest() const { return whole > 0 ? first : rest_at; }
  std::int64_t highest() const { return rest > 0 ? rest_at + rest - 1 : first + (whole - 1) * apart + block - 1; }
};

Share share_of(std::int64_t size, Distribution distribution, std::int64_t darg, std::int64_t processes,
               std::int64_t coordinate) {
  if (distribution == Distribution::none) return {0, size, 0, 1, 0, 0};
  const bool by_block = distribution == Distribution::block;
  const std::int64_t wanted = darg != kDefaultDarg ? darg : by_block ? (size + processes - 1) / processes : 1;
  const std::int64_t block = std::min(wanted, size);
  Share share{coordinate * block, block, block * processes, 0, 0, 0};
  const std::int64_t left = std::max<std::int64_t>(size - share.first, 0);
  share.whole = left / share.apart + (left % share.apart >= block ? 1 : 0);
  share.rest = left % share.apart >= block ? 0 : left % share.apart;
  share.rest_at = share.first + share.whole * share.apart;
  share.apart = share.whole < 2 ? 0 : share.apart;
  return share;
}

Layout shared_layout(const Share& share, std::int64_t stride, const Layout& child) {
  std::vector<Layout> parts;
  if (share.whole > 0) {
    Layout block = repeat_of(share.block, stride, child);
    parts.push_back(share.whole == 1 ? std::move(block) : repeat_of(share.whole, share.apart * stride, block));
    parts.back().offset = share.first * stride;
  }
  if (share.rest > 0) {
    parts.push_back(repeat_of(share.rest, stride, child));
    parts.back().offset = share.rest_at * stride;
  }
  return parts.size() == 1 ? std::move(parts.front()) : sequence_of(std::move(parts));
}

/// A dimension of an array: its number from the one whose indexes are closest in memory.
std::size_t dimension(std::size_t step, std::size_t dimensions, Order order) {
  return order == Order::fortran ? step : dimensions - 1 - step;
}

/// Array types have the bounds of the whole array, whatever part of it they are (MPI-4.1, 5.1.3 and 5.1.4).
Datatype array_of(std::span<const std::int64_t> sizes, const std::vector<Share>& shares, Order order,
                  const Datatype& old) {
  Layout layout = old.layout;
  std::int64_t stride = old.extent, first = 0, last = 0;
  const bool any =
      std::all_of(shares.begin(), shares.end(), [](const Share& share) { return share.indexes() > 0; });
  for (std::size_t step = 0; step < sizes.size(); ++step) {
    const std::size_t i = dimension(step, sizes.size(), order);
    if (any) {
      layout = shallow(shared_layout(shares[i], stride, layout));
      first += shares[i].lowest() * stride;
      last += shares[i].highest() * stride;
    }
    stride *= sizes[i];
  }
  Bounds bounds;
  if (any) {
    bounds.add(old, first);
    bounds.add(old, last);
  }
  Datatype type = bounds.finish(std::move(layout));
  type.lb = 0;
  type.extent = stride;
  type.marked = true;
  return type;
}

}  // namespace

// Constructors

Status check_count(std::int64_t count, const Datatype& type) {
  return first_broken({at_least("count", count, 0), within_reach("count", magnitude(count) * reach_of(type))});
}

Result<Datatype> basic(std::int64_t bytes, std::int64_t alignment) {
  const bool power = alignment >= 0 && (alignment & (alignment - 1)) == 0;
  const Status rules = first_broken(
      {between("bytes", bytes, 0, kFarthestByte / 2), between("alignment", alignment, 0, kFarthestByte / 2),
       power ? Status{} : bad_field("", "alignment", std::to_string(alignment), "a power of two, or 0")});
  if (!rules.ok()) return rules;
  Datatype type;
  type.layout = run_of(bytes);
  type.size = type.extent = type.true_extent = bytes;
  type.alignment = bytes == 0 ? 1 : alignment > 0 ? alignment : default_alignment(bytes);
  return type;
}

Result<Datatype> basic_pair(std::int64_t first, std::int64_t second_at, std::int64_t second, std::int64_t extent) {
  constexpr std::int64_t kMost = 1 << 20;
  Status rules = first_broken({between("first", first, 1, kMost), between("second", second, 1, kMost)});
  if (rules.ok()) rules = between("second_at", second_at, first, kMost);
  if (rules.ok()) rules = between("extent", extent, second_at + second, 4 * kMost);
  if (!rules.ok()) return rules;
  Datatype type;
  type.layout = runs_of({0, second_at}, {first, second});
  type.size = first + second;
  type.extent = extent;
  type.true_extent = second_at + second;
  type.alignment = std::max(default_alignment(first), default_alignment(second));
  return type;
}

Result<Datatype> contiguous(std::int64_t count, const Datatype& old) {
  if (const Status rule = check_count(count, old); !rule.ok()) return rule;
  Bounds bounds;
  bounds.add_block(old, 0, count);
  return bounds.finish(block_of(count, old));
}

Result<Datatype> vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, const Datatype& old) {
  const auto bytes = in_bytes("stride", std::span(&stride, 1), old);
  return bytes.ok() ? hvector(count, blocklength, bytes.value().front(), old) : bytes.status();
}

Result<Datatype> hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes,
                         const Datatype& old) {
  // One block at least: products of the arguments are formed whether there are blocks or not.
  const double blocks = std::max(magnitude(count), 1.0);
  const Status rules = first_broken({at_least("count", count, 0), at_least("blocklength", blocklength, 0),
                                     within_reach("stride", blocks * magnitude(stride_bytes) + reach_of(old)),
                                     within_reach("count", blocks * magnitude(blocklength) * reach_of(old))});
  if (!rules.ok()) return rules;
  Bounds bounds;
  if (count > 0) {
    bounds.add_block(old, 0, blocklength);
    bounds.add_block(old, (count - 1) * stride_bytes, blocklength);
  }
  return bounds.finish(repeat_of(count, stride_bytes, block_of(blocklength, old)));
}

Result<Datatype> indexed(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> displacements,
                         const Datatype& old) {
  const auto bytes = in_bytes("displacements", displacements, old);
  return bytes.ok() ? hindexed(blocklengths, bytes.value(), old) : bytes.status();
}

Result<Datatype> hindexed(std::span<const std::int64_t> blocklengths,
                          std::span<const std::int64_t> byte_displacements, const Datatype& old) {
  const double items =
      std::transform_reduce(blocklengths.begin(), blocklengths.end(), 0.0, std::plus<>{}, magnitude);
  const Status rules = first_broken({as_many("displacements", byte_displacements.size(), blocklengths.size()),
                                     each_at_least("blocklengths", blocklengths, 0),
                                     within_reach("displacements", farthest(byte_displacements) + reach_of(old)),
                                     within_reach("blocklengths", items * reach_of(old))});
  if (!rules.ok()) return rules;
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < blocklengths.size(); ++i) {
    blocks.push_back({byte_displacements[i], blocklengths[i], &old});
  }
  return type_of(std::move(blocks));
}

Result<Datatype> indexed_block(std::int64_t blocklength, std::span<const std::int64_t> displacements,
                               const Datatype& old) {
  const auto bytes = in_bytes("displacements", displacements, old);
  return bytes.ok() ? hindexed_block(blocklength, bytes.value(), old) : bytes.status();
}

Result<Datatype> hindexed_block(std::int64_t blocklength, std::span<const std::int64_t> byte_displacements,
                                const Datatype& old) {
  const auto items = static_cast<double>(byte_displacements.size()) * magnitude(blocklength);
  const Status rules =
      first_broken({at_least("blocklength", blocklength, 0), within_reach("blocklength", items * reach_of(old))});
  const std::vector<std::int64_t> blocklengths(byte_displacements.size(), blocklength);
  return rules.ok() ? hindexed(blocklengths, byte_displacements, old) : rules;
}

Result<Datatype> structure(std::span<const std::int64_t> blocklengths,
                           std::span<const std::int64_t> byte_displacements, std::span<const Datatype> types) {
  Status rules = first_broken({as_many("displacements", byte_displacements.size(), blocklengths.size()),
                               as_many("types", types.size(), blocklengths.size()),
                               each_at_least("blocklengths", blocklengths, 0)});
  std::vector<Block> blocks;
  double items = 0;
  for (std::size_t i = 0; rules.ok() && i < types.size(); ++i) {
    items += magnitude(blocklengths[i]) * reach_of(types[i]);
    blocks.push_back({byte_displacements[i], blocklengths[i], &types[i]});
  }
  if (rules.ok()) rules = within_reach("displacements", farthest(byte_displacements) + items);
  return rules.ok() ? Result(type_of(std::move(blocks))) : rules;
}

Result<Datatype> subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                          std::span<const std::int64_t> starts, Order order, const Datatype& old) {
  Status rules = first_broken({some("sizes", sizes.size()), as_many("subsizes", subsizes.size(), sizes.size()),
                               as_many("starts", starts.size(), sizes.size()), each_at_least("sizes", sizes, 1),
                               within_reach("sizes", product(sizes) * reach_of(old))});
  std::vector<Share> shares;
  for (std::size_t i = 0; rules.ok() && i < sizes.size(); ++i) {
    rules = between(place("subsizes", i), subsizes[i], 1, sizes[i]);
    if (rules.ok()) rules = between(place("starts", i), starts[i], 0, sizes[i] - subsizes[i]);
    shares.push_back({starts[i], subsizes[i], 0, 1, 0, 0});
  }
  return rules.ok() ? Result(array_of(sizes, shares, order, old)) : rules;
}

Result<Datatype> darray(std::int64_t size, std::int64_t rank, std::span<const std::int64_t> gsizes,
                        std::span<const Distribution> distributions, std::span<const std::int64_t> dargs,
                        std::span<const std::int64_t> psizes, Order order, const Datatype& old) {
  Status rules =
      first_broken({some("gsizes", gsizes.size()), as_many("distributions", distributions.size(), gsizes.size()),
                    as_many("dargs", dargs.size(), gsizes.size()), as_many("psizes", psizes.size(), gsizes.size()),
                    at_least("size", size, 1), between("rank", rank, 0, std::max<std::int64_t>(size - 1, 0)),
                    each_at_least("gsizes", gsizes, 1), each_at_least("psizes", psizes, 1),
                    within_reach("gsizes", product(gsizes) * std::max(reach_of(old), 1.0)),
                    within_reach("psizes", product(psizes))});
  if (rules.ok() && product(psizes) != static_cast<double>(size))
    rules = bad_field("", "size", std::to_string(size), "the product of psizes");
  std::vector<Share> shares;
  for (std::size_t i = 0; rules.ok() && i < gsizes.size(); ++i) {
    // Coordinates of the rank: the last dimension is fastest, whatever the order of the array.
    size /= psizes[i];
    rules = check_share(i, gsizes[i], distributions[i], dargs[i], psizes[i]);
    if (rules.ok()) shares.push_back(share_of(gsizes[i], distributions[i], dargs[i], psizes[i], rank / size));
    rank %= size;
  }
  return rules.ok() ? Result(array_of(gsizes, shares, order, old)) : rules;
}

Result<Datatype> resized(const Datatype& old, std::int64_t lb, std::int64_t extent) {
  if (const Status rule = within_reach("extent", magnitude(lb) + magnitude(extent)); !rule.ok()) return rule;
  Datatype type = old;
  type.lb = lb;
  type.extent = extent;
  type.marked = true;
  return type;
}

Layout layout_of(const Datatype& type, std::int64_t count) {
  return block_of(count, type);
}

}  // namespace corewise::kernels
