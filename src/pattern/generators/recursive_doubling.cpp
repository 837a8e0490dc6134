// Recursive doubling: exchanges along the dimensions of a hypercube; other sizes fold the surplus ranks in and out.
// Constant messages are an all-reduce, growing ones an all-gather.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/collectives.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"bytes", ParameterKind::bytes, "4096", "bytes per message (all-gather: per block)"},
    {"operation", ParameterKind::choice, "all_reduce", "all_reduce: constant messages; all_gather: growing ones",
     "all_reduce|all_gather"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  const std::uint64_t bytes = values.bytes("bytes");
  const bool grows = values.text("operation") == "all_gather";
  if (auto status = check_blocks("recursive_doubling", bytes, ranks); !status.ok()) return status;
  const auto peers = [&](int rank, int step) { return schedule::recursive_doubling_peers(ranks, rank, step); };
  const auto size = [&](int rank, int step) {
    const int blocks = grows ? schedule::recursive_doubling_block_count(ranks, rank, step) : 1;
    return bytes * static_cast<std::uint64_t>(blocks);
  };
  return from_schedule("recursive_doubling", ranks, schedule::recursive_doubling_steps(ranks), peers, size);
}

}  // namespace

Family recursive_doubling() {
  return {"recursive_doubling", "hypercube exchanges of an all-reduce or all-gather", parameters, build};
}

}  // namespace corewise::pattern::generators
