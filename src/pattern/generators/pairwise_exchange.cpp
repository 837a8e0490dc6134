// Pairwise exchange: an all-to-all in ranks-1 steps, in each of which every rank has one partner.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/collectives.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    dense_ranks_parameter,
    {"bytes", ParameterKind::bytes, "4096", "bytes per pair of ranks"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  return from_schedule(
      "pairwise_exchange", ranks, schedule::pairwise_exchange_steps(ranks),
      [&](int rank, int step) { return schedule::pairwise_exchange_peers(ranks, rank, step); },
      [&](int, int) { return values.bytes("bytes"); });
}

}  // namespace

Family pairwise_exchange() {
  return {"pairwise_exchange", "all-to-all in ranks-1 steps with one partner each", parameters, build};
}

}  // namespace corewise::pattern::generators
