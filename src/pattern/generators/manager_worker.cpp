// Manager and workers: one rank hands out tasks to all others and collects their results.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"manager", ParameterKind::integer, "0", "the rank that hands out tasks", {}, 0, most_sparse_ranks - 1},
    {"direction", ParameterKind::choice, "both", "tasks and results, or only one of them",
     "both|from_manager|to_manager"},
    {"bytes", ParameterKind::bytes, "1024", "bytes per task"},
    {"result_bytes", ParameterKind::bytes, "4096", "bytes per result"},
};

Result<Pattern> build(const Values& values) {
  const int ranks = values.integer("ranks");
  const int manager = values.integer("manager");
  if (manager >= ranks) {
    return bad_field("pattern manager_worker", "manager", std::to_string(manager),
                     "a rank from 0 to " + std::to_string(ranks - 1));
  }
  const std::string& direction = values.text("direction");
  Pattern pattern{"manager_worker", ranks, {}};
  Phase tasks{"tasks", {}};
  Phase results{"results", {}};
  for (int rank = 0; rank < ranks; ++rank) {
    add(tasks, manager, rank, values.bytes("bytes"));
    add(results, rank, manager, values.bytes("result_bytes"));
  }
  if (direction != "to_manager") pattern.phases.push_back(std::move(tasks));
  if (direction != "from_manager") pattern.phases.push_back(std::move(results));
  return pattern;
}

}  // namespace

Family manager_worker() {
  return {"manager_worker", "one rank hands out tasks and collects results", parameters, build};
}

}  // namespace corewise::pattern::generators
