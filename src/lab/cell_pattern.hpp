// Runs a pattern on a simulated Cell: every rank a program on its SPE that gets what others send it, by DMA from
// their local stores.
//
// How a phase goes. A sender raises a flag at each of its receivers; a receiver gets what is announced, all senders
// at a time, and raises a flag back; a sender goes on when all that it sent is fetched. With
// sim::Separation::barrier all ranks meet between phases (the pairwise-exchange barrier) instead of raising flags.
// Both cost what they cost on the Cell. Data beyond a window of 64 KB wrap round in the local stores.
//
// Contract: as sim::run_pattern, for machines whose [simulation] model is "cell"; `granularity` and
// `messages_in_flight` have no meaning here (the MFC's queue decides). A link's busy time is the mean over its
// parallel rings, its largest queue is not known. A unit's bytes and messages are those of the commands that its
// program gave. `after`, where given, sees the machine after the run. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/status.hpp"
#include "cell/system.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "pattern/pattern.hpp"
#include "sim/pattern_result.hpp"
#include "sim/pattern_run.hpp"

namespace corewise::lab {

/// In every local store: what a rank sends, and where it gets what others send. Message after message, each at a
/// quadword's start, at the same offset in both windows.
inline constexpr cell::LsAddress kCellSource = 0x10000;
inline constexpr cell::LsAddress kCellDestination = 0x20000;
inline constexpr std::uint32_t kCellWindow = 64 * 1024;
/// What rank `rank` sends from offset `at` of its window; never 0.
std::byte cell_source_byte(int rank, std::uint32_t at);

Result<sim::PatternResult> run_pattern_on_cell(const machine::Machine& machine, const pattern::Pattern& pattern,
                                               const machine::Placement& placement,
                                               const sim::PatternOptions& options = {},
                                               const std::function<void(cell::System&)>& after = {});

}  // namespace corewise::lab
