// Placement cost: the contended time of a placement, as a cost function for the searches of room place. Owns which
// model times which machine, the weights of several patterns that share one placement, and the jitter of a run.
//
// Two models. `flow`: whole messages share links max-min fairly (sim::FlowNetwork). `simulated`: packet by packet;
// a machine whose [simulation] model is "cell" runs as a whole Cell (TimeOptions::cell), every other one as its
// interconnect (sim::run_pattern). The cost is the sum over the patterns of weight times the time until the
// last message is there.
//
// Jitter. Without it a simulation is deterministic: run after run takes the same time. With it a run draws, anew
// for every seed and every placement, what differs between two runs of one program: on an interconnect every link's
// latency grows by a share of itself drawn from [0, jitter), so that messages start and meet at other times; on a
// Cell the pauses of the data rings are drawn (its jitter_seed; `jitter` is then only on or off).
//
// Contract: a pure function of machine, patterns, options and placement. Times are ns.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "pattern/pattern.hpp"
#include "place/cost.hpp"
#include "place/given_cost.hpp"
#include "sim/pattern_result.hpp"
#include "sim/pattern_run.hpp"

namespace corewise::lab {

enum class TimeModel { flow, simulated };

/// "flow", "simulated".
std::string_view name_of(TimeModel model);

/// Runs a pattern on a machine that is simulated as a whole Cell: run_pattern_on_cell.
using CellRun = Result<sim::PatternResult> (*)(const machine::Machine&, const pattern::Pattern&,
                                               const machine::Placement&, const sim::PatternOptions&);

/// Whether a model runs a machine so.
bool on_whole_cell(const machine::Machine& machine, TimeModel model);

struct TimeOptions {
  TimeModel model = TimeModel::simulated;
  sim::Separation separation = sim::Separation::dependence;
  int repetitions = 1;
  double jitter = 0;       ///< 0: none; at most 100
  std::uint64_t seed = 1;  ///< of the jitter
  CellRun cell = nullptr;  ///< handed in, so that this file needs no simulated Cell
};

/// A pattern and how much its time counts.
struct WeightedPattern {
  pattern::Pattern pattern;
  double weight = 1;
};

/// No weights: 1 each; else one per pattern, or an error.
Result<std::vector<WeightedPattern>> weighted(const std::vector<pattern::Pattern>& patterns,
                                              const std::vector<double>& weights);

class ContendedTime {
 public:
  /// Refuses no pattern or patterns of different sizes, more ranks than units, a weight or a jitter out of range,
  /// a whole Cell without `cell`, and what the runs of the patterns refuse.
  static Result<ContendedTime> of(machine::Machine machine, std::vector<WeightedPattern> patterns,
                                  const TimeOptions& options);

  [[nodiscard]] const machine::Machine& machine() const { return machine_; }
  [[nodiscard]] const std::vector<WeightedPattern>& patterns() const { return patterns_; }
  [[nodiscard]] int ranks() const { return patterns_.front().pattern.ranks; }
  [[nodiscard]] int units() const { return static_cast<int>(machine_.units.size()); }
  [[nodiscard]] TimeModel model() const { return options_.model; }
  [[nodiscard]] double jitter() const { return options_.jitter; }
  /// Whether the whole Cell is simulated.
  [[nodiscard]] bool on_cell() const { return on_whole_cell(machine_, options_.model); }

  /// Refuses a placement that does not fit.
  Result<double> time_ns(place::Assignment unit_of_rank);
  /// That time, ns, and the messages that it waits for: the last of each phase of each pattern.
  Result<place::Awaited> awaited(place::Assignment unit_of_rank);

 private:
  ContendedTime(machine::Machine machine, std::vector<WeightedPattern> patterns, const TimeOptions& options);
  Status check() const;
  void draw(place::Assignment unit_of_rank);
  Result<sim::PatternResult> run(const pattern::Pattern& pattern, const machine::Placement& placement) const;

  machine::Machine machine_;
  std::vector<WeightedPattern> patterns_;
  TimeOptions options_;
  std::vector<double> latency_ns_;  ///< of the links, without jitter
};

/// The time as a cost that place::Searcher minimises: by flow it is symmetric, by simulation it is not. Refuses
/// jitter: a cost must not be drawn.
Result<place::GivenCost> given_cost(ContendedTime time, std::uint64_t evaluations = 50'000);

}  // namespace corewise::lab
