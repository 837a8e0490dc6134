// Dissemination: in step k every rank signals the rank 2^k ahead (barriers).
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/collectives.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"bytes", ParameterKind::bytes, "8", "bytes per message"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  return from_schedule(
      "dissemination", ranks, schedule::dissemination_steps(ranks),
      [&](int rank, int step) { return schedule::dissemination_peers(ranks, rank, step); },
      [&](int, int) { return values.bytes("bytes"); });
}

}  // namespace

Family dissemination() {
  return {"dissemination", "barrier by signals to the rank 2^k ahead", parameters, build};
}

}  // namespace corewise::pattern::generators
