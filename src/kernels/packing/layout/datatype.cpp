// The constructors: a layout and the bounds of its type map, side by side. Contract in datatype.hpp. Every node
// holds a copy of its children, so that what would hold many copies of one layout is built as a list over one; and
// what has no data leaves no node behind. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/layout/datatype.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/packing/simplification/simplify.hpp"

namespace corewise::kernels {
namespace {

using Kind = Layout::Kind;

// Layouts

/// `count` items of a type, one after the other.
Layout block_of(std::int64_t count, const Datatype& old) {
  return repeat_of(count, old.extent, old.layout);
}

/// The one run that a layout of single children is, where it is one.
std::optional<Layout> as_run(const Layout& layout) {
  if (layout.kind == Kind::run) {
    return layout;
  }
  if (layout.kind != Kind::repeat) {
    return std::nullopt;
  }
  const std::optional<Layout> child = as_run(layout.children.front());
  if (!child || (layout.count > 1 && layout.stride != child->bytes)) {
    return std::nullopt;
  }
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

// Lists of blocks

/// What indexed types have in common: block i is `lengths(i)` items, from byte `offsets(i)` on.
struct Blocks {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;  ///< in items

  bool equal() const {
    return std::adjacent_find(lengths.begin(), lengths.end(), std::not_equal_to<>{}) == lengths.end();
  }
};

/// Blocks of a type whose items lie one after the other without a gap.
Layout dense_blocks(Blocks blocks, const Layout& item) {
  for (std::size_t i = 0; i < blocks.offsets.size(); ++i) {
    blocks.offsets[i] += item.offset;
    blocks.lengths[i] *= item.bytes;
  }
  return runs_of(std::move(blocks.offsets), std::move(blocks.lengths));
}

/// Every item by its own offset.
Layout item_by_item(const Blocks& blocks, const Datatype& old) {
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < blocks.offsets.size(); ++i) {
    for (std::int64_t item = 0; item < blocks.lengths[i]; ++item) {
      offsets.push_back(blocks.offsets[i] + item * old.extent);
    }
  }
  return list_of(std::move(offsets), old.layout);
}

/// A child per stretch of blocks of one length.
Layout stretch_by_stretch(const Blocks& blocks, const Datatype& old) {
  std::vector<Layout> children;
  for (std::size_t from = 0, to = 0; from < blocks.offsets.size(); from = to) {
    const std::int64_t length = blocks.lengths[from];
    while (to < blocks.offsets.size() && blocks.lengths[to] == length) {
      ++to;
    }
    const auto begin = blocks.offsets.begin();
    children.push_back(list_of({begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to)},
                               block_of(length, old)));
  }
  return sequence_of(std::move(children));
}

/// Nodes and entries of a layout, which is what a copy of it costs.
std::int64_t weight_of(const Layout& layout) {
  auto weight = static_cast<std::int64_t>(8 + layout.offsets.size() + layout.lengths.size());
  for (const Layout& child : layout.children) {
    weight += weight_of(child);
  }
  return weight;
}

/// Blocks of unequal lengths: whichever form needs less memory, because every child holds a copy of the old layout.
Layout unequal_blocks(const Blocks& blocks, const Datatype& old) {
  std::int64_t stretches = 1;
  std::int64_t items = 0;
  for (std::size_t i = 0; i < blocks.lengths.size(); ++i) {
    stretches += i > 0 && blocks.lengths[i] != blocks.lengths[i - 1] ? 1 : 0;
    items += blocks.lengths[i];
  }
  const std::int64_t weight = weight_of(old.layout) + 16;
  return items / weight <= stretches ? item_by_item(blocks, old) : stretch_by_stretch(blocks, old);
}

Datatype blocks_of(Blocks blocks, const Datatype& old) {
  Bounds bounds;
  for (std::size_t i = 0; i < blocks.offsets.size(); ++i) {
    bounds.add_block(old, blocks.offsets[i], blocks.lengths[i]);
  }
  if (blocks.offsets.empty()) {
    return {};
  }
  if (blocks.equal()) {
    return bounds.finish(list_of(std::move(blocks.offsets), block_of(blocks.lengths.front(), old)));
  }
  if (const std::optional<Layout> item = dense_item(old)) {
    return bounds.finish(dense_blocks(std::move(blocks), *item));
  }
  return bounds.finish(unequal_blocks(blocks, old));
}

// Members of a structure

/// All of types whose items lie one after the other without a gap.
Layout dense_members(std::span<const std::int64_t> lengths, std::span<const std::int64_t> displacements,
                     std::span<const Datatype> types) {
  Blocks blocks;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Layout item = dense_item(types[i]).value_or(Layout{});
    blocks.offsets.push_back(displacements[i] + item.offset);
    blocks.lengths.push_back(lengths[i] * item.bytes);
  }
  return runs_of(std::move(blocks.offsets), std::move(blocks.lengths));
}

/// Member `i` as the one before it: a list then holds one layout for both.
bool same_member(std::size_t i, std::span<const std::int64_t> lengths, std::span<const Datatype> types) {
  return lengths[i] == lengths[i - 1] && types[i].extent == types[i - 1].extent &&
         types[i].layout == types[i - 1].layout;
}

Layout member_by_member(std::span<const std::int64_t> lengths, std::span<const std::int64_t> displacements,
                        std::span<const Datatype> types) {
  std::vector<Layout> members;
  for (std::size_t from = 0, to = 0; from < types.size(); from = to) {
    to = from + 1;
    while (to < types.size() && same_member(to, lengths, types)) {
      ++to;
    }
    if (lengths[from] == 0 || types[from].size == 0) {
      continue;
    }
    Layout block = block_of(lengths[from], types[from]);
    if (to - from == 1) {
      block.offset = displacements[from];
      members.push_back(std::move(block));
    } else {
      const auto begin = displacements.begin() + static_cast<std::ptrdiff_t>(from);
      members.push_back(list_of({begin, begin + static_cast<std::ptrdiff_t>(to - from)}, std::move(block)));
    }
  }
  return sequence_of(std::move(members));
}

std::vector<std::int64_t> scaled(std::span<const std::int64_t> values, std::int64_t factor) {
  std::vector<std::int64_t> result(values.begin(), values.end());
  for (std::int64_t& value : result) {
    value *= factor;
  }
  return result;
}

std::vector<std::int64_t> copied(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

// Arrays

/// A dimension of an array: its number from the one whose indexes are closest in memory.
std::size_t dimension(std::size_t step, std::size_t dimensions, Order order) {
  return order == Order::fortran ? step : dimensions - 1 - step;
}

/// Array types have the bounds of the whole array, whatever part of it they are (MPI-4.1, 5.1.3 and 5.1.4).
Datatype array_of(Layout layout, std::int64_t lb_to_ub, const Bounds& data) {
  Datatype type = data.finish(std::move(layout));
  type.lb = 0;
  type.extent = lb_to_ub;
  type.marked = true;
  return type;
}

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
  if (distribution == Distribution::none) {
    return {0, size, 0, 1, 0, 0};
  }
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
    parts.push_back(repeat_of(share.whole, share.apart * stride, repeat_of(share.block, stride, child)));
    parts.back().offset = share.first * stride;
  }
  if (share.rest > 0) {
    parts.push_back(repeat_of(share.rest, stride, child));
    parts.back().offset = share.rest_at * stride;
  }
  return parts.size() == 1 ? std::move(parts.front()) : sequence_of(std::move(parts));
}

/// Coordinates of a rank in a grid of processes, last dimension fastest whatever the order of the array.
std::vector<std::int64_t> grid_coordinates(std::int64_t rank, std::int64_t size,
                                           std::span<const std::int64_t> psizes) {
  std::vector<std::int64_t> coordinates;
  for (const std::int64_t processes : psizes) {
    size /= processes;
    coordinates.push_back(rank / size);
    rank %= size;
  }
  return coordinates;
}

}  // namespace

// Constructors

Datatype basic(std::int64_t bytes, std::int64_t alignment) {
  Datatype type;
  type.layout = run_of(bytes);
  type.size = type.extent = type.true_extent = bytes;
  type.alignment = bytes == 0 ? 1 : alignment > 0 ? alignment : default_alignment(bytes);
  return type;
}

Datatype basic_pair(std::int64_t first, std::int64_t second_at, std::int64_t second, std::int64_t extent) {
  Datatype type;
  type.layout = runs_of({0, second_at}, {first, second});
  type.size = first + second;
  type.extent = extent;
  type.true_extent = second_at + second;
  type.alignment = std::max(default_alignment(first), default_alignment(second));
  return type;
}

Datatype contiguous(std::int64_t count, const Datatype& old) {
  Bounds bounds;
  bounds.add_block(old, 0, count);
  return bounds.finish(block_of(count, old));
}

Datatype vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, const Datatype& old) {
  return hvector(count, blocklength, stride * old.extent, old);
}

Datatype hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes, const Datatype& old) {
  Bounds bounds;
  if (count > 0) {
    bounds.add_block(old, 0, blocklength);
    bounds.add_block(old, (count - 1) * stride_bytes, blocklength);
  }
  return bounds.finish(repeat_of(count, stride_bytes, block_of(blocklength, old)));
}

Datatype indexed(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> displacements,
                 const Datatype& old) {
  return blocks_of({scaled(displacements, old.extent), copied(blocklengths)}, old);
}

Datatype hindexed(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> byte_displacements,
                  const Datatype& old) {
  return blocks_of({copied(byte_displacements), copied(blocklengths)}, old);
}

Datatype indexed_block(std::int64_t blocklength, std::span<const std::int64_t> displacements, const Datatype& old) {
  return blocks_of({scaled(displacements, old.extent), std::vector(displacements.size(), blocklength)}, old);
}

Datatype hindexed_block(std::int64_t blocklength, std::span<const std::int64_t> byte_displacements,
                        const Datatype& old) {
  return blocks_of({copied(byte_displacements), std::vector(byte_displacements.size(), blocklength)}, old);
}

Datatype structure(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> byte_displacements,
                   std::span<const Datatype> types) {
  Bounds bounds;
  bool dense = true;
  for (std::size_t i = 0; i < types.size(); ++i) {
    bounds.add_block(types[i], byte_displacements[i], blocklengths[i]);
    dense = dense && dense_item(types[i]).has_value();
  }
  return bounds.finish(dense ? dense_members(blocklengths, byte_displacements, types)
                             : member_by_member(blocklengths, byte_displacements, types));
}

Datatype subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                  std::span<const std::int64_t> starts, Order order, const Datatype& old) {
  Layout layout = old.layout;
  Bounds bounds;
  std::int64_t stride = old.extent;
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool any = true;
  for (std::size_t step = 0; step < sizes.size(); ++step) {
    const std::size_t i = dimension(step, sizes.size(), order);
    layout = shallow(repeat_of(subsizes[i], stride, std::move(layout)));
    layout.offset += starts[i] * stride;
    first += starts[i] * stride;
    last += (starts[i] + subsizes[i] - 1) * stride;
    any = any && subsizes[i] > 0;
    stride *= sizes[i];
  }
  if (any) {
    bounds.add(old, first);
    bounds.add(old, last);
  }
  return array_of(std::move(layout), stride, bounds);
}

Datatype darray(std::int64_t size, std::int64_t rank, std::span<const std::int64_t> gsizes,
                std::span<const Distribution> distributions, std::span<const std::int64_t> dargs,
                std::span<const std::int64_t> psizes, Order order, const Datatype& old) {
  const std::vector<std::int64_t> coordinates = grid_coordinates(rank, size, psizes);
  Layout layout = old.layout;
  Bounds bounds;
  std::int64_t stride = old.extent;
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool any = true;
  for (std::size_t step = 0; step < gsizes.size(); ++step) {
    const std::size_t i = dimension(step, gsizes.size(), order);
    const Share share = share_of(gsizes[i], distributions[i], dargs[i], psizes[i], coordinates[i]);
    any = any && share.indexes() > 0;
    if (any) {
      layout = shallow(shared_layout(share, stride, layout));
      first += share.lowest() * stride;
      last += share.highest() * stride;
    }
    stride *= gsizes[i];
  }
  if (any) {
    bounds.add(old, first);
    bounds.add(old, last);
  }
  return array_of(std::move(layout), stride, bounds);
}

Datatype resized(const Datatype& old, std::int64_t lb, std::int64_t extent) {
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
