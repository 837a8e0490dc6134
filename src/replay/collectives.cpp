// Which algorithm is taken. SPDX-License-Identifier: BSD-3-Clause
#include "replay/collectives.hpp"

namespace corewise::replay {

Selection::Selection() {
  for (const AlgorithmRow& row : algorithm_rows()) chosen_.emplace(row.collective, row.expand);
}

Status Selection::choose(const std::string& collective, const std::string& algorithm) {
  std::string collectives;
  std::string algorithms;
  for (const AlgorithmRow& row : algorithm_rows()) {
    if (row.collective == collective && row.name == algorithm) {
      chosen_[collective] = row.expand;
      return {};
    }
    const std::string name(row.collective);
    const std::string next = (collectives.empty() ? "" : ", ") + name;
    if (!(", " + collectives).ends_with(", " + name)) collectives += next;
    if (row.collective == collective) algorithms.append(algorithms.empty() ? "" : ", ").append(row.name);
  }
  if (algorithms.empty()) return bad_field("", "collective", collective, collectives);
  return bad_field("", "algorithm of " + collective, algorithm, algorithms);
}

Expand Selection::of(std::string_view collective) const {
  const auto at = chosen_.find(collective);
  return at == chosen_.end() ? nullptr : at->second;
}

}  // namespace corewise::replay
