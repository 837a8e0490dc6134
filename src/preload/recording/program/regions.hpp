// Regions and phases: what the program calls its own parts (python/corewise/include/corewise.h).
//
// Contract: regions nest, per thread; a phase lasts until the thread's next one. What is open when recording starts
// or resumes is recorded then, with the time at which it was opened; what ended before is not. Of a region that
// was opened before MPI_Pcontrol(0) the end is recorded. At most kNames names of kNameBytes are told apart, and
// kOpenRegions regions nest; what is beyond is counted (FileHeader::lost_names) and leaves no record.
// Exports corewise_begin, corewise_end and corewise_phase; safe before MPI_Init, after MPI_Finalize, in every
// thread, and in a signal handler, where it may be counted as lost.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace corewise::preload {

inline constexpr std::uint32_t kNames = 1024;
inline constexpr std::uint32_t kNameBytes = 255;  ///< longer names are cut
inline constexpr std::uint32_t kOpenRegions = 32;

/// Recording has started: the names known so far are written. Where regions are not `wanted` nothing is recorded
/// from here on.
void start_regions(bool wanted);

/// Recording has started or resumed: what is open in the calling thread is recorded. Another thread's is at its
/// next call of the three.
void catch_up_regions();

/// In a forked child: nothing more is recorded.
void forget_regions();

}  // namespace corewise::preload
