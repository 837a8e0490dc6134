// Setting an affinity after the launch, as paper 000 (section 3) did because no call to ask for one worked: the PPE
// creates the threads wherever the system puts them, reads the physical number of each one's SPE, and hands every
// SPE the rank that the wanted affinity gives to that number. The SPEs wait for it before they do anything else.
//
// Contract: a run on a machine of its own; the same input gives the same result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "base/status.hpp"
#include "cell/parameters.hpp"
#include "lab/affinity/affinity.hpp"

namespace corewise::lab {

/// What one SPE was told, as its own program saw it.
struct LaunchedSpe {
  int spe = -1;        ///< its physical number
  int rank = -1;       ///< received in its mailbox
  int neighbour = -1;  ///< the SPE of the rank before it, from the table that the PPE left in main memory
};

struct Launch {
  std::vector<LaunchedSpe> spes;  ///< in the order of the launch
  double time_us = 0;             ///< from the first thread's creation until the last thread had ended
};

/// `launch_order`: the SPE on which the system puts the thread that is created i-th, a permutation of 0 .. 7.
Result<Launch> launch_with_affinity(const cell::Parameters& parameters, const Affinity& launch_order,
                                    const Affinity& wanted);

}  // namespace corewise::lab
