// Paper 002's benchmark: tasks in a ring on the SPEs of one chip, for a given mapping of tasks to threads and of
// threads to SPEs, timed.
//
// Contract. Every task starts with one packet to each neighbour (unidirectional: to its right one) and passes on
// what it receives to the other neighbour. A round is one packet sent to each such neighbour; a transmission is one
// packet sent, so the bidirectional ring's task makes two in a round. Without jitter the run ends as soon as the
// complete state of the machine and the programs repeats; times beyond are then exact, as if simulated. Errors are
// wrong parameters or what the simulated machine refuses.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "cell/parameters.hpp"
#include "lab/mapping/message_library.hpp"

namespace corewise::lab {

struct RingExperiment {
  cell::Parameters machine;
  std::vector<int> spe_of_thread;   ///< where thread T_i runs
  std::vector<int> task_of_thread;  ///< pi: T_i executes task pi(i); a permutation of 0 .. k-1
  std::uint32_t packet_bytes = 1024;
  bool bidirectional = true;
  MatrixLayout layout;
  LibraryCosts costs;
  /// Every turn of the poll loop takes 0 .. so many cycles longer, drawn by `seed`; 0: no jitter.
  std::int64_t jitter_cycles = 0;
  /// Every thread starts 0 .. so many cycles late, drawn by `seed`.
  std::int64_t start_skew_cycles = 0;
  std::uint64_t seed = 1;
  /// The run ends after so many rounds of the task of T_0, or when a state repeats.
  std::int64_t most_rounds = 1000;
  /// Looked for only where nothing is drawn on the way: no jitter_cycles, no jitter_seed of the machine.
  bool find_repeat = true;
  bool check_packets = false;  ///< at the end, every buffer must hold a packet that some task created
  bool trace_packets = false;  ///< fills RingTiming::received
};

/// A packet that a task has taken from a neighbour, told by its content.
struct ReceivedPacket {
  int from = -1;       ///< thread of the neighbour
  int maker = -1;      ///< thread whose task created it; -1: the content is none that was created
  int direction = -1;  ///< 0, 1: the maker's packet for its neighbour with the lower, the higher thread
};

/// A run is given up after so many core cycles per round asked for; the slowest that move on take some 140 000.
inline constexpr std::int64_t kMostCyclesPerRound = 500'000;

/// When the tasks sent their packets.
class RingTiming {
 public:
  /// True where the ring stood still: `kMostCyclesPerRound` per round asked for had passed before the last of them.
  /// Its time per round is then a lower bound. (Retries that meet the next poll again and again can do that.)
  bool stalled = false;
  std::int64_t stopped_at = 0;  ///< when the run was given up, in core cycles; 0 where it was not
  /// The repeat: the state after `first_round` rounds of T_0's task came again `period_rounds` later. Zero rounds:
  /// none was found.
  std::int64_t first_round = 0;
  std::int64_t period_rounds = 0;
  std::int64_t period_cycles = 0;
  std::int64_t rounds = 0;  ///< simulated, of T_0's task
  std::uint64_t events = 0;
  std::int64_t polls = 0;            ///< of all tasks
  std::int64_t retries = 0;          ///< commands that the bus or the memory sent back
  std::int64_t packets_checked = 0;  ///< buffers that held a packet at the end (RingExperiment::check_packets)
  std::int64_t packets_damaged = 0;  ///< of them, those that held none of the packets that were created
  int packets_per_round = 2;
  std::vector<std::vector<std::int64_t>> sent;  ///< per thread: the time of its n-th transmission, in cycles
  std::vector<std::int64_t> sent_at_first;      ///< per thread: transmissions when the repeating state was met

  std::vector<std::vector<ReceivedPacket>> received;  ///< per thread, in order (RingExperiment::trace_packets)

  [[nodiscard]] bool repeats() const { return period_rounds > 0; }
  /// When thread `thread` has made `transmissions` of them: simulated or, beyond, by the repeat. -1 where it is
  /// neither.
  [[nodiscard]] std::int64_t sent_by(int thread, std::int64_t transmissions) const;
  /// When all threads have made `transmissions` each; -1 where that is not known.
  [[nodiscard]] std::int64_t all_sent(std::int64_t transmissions) const;
  /// Cycles per round in the long run: exact where the state repeats, else of the second half of what was
  /// simulated.
  [[nodiscard]] double cycles_per_round() const;
};

Result<RingTiming> time_ring(const RingExperiment& experiment);

/// Mapping number `index` of (k-1)! with pi(0) = 0, in lexicographic order.
std::vector<int> mapping_at(int tasks, std::int64_t index);
/// (k-1)!.
std::int64_t mapping_count(int tasks);
/// The mapping whose ring runs the other way round: task t becomes task -t mod k. The program does not tell them
/// apart, so both take the same time.
std::vector<int> reflected(const std::vector<int>& task_of_thread);
/// Index of a mapping in the order of mapping_at.
std::int64_t mapping_index(const std::vector<int>& task_of_thread);

}  // namespace corewise::lab
