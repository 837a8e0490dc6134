// Compares a matrix with every template and sorts what matches. The order of preference is the contract in the
// header; templates and their volume models are in templates.cpp and halo_templates.cpp, one comparison in
// compare.cpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/recognise.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "pattern/recogniser/templates.hpp"

namespace corewise::pattern {
namespace {

struct Ranked {
  Match match;
  int preference = 0;
};

bool better(const Ranked& a, const Ranked& b) {
  if (a.match.degree != b.match.degree) return a.match.degree > b.match.degree;
  if (a.match.volumes_fit != b.match.volumes_fit) return a.match.volumes_fit;
  if (a.preference != b.preference) return a.preference < b.preference;
  return a.match.dims < b.match.dims;
}

/// Exact matches once per label, others once per family; keeps the order.
std::vector<Match> without_repeats(std::vector<Ranked> ranked) {
  std::vector<Match> kept;
  std::set<std::string> labels;
  std::set<std::string> named;
  for (Ranked& entry : ranked) {
    const bool exact = entry.match.degree >= 1.0;
    const bool fresh = exact ? labels.insert(entry.match.label).second : !named.contains(entry.match.family);
    named.insert(entry.match.family);
    if (fresh) kept.push_back(std::move(entry.match));
  }
  return kept;
}

}  // namespace

std::vector<Match> recognise(const Matrix& matrix, double least_degree) {
  const Observed observed(matrix);
  if (observed.pairs().empty()) return {};
  std::vector<Ranked> ranked;
  const auto consider = [&](const std::vector<Template>& templates) {
    for (const Template& pattern : templates) {
      const auto pairs = pattern.group_of ? pattern.expected_pairs : pattern.pairs.size();
      if (observed.most_degree(pairs) < least_degree) continue;
      Match match = compare(pattern, observed);
      if (match.degree >= least_degree) ranked.push_back({std::move(match), pattern.preference});
    }
  };
  consider(plain_templates(observed, least_degree));
  consider(halo_templates(observed, least_degree));
  std::stable_sort(ranked.begin(), ranked.end(), better);
  return without_repeats(std::move(ranked));
}

std::string headline(const std::vector<Match>& matches) {
  const bool named = !matches.empty() && matches.front().degree >= convincing_degree;
  return named ? matches.front().label : "none";
}

}  // namespace corewise::pattern
