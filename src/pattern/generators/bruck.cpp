// Bruck's algorithms: all-gather and all-to-all in ceil(log2 p) steps of growing or collected messages.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/collectives.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"bytes", ParameterKind::bytes, "4096", "bytes per block"},
    {"operation", ParameterKind::choice, "all_gather", "the collective", "all_gather|all_to_all"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  const std::uint64_t bytes = values.bytes("bytes");
  const bool gather = values.text("operation") == "all_gather";
  if (auto status = check_blocks("bruck", bytes, ranks); !status.ok()) return status;
  std::vector<std::uint64_t> step_bytes;
  for (int step = 0; step < schedule::bruck_steps(ranks); ++step) {
    const auto blocks = gather ? static_cast<std::size_t>(schedule::bruck_all_gather_blocks(ranks, step))
                               : schedule::bruck_all_to_all_offsets(ranks, step).size();
    step_bytes.push_back(bytes * blocks);
  }
  const auto peers = [&](int rank, int step) {
    return gather ? schedule::bruck_all_gather_peers(ranks, rank, step)
                  : schedule::bruck_all_to_all_peers(ranks, rank, step);
  };
  const auto size = [&](int, int step) { return step_bytes[static_cast<std::size_t>(step)]; };
  return from_schedule("bruck", ranks, schedule::bruck_steps(ranks), peers, size);
}

}  // namespace

Family bruck() {
  return {"bruck", "Bruck's all-gather or all-to-all in log2(ranks) steps", parameters, build};
}

}  // namespace corewise::pattern::generators
