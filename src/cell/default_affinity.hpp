// The assignment of threads to SPEs that one gets without asking: what paper 000 calls the default affinity, "not
// deterministic", yet "each of the 8! permutations is not equally likely" and eight trials gave only two of them
// (section 3 and footnote 1).
//
// The mechanism is the operating system's list of free SPEs (Linux spufs: a context takes the list's head, an ended
// one goes to its tail). A job that takes every SPE and gives them back in the order it took them leaves the list
// as it was, so the next trial meets the same affinity; what disturbs the list between trials is somebody else's
// job, which takes a few from the head and gives them back in the order in which its threads happen to end.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "base/rng.hpp"

namespace corewise::cell {

/// The free SPEs, the next one to be given first. Empty: not yet drawn. Kept from trial to trial by the caller.
struct FreeSpes {
  std::vector<int> order;
};

/// How much the list is disturbed (inferred: no source has it).
struct DefaultAffinity {
  /// The SPEs a thread may get, in the order in which the system found them at its start.
  std::vector<int> spes = {0, 1, 2, 3, 4, 5, 6, 7};
  /// Probability that some other job came between two trials: eight trials with two affinities are one change in
  /// seven steps.
  double disturbance = 1.0 / 7.0;
  /// Other jobs since the start of the system, drawn from 0 .. this: few, hence the orders are not equally likely.
  int jobs_before = 3;
};

/// The affinity of the next trial: element i is the physical SPE of the thread created i-th. `state` is advanced.
std::vector<int> default_affinity(Rng& rng, FreeSpes& state, const DefaultAffinity& how = {});

/// One other job on the list: takes up to all free SPEs from the head, gives them back to the tail in any order.
void disturb(Rng& rng, FreeSpes& state);

}  // namespace corewise::cell
