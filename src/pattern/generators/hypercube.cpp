// Hypercube: every rank exchanges with the ranks whose number differs in one bit, all in one phase. Of a size that
// is no power of two, the neighbours that do not exist are left out.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"bytes", ParameterKind::bytes, "4096", "bytes per message"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  Phase phase{"exchange", {}};
  for (int rank = 0; rank < ranks; ++rank) {
    for (int bit = 1; bit < ranks; bit *= 2) {
      if ((rank ^ bit) < ranks) add(phase, rank, rank ^ bit, values.bytes("bytes"));
    }
  }
  return Pattern{"hypercube", ranks, {std::move(phase)}};
}

}  // namespace

Family hypercube() {
  return {"hypercube", "exchange with every rank whose number differs in one bit", parameters, build};
}

}  // namespace corewise::pattern::generators
