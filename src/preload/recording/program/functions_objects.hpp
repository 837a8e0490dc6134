// Objects: the program and the libraries that are loaded, as far as names of addresses need them.
//
// Contract: what is loaded while the program runs (dlopen) is described in the trace when functions of it are in a
// buffer that is full, so that addresses have names after the run. Hooks run in signal handlers, which may
// interrupt the loader or the C library at any instruction, also where they hold a lock: so nothing here asks the
// loader, allocates, takes a lock or waits. The kernel is asked instead, through /proc/self/maps.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace corewise::preload {

/// Appends a MAPS block: the executable mappings, enough to turn addresses into names after the run.
void append_maps();

/// Appends a MAPS block if a function that was entered in these records lies in no mapping that is described.
void note_new_objects(const std::byte* records, const std::byte* end);

/// How often mappings were described so far. If this address lies in none of them, they are described once more.
std::uint64_t descriptions_with(std::uint64_t address);

}  // namespace corewise::preload
