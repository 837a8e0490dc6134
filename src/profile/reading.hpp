// Reading a run: one pass over its records for everything that is asked of it together.
//
// Contract: fails as open_run does. Every rank's records are streamed once, and once more where waits are asked for
// and the clocks of several nodes must be aligned first. Where waits are asked for, ranks are streamed side by
// side, else one after the other, and each file is closed when it has been read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "profile/call_graph/call_graph.hpp"
#include "profile/profile.hpp"
#include "profile/waits/results.hpp"
#include "profile/waits/share.hpp"
#include "profile/waits/waits.hpp"

namespace corewise::profile {

inline constexpr int kEveryRank = -1;

/// What is asked of a run.
struct RunQuestion {
  bool totals = false;
  bool waits = false;
  bool calls = false;           ///< the call graph of the main world
  int calls_rank = kEveryRank;  ///< of this rank only; where it left no file, the graph has no ranks
  CallGraphLimits limits;
  std::int64_t ended_realtime_ns =
      0;  ///< when the launcher saw the run end: ranks that did not finish lived until then

  [[nodiscard]] bool calls_of(int rank) const { return calls && (calls_rank == kEveryRank || calls_rank == rank); }
};

/// What was not asked for is empty.
struct RunAnswer {
  Profile totals;
  std::vector<WaitWorld> waits;  ///< of the worlds, the main one first
  CallGraph calls;
  std::vector<std::string> problems;  ///< what is wrong with single files, one sentence each
};

Result<RunAnswer> read_run(const std::string& directory, const RunQuestion& question);

/// What a share says of every world, the main one first.
struct SharedWaits {
  std::vector<WorldShare> worlds;
  std::vector<std::string> problems;  ///< as RunAnswer's
};

/// The waits that are in `share`. Reads all records, as read_run does for waits.
Result<SharedWaits> read_wait_share(const std::string& directory, const WaitShare& share);

/// The totals alone.
Result<Profile> read_directory(const std::string& directory);

}  // namespace corewise::profile
