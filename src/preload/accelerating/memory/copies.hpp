// Copies: which loops bring a rank's data to where its peers read them, through the caches or past them. It depends
// on the processor and on how far apart the cores are (docs/decisions/0012-collectives-past-the-caches.md), and a
// hypervisor moves those; so it is measured, once in a process, between the ranks of its first communicator. What a
// rank chooses changes nothing for the others but the time. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "coll/rank.hpp"
#include "shm/port.hpp"

namespace corewise::preload::accelerating {

/// At the begin: by `told`, a tuning in one line (kernels/copy/copy.hpp); or past the caches where that may pay,
/// until it is measured.
void choose_copies(std::string_view told);

/// Whether there is a choice at all: of a processor where data may go past the caches, and nothing was told.
bool copies_may_be_measured();
/// What this process has measured, in words: `through the caches` or `past the caches`; empty before.
std::string_view copies_found();

/// Collective over the ranks of `me`, each of which has a core of its own; their stages must be free. Some tens of
/// microseconds. A process that measures again, with other ranks, goes past the caches if it paid with any.
void measure_copies(coll::Rank<shm::ShmPort>& me);

}  // namespace corewise::preload::accelerating
