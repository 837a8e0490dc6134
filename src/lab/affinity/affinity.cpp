// The table of affinities: the paper's lists of (physical ID, thread number), turned round.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/affinity/affinity.hpp"

#include <algorithm>

namespace corewise::lab {
namespace {

/// The paper prints which thread runs on physical SPE p.
constexpr Affinity from_thread_of_spe(const Affinity& thread_of_spe) {
  Affinity spe_of_rank{};
  for (std::size_t spe = 0; spe < thread_of_spe.size(); ++spe) {
    spe_of_rank[static_cast<std::size_t>(thread_of_spe[spe])] = static_cast<int>(spe);
  }
  return spe_of_rank;
}

constexpr std::array<NamedAffinity, 5> kAffinities = {{
    {"identity", "the thread's rank is the SPE's number", from_thread_of_spe({0, 1, 2, 3, 4, 5, 6, 7})},
    {"ring", "neighbouring ranks are neighbours on the bus", from_thread_of_spe({0, 7, 1, 6, 2, 5, 3, 4})},
    {"overlap", "neighbouring ranks are half way across: a lower bound",
     from_thread_of_spe({0, 7, 2, 5, 4, 3, 6, 1})},
    {"even_odd", "even ranks on one side, odd ones on the other", from_thread_of_spe({0, 4, 2, 6, 1, 5, 3, 7})},
    {"leap2", "neighbouring ranks are two apart, both directions in use",
     from_thread_of_spe({0, 4, 7, 3, 1, 5, 6, 2})},
}};

}  // namespace

std::span<const NamedAffinity> affinities() {
  return kAffinities;
}

const NamedAffinity* find_affinity(std::string_view name) {
  const auto* found = std::ranges::find(kAffinities, name, &NamedAffinity::name);
  return found == kAffinities.end() ? nullptr : found;
}

Affinity DefaultAffinities::next() {
  const std::vector<int> order = cell::default_affinity(rng_, free_);
  Affinity spe_of_rank{};
  std::ranges::copy(order, spe_of_rank.begin());
  return spe_of_rank;
}

}  // namespace corewise::lab
