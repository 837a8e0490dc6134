// Hypervisor: the program that a PS3's firmware runs on an SPE which Linux does not see (paper 002, section 2.1).
// What it does is not public; here it reads some bytes of main memory at fixed intervals. Off by default.
//
// It ends when nothing else is left to do, so a run ends, and a deadlock is seen, at most one interval later.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace corewise::cell {

class System;

/// Starts it on the last SPE of the first chip that programs may not use, if Parameters::hypervisor_bytes says so.
/// A machine that hides no SPE has none.
void start_hypervisor(System& system);

}  // namespace corewise::cell
