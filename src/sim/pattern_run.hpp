// Runs a pattern on a machine's network: every message of every phase, with the order between phases that the
// options ask for. The Cell has a runner of its own in room lab, with the same result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "pattern/pattern.hpp"
#include "sim/networks/network.hpp"
#include "sim/pattern_result.hpp"
#include "sim/timeline.hpp"

namespace corewise::sim {

/// What a rank waits for before its next phase.
enum class Separation {
  dependence,  ///< its own sends and receives of the phase
  barrier,     ///< those of every rank (a barrier that costs nothing)
};

/// "dependence", "barrier".
std::string_view name_of(Separation separation);

struct PatternOptions {
  Granularity granularity = Granularity::packet;
  Separation separation = Separation::dependence;
  int repetitions = 1;
  /// Messages of one entry of a phase that are under way at once; the next follows a delivery.
  int messages_in_flight = 4;
  /// Where the run's transfers are recorded, one track per unit; may be null.
  Timeline* timeline = nullptr;
};

/// The most messages (and phases) that a run simulates, repetitions counted.
inline constexpr std::uint64_t kMaxRunMessages = 10'000'000;

/// The most bytes that a run simulates, repetitions counted. By packet: 2^30 packets of a Cell. By flow: what takes
/// fewer picoseconds than Time holds, on slow links too.
inline constexpr std::uint64_t kMaxPacketBytes = std::uint64_t{128} << 30;
inline constexpr std::uint64_t kMaxFlowBytes = std::uint64_t{128} << 40;

/// Ranks without a message in a phase pass it at once. A message to oneself takes no time. Refuses a placement that
/// does not fit, more than kMaxRunMessages messages or too many bytes, and a [simulation] table the network
/// does not know.
Result<PatternResult> run_pattern(const machine::Machine& machine, const pattern::Pattern& pattern,
                                  const machine::Placement& placement, const PatternOptions& options = {});

// ---- for other runners of patterns ----

/// What run_pattern refuses before it looks at the network: every runner's bounds.
Status check_run(const machine::Machine& machine, const pattern::Pattern& pattern,
                 const machine::Placement& placement, const PatternOptions& options);
/// The result before the run: its phases (start -1) and transfers, with the pattern's name and repetitions.
PatternResult planned_result(const pattern::Pattern& pattern, const PatternOptions& options);
/// Messages of an entry: one that counts none is one all the same, since somebody waits for it.
std::uint64_t count_of(const pattern::Message& entry);
/// Bytes of message `index` of an entry; the first ones get what does not divide.
std::uint64_t bytes_of(const pattern::Message& entry, std::uint64_t index);

}  // namespace corewise::sim
