// Ring: every rank sends to the next, to the one before, or both; an open ring is a chain without the closing link.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"bytes", ParameterKind::bytes, "4096", "bytes per message"},
    {"direction", ParameterKind::choice, "both", "to the next rank, to the one before, or both",
     "forward|backward|both"},
    {"periodic", ParameterKind::flag, "yes", "whether the last rank is next to the first"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  const std::string& direction = values.text("direction");
  const bool periodic = values.flag("periodic");
  Phase phase{"exchange", {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const bool last = rank == ranks - 1;
    const bool first = rank == 0;
    if (direction != "backward" && (periodic || !last)) {
      add(phase, rank, (rank + 1) % ranks, values.bytes("bytes"));
    }
    if (direction != "forward" && (periodic || !first)) {
      add(phase, rank, (rank + ranks - 1) % ranks, values.bytes("bytes"));
    }
  }
  return Pattern{"ring", ranks, {std::move(phase)}};
}

}  // namespace

Family ring() {
  return {"ring", "neighbours on a ring, one way or both ways", parameters, build};
}

}  // namespace corewise::pattern::generators
