// From layout to layout: block by block where both sides have the same blocks, through a stage that stays in the
// nearest cache where they differ or are so small that whole vectors move several. Contract in pack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "kernels/packing/plans/program.hpp"

namespace corewise::kernels {
namespace {

using Program = PackPlan::Program;

/// A quarter of the smallest nearest cache that processors of these architectures have.
constexpr std::int64_t kStageBytes = 8192;
/// Runs of at least this length are unpacked from where they lie: the pieces of a stage are no longer.
constexpr std::int64_t kLongRun = kStageBytes / 8;

/// From so many bytes on blocks are copied one by one as quickly as by windows.
constexpr std::int64_t kShortestPair = 8;

/// Whether blocks are copied one by one: the same on both sides, and not quicker packed and unpacked.
bool same_blocks(const Program& reader, const Program& writer) {
  const Node& from = reader.root;
  const Node& to = writer.root;
  if (from.kind != Node::Kind::row || to.kind != Node::Kind::row || from.unit != to.unit) {
    return false;
  }
  const bool windows = from.window_kernels.pack != nullptr && to.window_kernels.unpack != nullptr;
  return !windows || from.unit >= kShortestPair;
}

/// Long blocks of the source, each unpacked from where it lies.
void copy_blocks(const Node& from, const std::byte* source, const PackPlan& to, void* target, std::int64_t count,
                 std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += from.unit, source += from.stride) {
    const std::int64_t some = std::min(from.unit, bytes - at);
    to.unpack(target, count, at, source, static_cast<std::size_t>(some));
  }
}

constexpr std::int64_t kLine = 64, kPage = 4096;

/// Whether hardware fetches nothing ahead and a block may lie in two lines: processors then wait for every store
/// that begins in one line and ends in another, unless both have been asked for.
bool far_apart(const Pairs& shape) {
  return std::min(std::abs(shape.to_stride), std::abs(shape.from_stride)) >= kPage && 2 * shape.block > kLine;
}

/// The first and the last line of some blocks; addresses only, nothing is read.
template <int write>
void ask_for_blocks(const std::byte* first, std::int64_t stride, std::int64_t block, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* const each = first + i * stride;
    __builtin_prefetch(each, write);
    __builtin_prefetch(each + block - 1, write);
  }
}

/// Block by block; where they are far apart the next ones' lines come while some are copied.
void copy_pairs(CopyPairs copy, std::byte* to, const std::byte* from, const Pairs& shape) {
  constexpr std::int64_t kSome = 8;
  if (!far_apart(shape)) {
    return copy(to, from, shape);
  }
  const auto ask = [&](std::int64_t at) {
    const std::int64_t some = std::min(kSome, shape.count - at);
    ask_for_blocks<0>(from + at * shape.from_stride, shape.from_stride, shape.block, some);
    ask_for_blocks<1>(to + at * shape.to_stride, shape.to_stride, shape.block, some);
  };
  ask(0);
  for (std::int64_t at = 0; at < shape.count; at += kSome) {
    Pairs part = shape;
    part.count = std::min(kSome, shape.count - at);
    ask(at + kSome);
    copy(to + at * shape.to_stride, from + at * shape.from_stride, part);
  }
}

}  // namespace

bool owner_packs(const PackPlan& plan, const StageCosts& costs) {
  const double lines = 1 / std::max(plan.line_density(), 1e-9);
  const auto cost = [&](const StageCosts::Way& way) {
    return way.data + way.line * lines + way.page * plan.pages_per_line();
  };
  return cost(costs.direct) > cost(costs.stage);
}

void copy_items(const PackPlan& from, const void* source, std::int64_t source_count, const PackPlan& to,
                void* target, std::int64_t target_count) {
  const Program& reader = *from.program_;
  const Program& writer = *to.program_;
  const std::int64_t bytes = std::min(source_count * reader.size, target_count * writer.size);
  if (bytes == 0) {
    return;
  }
  const auto* const items = static_cast<const std::byte*>(source) + reader.root.offset;
  auto* const places = static_cast<std::byte*>(target) + writer.root.offset;
  if (reader.contiguous) {
    to.unpack(target, target_count, 0, items, static_cast<std::size_t>(bytes));
  } else if (writer.contiguous) {
    from.pack(source, source_count, 0, places, static_cast<std::size_t>(bytes));
  } else if (same_blocks(reader, writer)) {
    const Node& root = reader.root;
    copy_pairs(reader.set->pairs(root.unit), places, items,
               {root.unit, writer.root.stride, root.stride, bytes / root.unit});
  } else if (reader.root.kind == Node::Kind::row && reader.root.unit >= kLongRun) {
    copy_blocks(reader.root, items, to, target, target_count, bytes);
  } else {
    alignas(64) std::byte stage[kStageBytes];
    for (std::int64_t at = 0; at < bytes; at += kStageBytes) {
      const auto some = static_cast<std::size_t>(std::min(kStageBytes, bytes - at));
      from.pack(source, source_count, at, stage, some);
      to.unpack(target, target_count, at, stage, some);
    }
  }
}

}  // namespace corewise::kernels
