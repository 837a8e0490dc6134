// From layout to layout: equal blocks one by one, long blocks from where they lie, others through a stage that
// stays in the nearest cache. Out of another core's cache, equal blocks through a stage took a tenth longer at 64
// B, half as long again at 1 KB. Contract in pack.hpp. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/packing/plans/program.hpp"

namespace corewise::kernels {
namespace {

using Program = PackPlan::Program;

/// A quarter of the smallest nearest cache that processors of these architectures have.
constexpr std::int64_t kStageBytes = 8192;
/// Runs of at least this length are unpacked from where they lie: the pieces of a stage are no longer.
constexpr std::int64_t kLongRun = kStageBytes / 8;

/// Long blocks of the source, each unpacked from where it lies.
void copy_blocks(const Node& from, const std::byte* source, const PackPlan& to, void* target, std::int64_t count,
                 std::int64_t at, std::int64_t end) {
  while (at < end) {
    const std::int64_t skip = at % from.unit, some = std::min(from.unit - skip, end - at);
    to.unpack(target, count, at, source + at / from.unit * from.stride + skip, static_cast<std::size_t>(some));
    at += some;
  }
}

/// Whether the blocks of both are equal, in rows of as many, and nothing moves several at a time.
bool alike(const Node& a, const Node& b) {
  const auto plain = [](const Node& node) { return node.window == nullptr && node.tile_kernels.pack == nullptr; };
  if (a.kind != b.kind || a.unit != b.unit || !plain(a) || !plain(b)) return false;
  return a.kind == Node::Kind::row ||
         (a.kind == Node::Kind::repeat && alike(a.children.front(), b.children.front()));
}

/// The loop's view of some members of a row, or of rows.
Blocks blocks_of(const Node& node, std::int64_t members) {
  if (node.kind == Node::Kind::row) return {node.unit, node.stride, members};
  const Node& row = node.children.front();
  return {row.unit, row.stride, row.members, node.stride, members};
}

/// Bytes [at, at + bytes) of nodes that are alike.
void copy_alike(const Node& from, const std::byte* source, const Node& to, std::byte* target, std::int64_t at,
                std::int64_t bytes) {
  const std::int64_t first = at / from.unit;
  std::int64_t skip = at % from.unit;
  const bool nested = from.kind == Node::Kind::repeat,
             in_loop = !nested || from.children.front().kind == Node::Kind::row;
  const Node& row = nested ? from.children.front() : from;
  source += from.offset + first * from.stride;
  target += to.offset + first * to.stride;
  while (bytes > 0) {
    std::int64_t members = 1, some = std::min(from.unit - skip, bytes);
    if (in_loop && some == from.unit) {
      members = bytes / from.unit;
      some = members * from.unit;
      row.block_kernels.copy(target, blocks_of(to, members), source, blocks_of(from, members));
    } else if (nested) {
      copy_alike(row, source, to.children.front(), target, skip, some);
    } else {
      std::memcpy(target + skip, source + skip, static_cast<std::size_t>(some));
    }
    source += members * from.stride;
    target += members * to.stride;
    bytes -= some;
    skip = 0;
  }
}

}  // namespace

void copy_items(const PackPlan& from, const void* source, std::int64_t source_count, const PackPlan& to,
                void* target, std::int64_t target_count) {
  const std::int64_t bytes = std::min(source_count * from.size(), target_count * to.size());
  copy_part(from, source, source_count, to, target, target_count, 0, bytes);
}

void copy_part(const PackPlan& from, const void* source, std::int64_t source_count, const PackPlan& to,
               void* target, std::int64_t target_count, std::int64_t at, std::int64_t bytes) {
  const Program& reader = *from.program_;
  const Program& writer = *to.program_;
  if (bytes == 0) return;
  const auto* const items = static_cast<const std::byte*>(source) + reader.root.offset;
  auto* const places = static_cast<std::byte*>(target) + writer.root.offset;
  if (reader.contiguous) {
    to.unpack(target, target_count, at, items + at, static_cast<std::size_t>(bytes));
  } else if (writer.contiguous) {
    from.pack(source, source_count, at, places + at, static_cast<std::size_t>(bytes));
  } else if (alike(reader.root, writer.root)) {
    copy_alike(reader.root, static_cast<const std::byte*>(source), writer.root, static_cast<std::byte*>(target), at,
               bytes);
  } else if (reader.root.kind == Node::Kind::row && reader.root.unit >= kLongRun) {
    copy_blocks(reader.root, items, to, target, target_count, at, at + bytes);
  } else {
    alignas(64) std::byte stage[kStageBytes];
    for (const std::int64_t end = at + bytes; at < end; at += kStageBytes) {
      const auto some = static_cast<std::size_t>(std::min(kStageBytes, end - at));
      from.pack(source, source_count, at, stage, some);
      to.unpack(target, target_count, at, stage, some);
    }
  }
}

}  // namespace corewise::kernels
