// From layout to layout: through a stage that stays in the nearest cache. Contract in pack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>

#include "kernels/pack_program.hpp"

namespace corewise::kernels {
namespace {

constexpr std::int64_t kStageBytes = 8192;

}  // namespace

void copy_items(const PackPlan& from, const void* source, std::int64_t source_count, const PackPlan& to,
                void* target, std::int64_t target_count) {
  alignas(64) std::byte stage[kStageBytes];
  const std::int64_t bytes = std::min(source_count * from.size(), target_count * to.size());
  for (std::int64_t at = 0; at < bytes; at += kStageBytes) {
    const auto some = static_cast<std::size_t>(std::min(kStageBytes, bytes - at));
    from.pack(source, source_count, at, stage, some);
    to.unpack(target, target_count, at, stage, some);
  }
}

}  // namespace corewise::kernels
