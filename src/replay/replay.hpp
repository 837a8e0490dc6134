// Replay: a recording on the ranks of a simulated machine, and what came of it.
//
// Contract: one run at a time in a process (others wait). A run that cannot end says who waits for whom, with the
// number of each call; nothing else of it is told. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "replay/collectives.hpp"
#include "replay/recording.hpp"
#include "sim/networks/network.hpp"
#include "simmpi/settings.hpp"
#include "simmpi/world.hpp"

namespace corewise::replay {

/// Failed tests and probes closer than this to each other only waited; farther apart, the program worked between.
inline constexpr double kPolling_ns = 10'000;

struct Options {
  simmpi::Settings settings;
  simmpi::MessageCosts costs;  ///< of messages, where they were measured
  sim::Granularity granularity = sim::Granularity::flow;
  Selection selection;
  double computation = 1;  ///< what the gaps between calls are multiplied by
  sim::Timeline* timeline = nullptr;
  std::vector<double> cuts_ns;  ///< where parts begin, on the recording's time line; increasing
};

/// What lies between two cuts. A rank passes a cut with its first call that began there or later; a part begins
/// when the last rank has.
struct PartResult {
  double recorded_ns = 0;
  double time_ns = 0;
};

struct RankResult {
  double end_ns = 0;
  double computation_ns = 0;  ///< gaps, and calls that are not replayed
  double waiting_ns = 0;
  double recorded_ns = 0;  ///< from its begin to its end, in the recording
  std::uint64_t calls = 0;
};

/// The chain of causes that ends with the last rank's end.
struct CriticalPath {
  int rank = 0;  ///< where it ends
  double computation_ns = 0;
  double transfer_ns = 0;
  double software_ns = 0;
  std::uint64_t messages = 0;
};

struct PairResult {
  int from = 0;
  int to = 0;
  simmpi::Traffic traffic;
};

struct ReplayResult {
  double time_ns = 0;      ///< from the first rank's begin to the last one's end
  double recorded_ns = 0;  ///< the same in the recording
  std::vector<RankResult> ranks;
  CriticalPath path;
  std::vector<PairResult> pairs;
  std::vector<sim::LinkStatistics> links;
  std::vector<PartResult> parts;  ///< one more than cuts
  std::uint64_t collectives = 0;  ///< a call counts on each of its ranks
  std::uint64_t unreplayed = 0;   ///< calls that took their recorded time: one-sided, files, all without a model
  double unreplayed_ns = 0;       ///< summed over ranks
  bool relaxed = false;           ///< sends return before they are received: else the run never ended
  std::uint64_t events = 0;
  double wall_s = 0;
};

/// On a machine, rank r on unit `placement.unit_of_rank[r]`.
Result<ReplayResult> run(const Recording& recording, const machine::Machine& machine,
                         const machine::Placement& placement, const Options& options);

/// Where messages and calls take no time at all, and no send waits for its receive (but a synchronous one).
Result<ReplayResult> run_ideally(const Recording& recording, double computation);

}  // namespace corewise::replay
