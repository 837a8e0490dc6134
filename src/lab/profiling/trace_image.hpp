// A trace file as bytes, from the event pages that an SPE's recorder left in main memory: what the PPE writes when
// all SPEs have ended, one file per SPE (paper 003, section 3.2). It is a file of room trace, so `corewise report`
// and everything else reads it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cell/system.hpp"
#include "lab/profiling/spe_recorder.hpp"

namespace corewise::lab {

/// The file of rank `rank` of `size`; its recorder has stopped.
std::vector<std::byte> trace_image(cell::System& system, const SpeRecorder& recorder, EventLayout layout,
                                   std::uint32_t half_bytes, int rank, int size);

/// What a recorder's pages hold, in order.
std::vector<EventFields> events_in_pages(cell::System& system, const SpeRecorder& recorder, EventLayout layout,
                                         std::uint32_t half_bytes);

}  // namespace corewise::lab
