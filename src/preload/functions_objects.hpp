// Objects: the program and the libraries that are loaded, as far as names of addresses need them.
//
// Contract: what is loaded while the program runs (dlopen) is described in the trace at the next change of buffers,
// so that addresses have names after the run. Nothing here allocates or takes a lock that is held while a library's
// constructors run.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace corewise::preload {

/// Appends a MAPS block: the executable mappings, enough to turn addresses into names after the run.
void append_maps();

/// What is loaded now is described already.
void know_objects();

/// Appends a MAPS block if libraries were loaded since the last look. Costs a walk of one step where none was.
void note_new_objects();

/// How often a library was loaded or unloaded so far.
std::uint64_t object_changes();

}  // namespace corewise::preload
