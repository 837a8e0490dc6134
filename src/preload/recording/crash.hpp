// Crashes: where a rank was when a signal ended it (docs/decisions/0013-crash-notes.md).
//
// A handler for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT notes signal, instruction and the top of the stack in
// the mapped file, gives the signal back to whoever had it before, and returns: the fault happens again and meets
// him. Contract: only signals that the program had left at their default when it called MPI_Init are watched, and
// only until it asks for them itself. The handler stores, and calls what may be called there (POSIX.1-2017, 2.4.3).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace corewise::preload {

/// Before MPI_Init: which signals the program handles itself.
void note_own_handlers();

/// After it, in a process that records: watches the others. MPI may have set handlers of its own meanwhile; they
/// get their signals as before, only later.
void watch_crashes();

}  // namespace corewise::preload
