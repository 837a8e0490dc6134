// Ring all-gather: in ranks-1 steps every rank passes on the block that it got in the step before.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/collectives.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    dense_ranks_parameter,
    {"bytes", ParameterKind::bytes, "4096", "bytes per block"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  return from_schedule(
      "ring_all_gather", ranks, schedule::ring_steps(ranks),
      [&](int rank, int step) { return schedule::ring_peers(ranks, rank, step); },
      [&](int, int) { return values.bytes("bytes"); });
}

}  // namespace

Family ring_all_gather() {
  return {"ring_all_gather", "all-gather in ranks-1 steps around the ring", parameters, build};
}

}  // namespace corewise::pattern::generators
