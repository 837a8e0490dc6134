// The default affinity: a list of free SPEs and the jobs that disturb it. Invariant: the list is always a
// permutation of the SPEs it was given. SPDX-License-Identifier: BSD-3-Clause
#include "cell/default_affinity.hpp"

#include <cstddef>
#include <span>

namespace corewise::cell {

void disturb(Rng& rng, FreeSpes& state) {
  std::vector<int>& order = state.order;
  if (order.empty()) return;
  const auto taken = static_cast<std::ptrdiff_t>(1 + rng.below(order.size()));
  std::vector<int> job(order.begin(), order.begin() + taken);
  order.erase(order.begin(), order.begin() + taken);
  rng.shuffle(std::span<int>(job));
  order.insert(order.end(), job.begin(), job.end());
}

std::vector<int> default_affinity(Rng& rng, FreeSpes& state, const DefaultAffinity& how) {
  if (state.order.empty()) {
    state.order = how.spes;
    const std::uint64_t jobs = rng.below(static_cast<std::uint64_t>(how.jobs_before) + 1);
    for (std::uint64_t job = 0; job < jobs; ++job) disturb(rng, state);
  } else if (rng.uniform() < how.disturbance) {
    disturb(rng, state);
  }
  return state.order;
}

}  // namespace corewise::cell
