// From layout to layout: long blocks from where they lie, others through a stage that stays in the nearest cache.
// Copying equal blocks one by one instead gained at most a twentieth. Contract in pack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>

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
                 std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += from.unit, source += from.stride) {
    const std::int64_t some = std::min(from.unit, bytes - at);
    to.unpack(target, count, at, source, static_cast<std::size_t>(some));
  }
}

}  // namespace

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
