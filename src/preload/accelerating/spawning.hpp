// Spawning: communicators with processes of another launch, where each of them is known to have this library.
//
// A process that spawns others hands them, in their environment, what its library has in its own, and a page of
// shared memory. Each spawned process counts itself there before it begins MPI. When the MPI says that all are
// there, the root of the spawn compares the counts and writes its verdict, which both sides go by. Nobody is ever
// asked who might not answer. What is known of an inter-communicator goes with those that are made from it.
// Processes that meet by a port have nothing in common before, so theirs are the MPI's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/next.hpp"

namespace corewise::preload::accelerating {

/// Before MPI begins: a process that was spawned counts itself.
void announce();
/// After MPI has begun: false where some of those spawned with this process lack the library. Where none does, what
/// leads to the spawners is marked.
bool may_begin();
/// Before MPI ends.
void end_spawning();

/// MPI_Comm_spawn.
int spawn(const char* command, char* argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* inter,
          int errors[]);

/// After `made` was made of `from`, by a call that all of its ranks are in.
void inherit(MPI_Comm from, MPI_Comm made);

/// Whether all processes of a communicator are known to have the library, those of another launch, too. The same on
/// all of its ranks.
bool have_library(MPI_Comm comm);

}  // namespace corewise::preload::accelerating
