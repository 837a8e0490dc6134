// Running a plan: from any place of the packed stream, at the cost of the part that is asked for.
//
// A part is the end of one member, whole members, and the beginning of another; whole members go to the kernels,
// the two ends to the level below.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "kernels/packing/plans/program.hpp"

namespace corewise::kernels {
namespace {

using Kind = Node::Kind;

struct Place {
  std::int64_t member;
  std::int64_t skip;
};

inline Place divide(std::int64_t at, std::int64_t unit) {
  return {at / unit, at % unit};
}

/// One direction of packing; `Items` and `Stream` are pointers to bytes, the source's to constant ones.
template <bool packing>
class Walk {
 public:
  using Items = std::conditional_t<packing, const std::byte*, std::byte*>;
  using Stream = std::conditional_t<packing, std::byte*, const std::byte*>;

  /// Of items that are one run.
  static void contiguous(const Node& node, std::int64_t from, std::int64_t bytes, Items items, Stream stream) {
    move(items + node.offset + from, stream, bytes);
  }

  /// All of the first `members` members.
  static void whole(const Node& node, std::int64_t members, Items items, Stream stream) {
    items += node.offset;
    if (node.kind == Kind::run) {
      move(items, stream, node.unit);
    } else {
      middle(node, 0, members, items, stream);
    }
  }

  /// Bytes [from, from + bytes) of a node's stream, of any number of members.
  static void part(const Node& node, std::int64_t from, std::int64_t bytes, Items items, Stream stream) {
    items += node.offset;
    if (node.kind == Kind::run) {
      move(items + from, stream, bytes);
    } else if (node.kind == Kind::sequence) {
      children(node, from, bytes, items, stream);
    } else {
      members(node, from, bytes, items, stream);
    }
  }

 private:
  static void move(Items items, Stream stream, std::int64_t bytes) {
    if constexpr (packing) {
      std::memcpy(stream, items, static_cast<std::size_t>(bytes));
    } else {
      std::memcpy(items, stream, static_cast<std::size_t>(bytes));
    }
  }

  template <class Shape>
  static void run_kernel(const Kernels<Shape>& kernels, const Shape& shape, Items items, Stream stream) {
    if constexpr (packing) {
      kernels.pack(stream, items, shape);
    } else {
      kernels.unpack(items, stream, shape);
    }
  }

  static void members(const Node& node, std::int64_t from, std::int64_t bytes, Items items, Stream stream) {
    auto [first, skip] = divide(from, node.unit);
    if (skip > 0) {
      const std::int64_t head = std::min(node.unit - skip, bytes);
      piece(node, first, skip, head, items, stream);
      stream += head;
      bytes -= head;
      ++first;
    }
    const auto [count, rest] = divide(bytes, node.unit);
    if (count > 0) middle(node, first, count, items, stream);
    if (rest > 0) piece(node, first + count, 0, rest, items, stream + (bytes - rest));
  }

  /// Whether so many rows go together: more than one, and no column of them reaches the next one, so that no block
  /// overlaps another.
  static bool in_tiles(const Node& node, std::int64_t rows) {
    return node.tile_kernels.pack != nullptr && rows > 1 &&
           (packing || rows * std::abs(node.stride) <= std::abs(node.children.front().stride));
  }

  /// Whole groups of members by a window; how many members those are.
  static std::int64_t groups(const Node& node, std::int64_t members, Items items, Stream stream) {
    const std::int64_t many = members / node.window->group;
    if constexpr (packing) {
      node.window_kernels.pack(stream, items, *node.window, many);
    } else {
      node.window_kernels.unpack(items, stream, *node.window, many);
    }
    return many * node.window->group;
  }

  /// Whole members, from `first` on. A few may go before a window's, so that it reads or writes whole lines of the
  /// items: measured on an Intel Xeon (family 6, model 207), masked stores across lines take up to twice as long,
  /// and 32 KB in blocks of 8 bytes are packed in 1.75 us and not in 1.93.
  static void middle(const Node& node, std::int64_t first, std::int64_t count, Items items, Stream stream) {
    items += node.kind == Kind::list ? 0 : first * node.stride;
    if (node.window != nullptr) {
      const auto skip = [&](std::int64_t members) {
        items += members * node.stride;
        stream += members * node.unit;
        count -= members;
      };
      const std::int64_t before = members_to_a_line(*node.window, items + node.window->begin);
      if (before > 0 && before <= count / 4) {
        one_by_one(node, first, before, items, stream);
        skip(before);
      }
      skip(groups(node, count, items, stream));
    }
    one_by_one(node, first, count, items, stream);
  }

  /// Whole members, the first of which is number `first` and at `items`, without a window.
  static void one_by_one(const Node& node, std::int64_t first, std::int64_t count, Items items, Stream stream) {
    switch (node.kind) {
      case Kind::run:
        return;
      case Kind::row:
        run_kernel(node.block_kernels, Blocks{node.unit, node.stride, count, 0, 1}, items, stream);
        return;
      case Kind::table:
        runs_of_table(node, 0, static_cast<std::int64_t>(node.places.size()), count, items, stream);
        return;
      case Kind::repeat:
        if (is_grid(node)) {
          rows(node, count, items, stream);
          return;
        }
        [[fallthrough]];
      case Kind::list:
        for (std::int64_t i = 0; i < count; ++i, stream += node.unit) {
          const std::int64_t member = node.kind == Kind::list ? first + i : i;
          whole(node.children.front(), node.children.front().members, items + at(node, member), stream);
        }
        return;
      case Kind::sequence:
        for (const Node& child : node.children) {
          whole(child, child.members, items, stream);
          stream += child.size;
        }
        return;
    }
  }

  /// Whether rows of blocks go to a loop of two dimensions: all but those that a window moves.
  static bool is_grid(const Node& node) {
    const Node& row = node.children.front();
    return row.kind == Kind::row && (row.window == nullptr || row.members < row.window->group);
  }

  static void rows(const Node& node, std::int64_t count, Items items, Stream stream) {
    const Node& row = node.children.front();
    run_kernel(in_tiles(node, count) ? node.tile_kernels : row.block_kernels,
               Blocks{row.unit, row.stride, row.members, node.stride, count}, items, stream);
  }

  /// Where a member begins.
  static std::int64_t at(const Node& node, std::int64_t member) {
    return node.kind == Kind::list ? node.offsets[static_cast<std::size_t>(member)] : member * node.stride;
  }

  /// A part of one member.
  static void piece(const Node& node, std::int64_t member, std::int64_t skip, std::int64_t bytes, Items items,
                    Stream stream) {
    items += at(node, member);
    switch (node.kind) {
      case Kind::row:
        move(items + skip, stream, bytes);
        return;
      case Kind::table:
        piece_of_table(node, skip, bytes, items, stream);
        return;
      case Kind::repeat:
      case Kind::list:
        part(node.children.front(), skip, bytes, items, stream);
        return;
      case Kind::run:
      case Kind::sequence:
        return;
    }
  }

  static void piece_of_table(const Node& node, std::int64_t from, std::int64_t bytes, Items items, Stream stream) {
    const Place begin = place_in_table(node, from);
    std::int64_t run = begin.member;
    if (begin.skip > 0) {
      const std::int64_t head = std::min(length(node, run) - begin.skip, bytes);
      move(items + node.places[static_cast<std::size_t>(run)] + begin.skip, stream, head);
      stream += head;
      bytes -= head;
      ++run;
    }
    if (bytes == 0) return;
    const Place end = place_in_table(node, start(node, run) + bytes);
    runs_of_table(node, run, end.member - run, 1, items, stream);
    if (end.skip > 0)
      move(items + node.places[static_cast<std::size_t>(end.member)], stream + (bytes - end.skip), end.skip);
  }

  /// Some whole runs of a table, of each of `members` members.
  static void runs_of_table(const Node& node, std::int64_t first, std::int64_t count, std::int64_t members,
                            Items items, Stream stream) {
    if (count == 0) return;
    const std::int64_t* lengths = node.lengths.empty() ? nullptr : node.lengths.data() + first;
    run_kernel(node.table_kernels,
               Table{node.block, node.places.data() + first, lengths, count, node.stride, members}, items, stream);
  }

  static std::int64_t length(const Node& node, std::int64_t run) {
    return node.block != 0 ? node.block : node.lengths[static_cast<std::size_t>(run)];
  }

  static std::int64_t start(const Node& node, std::int64_t run) {
    return node.block != 0 ? run * node.block : node.starts[static_cast<std::size_t>(run)];
  }

  static Place place_in_table(const Node& node, std::int64_t at) {
    return node.block != 0 ? divide(at, node.block) : place_in(node, at);
  }

  /// Which of the starts a place lies behind: at the end of all, the last.
  static Place place_in(const Node& node, std::int64_t at) {
    const auto after = std::upper_bound(node.starts.begin(), node.starts.end(), at);
    const std::int64_t index = after - node.starts.begin() - 1;
    return {index, at - node.starts[static_cast<std::size_t>(index)]};
  }

  static void children(const Node& node, std::int64_t from, std::int64_t bytes, Items items, Stream stream) {
    auto [child, skip] = place_in(node, from);
    while (bytes > 0) {
      const Node& next = node.children[static_cast<std::size_t>(child)];
      const std::int64_t some = std::min(next.size - skip, bytes);
      if (some == next.size) {
        whole(next, next.members, items, stream);
      } else {
        part(next, skip, some, items, stream);
      }
      stream += some;
      bytes -= some;
      skip = 0;
      ++child;
    }
  }
};

template <bool packing, class Items, class Stream>
void run_plan(const PackPlan::Program& program, Items items, std::int64_t count, std::int64_t from, Stream stream,
              std::size_t bytes) {
  if (bytes == 0) return;
  if (program.contiguous) {
    Walk<packing>::contiguous(program.root, from, static_cast<std::int64_t>(bytes), items, stream);
  } else if (from == 0 && static_cast<std::int64_t>(bytes) == count * program.size) {
    Walk<packing>::whole(program.root, count * program.per_item, items, stream);
  } else {
    Walk<packing>::part(program.root, from, static_cast<std::int64_t>(bytes), items, stream);
  }
}

constexpr std::size_t kLineBytes = 64;
/// Bytes of the packed buffer that are on their way from another core while as many are worked on: more lines than
/// a core can wait for at once, so that none of its places is idle; fewer lost at 32 KB, as many were no better.
constexpr std::size_t kUnderWay = 2048;

/// Asks to own the lines of [begin, begin + bytes).
void ask_for(const std::byte* begin, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
#if defined(__x86_64__)
    // The builtin asks for reading only, unless the whole file is built for processors that have the instruction;
    // on those without it is no operation.
    asm volatile("prefetchw %0" ::"m"(begin[at]));
#else
    __builtin_prefetch(begin + at, 1);
#endif
  }
}

/// Packs where another core has the lines: while a part is packed those of the next come.
void pack_shared(const PackPlan::Program& program, const std::byte* items, std::int64_t count, std::int64_t from,
                 std::byte* packed, std::size_t bytes) {
  ask_for(packed, std::min(kUnderWay, bytes));
  while (bytes > 0) {
    const std::size_t some = std::min(kUnderWay, bytes);
    ask_for(packed + some, std::min(kUnderWay, bytes - some));
    run_plan<true>(program, items, count, from, packed, some);
    from += static_cast<std::int64_t>(some);
    packed += some;
    bytes -= some;
  }
}

}  // namespace

void PackPlan::pack(const void* items, std::int64_t count, std::int64_t from, void* packed, std::size_t bytes,
                    PackedBuffer buffer) const {
  // Tiles are as high as the whole part allows, and write many lines at once: they do not go piece by piece.
  const bool in_pieces = buffer == PackedBuffer::shared && !program_->tiled;
  (in_pieces ? pack_shared
             : run_plan<true, const std::byte*, std::byte*>)(*program_, static_cast<const std::byte*>(items), count,
                                                             from, static_cast<std::byte*>(packed), bytes);
}

void PackPlan::unpack(void* items, std::int64_t count, std::int64_t from, const void* packed,
                      std::size_t bytes) const {
  run_plan<false>(*program_, static_cast<std::byte*>(items), count, from, static_cast<const std::byte*>(packed),
                  bytes);
}

}  // namespace corewise::kernels
