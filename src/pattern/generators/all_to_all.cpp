// All-to-all: every rank sends to every other, in one phase without order.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    dense_ranks_parameter,
    {"bytes", ParameterKind::bytes, "4096", "bytes per pair of ranks"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  Phase phase{"exchange", {}};
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) add(phase, from, to, values.bytes("bytes"));
  }
  return Pattern{"all_to_all", ranks, {std::move(phase)}};
}

}  // namespace

Family all_to_all() {
  return {"all_to_all", "every rank to every other", parameters, build};
}

}  // namespace corewise::pattern::generators
