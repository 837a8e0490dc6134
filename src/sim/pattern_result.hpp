// PatternResult: what running a pattern on a simulated machine gives, whichever model ran it (a network of this
// room, or the Cell). Plain data in nanoseconds since the start of the run, so that models with different ticks
// agree. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corewise::sim {

/// All messages of one entry of a phase, in one repetition.
struct TransferResult {
  int repetition = 0;
  int phase = 0;  ///< index into the pattern's phases
  int from = 0;   ///< ranks
  int to = 0;
  std::uint64_t bytes = 0;     ///< of all its messages together
  std::uint64_t messages = 1;  ///< 0 bytes each are legal
  double start_ns = 0;         ///< the first message is sent
  double end_ns = 0;           ///< the last one is there

  /// 1e9 bytes per second; 0 where no time passed.
  [[nodiscard]] double bandwidth_gb_per_s() const {
    return end_ns > start_ns ? static_cast<double>(bytes) / (end_ns - start_ns) : 0;
  }
};

/// One phase in one repetition. Without barriers neighbouring phases overlap.
struct PhaseResult {
  int repetition = 0;
  int phase = 0;
  std::string name;
  std::uint64_t bytes = 0;
  double start_ns = 0;  ///< the first rank enters it
  double end_ns = 0;    ///< the last rank leaves it
};

struct LinkLoad {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
  double busy_ns = 0;
  std::int64_t largest_queue = 0;  ///< -1: the model counts none
};

struct UnitLoad {
  std::string name;
  int rank = -1;  ///< whom the placement put there, -1 for nobody
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_messages = 0;
  std::uint64_t received_messages = 0;
  double waiting_ns = 0;  ///< time lost to others, summed over its messages (UnitStatistics::waiting)
  double idle_ns = 0;     ///< time its rank spent between leaving a phase and entering the next, and at the end
};

struct PatternResult {
  std::string machine;
  std::string pattern;
  std::string model;  ///< "flow", "packet" or "cell"
  int repetitions = 1;
  std::vector<int> unit_of_rank;
  double total_ns = 0;
  std::vector<PhaseResult> phases;        ///< by repetition, then phase
  std::vector<TransferResult> transfers;  ///< by repetition, phase, entry of the pattern
  std::vector<LinkLoad> links;            ///< in the machine's order
  std::vector<UnitLoad> units;            ///< in the machine's order
  std::uint64_t events = 0;               ///< simulated events handled
};

}  // namespace corewise::sim
