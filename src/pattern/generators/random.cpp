// Random sparse pattern: every rank sends to `degree` different others, with sizes drawn evenly from a range. The
// same seed gives the same pattern everywhere.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/rng.hpp"
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"degree", ParameterKind::integer, "3", "receivers per rank, at most ranks-1", {}, 0, most_sparse_ranks - 1},
    {"min_bytes", ParameterKind::bytes, "1024", "smallest message"},
    {"max_bytes", ParameterKind::bytes, "65536", "largest message"},
    {"seed", ParameterKind::integer, "1", "seed of the generator", {}, 0, INT64_MAX},
};

/// `degree` different ranks other than `self`, ascending (Floyd's sampling: one draw per rank chosen).
std::vector<int> receivers(Rng& rng, int ranks, int degree, int self) {
  std::vector<int> chosen;
  for (int last = ranks - 1 - degree; last < ranks - 1; ++last) {
    const int draw = static_cast<int>(rng.below(static_cast<std::uint64_t>(last) + 1));
    const auto at = std::lower_bound(chosen.begin(), chosen.end(), draw);
    const bool taken = at != chosen.end() && *at == draw;
    taken ? chosen.push_back(last) : static_cast<void>(chosen.insert(at, draw));
  }
  for (int& rank : chosen) rank += rank >= self;
  return chosen;
}

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  const int degree = values.integer("degree");
  const std::uint64_t least = values.bytes("min_bytes");
  const std::uint64_t most = values.bytes("max_bytes");
  if (degree > ranks - 1) {
    return bad_field("pattern random", "degree", std::to_string(degree),
                     "an integer from 0 to " + std::to_string(ranks - 1));
  }
  if (const Status few = within_messages("random", ranks, degree); !few.ok()) return few;
  if (least > most || most == UINT64_MAX) {
    return bad_field("pattern random", "max_bytes", std::to_string(most),
                     "at least min_bytes (" + std::to_string(least) + ") and below 2^64-1");
  }
  Rng rng(values.seed("seed"));
  Phase phase{"exchange", {}};
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int to : receivers(rng, ranks, degree, rank))
      add(phase, rank, to, least + rng.below(most - least + 1));
  }
  return Pattern{"random", ranks, {std::move(phase)}};
}

}  // namespace

Family random() {
  return {"random", "seeded random receivers and sizes", parameters, build};
}

}  // namespace corewise::pattern::generators
