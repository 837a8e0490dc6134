// Pattern runs: which rank is in which phase, and what is still due there.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/pattern_run.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace corewise::sim {
namespace {

using pattern::Message;
using pattern::Pattern;
using pattern::Phase;

/// What a phase asks of each rank, the same in every repetition.
struct PhasePlan {
  std::vector<std::vector<int>> entries_of_rank;  ///< entries that the rank sends
  std::vector<int> due_of_rank;                   ///< entries to send or receive
  std::size_t first_transfer = 0;                 ///< of the phase's first entry, in repetition 0
};

/// Progress of one phase in one repetition; made when the first rank reaches it.
struct Step {
  std::vector<int> due_of_rank;
  int ranks_inside = 0;  ///< ranks that have not left it, present or not yet
};

struct Transfer {
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
};

class Run {
 public:
  Run(Engine& engine, Network& network, const machine::Machine& machine, const Pattern& pattern,
      const machine::Placement& placement, const PatternOptions& options);

  void begin();
  PatternResult result() &&;

 private:
  static void delivered_one(void* self, std::uint64_t transfer);

  [[nodiscard]] int phases() const { return static_cast<int>(pattern_.phases.size()); }
  [[nodiscard]] int steps() const { return phases() * options_.repetitions; }
  [[nodiscard]] double now_ns() const { return engine_.to_ns(engine_.now()); }
  void plan(const Phase& phase);
  Step& step_of(int step);
  void enter(int rank, int step);
  void start_transfer(std::size_t transfer);
  void send_next(std::size_t transfer);
  void finish_part(int rank, int step);
  void leave(int rank, int step);
  void advance(int rank);
  void open_barrier(int step);
  void finish_transfer(std::size_t transfer);
  [[nodiscard]] const Message& entry_of(std::size_t transfer) const;

  Engine& engine_;
  Network& network_;
  const machine::Machine& machine_;
  const Pattern& pattern_;
  const PatternOptions& options_;
  std::vector<machine::UnitId> unit_of_rank_;
  std::vector<PhasePlan> plans_;
  std::size_t transfers_per_repetition_ = 0;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<int> step_of_rank_;
  std::vector<double> left_at_ns_;  ///< per rank: when it left its last phase
  std::vector<double> idle_ns_;
  std::vector<Transfer> transfers_;
  PatternResult result_;
  Timeline::Kind kind_ = 0;
  std::vector<Timeline::Track> tracks_;
};

Run::Run(Engine& engine, Network& network, const machine::Machine& machine, const Pattern& pattern,
         const machine::Placement& placement, const PatternOptions& options)
    : engine_(engine),
      network_(network),
      machine_(machine),
      pattern_(pattern),
      options_(options),
      unit_of_rank_(placement.unit_of_rank),
      step_of_rank_(static_cast<std::size_t>(pattern.ranks), -1),
      left_at_ns_(static_cast<std::size_t>(pattern.ranks), 0),
      idle_ns_(static_cast<std::size_t>(pattern.ranks), 0) {
  for (const Phase& phase : pattern.phases) plan(phase);
  steps_.resize(static_cast<std::size_t>(steps()));
  transfers_.resize(transfers_per_repetition_ * static_cast<std::size_t>(options.repetitions));
  result_ = planned_result(pattern, options);
  if (options.timeline == nullptr) return;
  kind_ = options.timeline->kind("transfer", "to rank", "bytes");
  for (const machine::Unit& unit : machine.units) tracks_.push_back(options.timeline->track("units", unit.name));
}

void Run::plan(const Phase& phase) {
  PhasePlan plan;
  plan.entries_of_rank.resize(static_cast<std::size_t>(pattern_.ranks));
  plan.due_of_rank.resize(static_cast<std::size_t>(pattern_.ranks));
  plan.first_transfer = transfers_per_repetition_;
  for (std::size_t e = 0; e < phase.messages.size(); ++e) {
    const Message& entry = phase.messages[e];
    plan.entries_of_rank[static_cast<std::size_t>(entry.from)].push_back(static_cast<int>(e));
    ++plan.due_of_rank[static_cast<std::size_t>(entry.from)];
    ++plan.due_of_rank[static_cast<std::size_t>(entry.to)];
  }
  transfers_per_repetition_ += phase.messages.size();
  plans_.push_back(std::move(plan));
}

const Message& Run::entry_of(std::size_t transfer) const {
  const TransferResult& found = result_.transfers[transfer];
  const auto phase = static_cast<std::size_t>(found.phase);
  const std::size_t in_repetition = transfer % transfers_per_repetition_;
  return pattern_.phases[phase].messages[in_repetition - plans_[phase].first_transfer];
}

void Run::begin() {
  for (int rank = 0; rank < pattern_.ranks; ++rank) advance(rank);
}

Step& Run::step_of(int step) {
  auto& found = steps_[static_cast<std::size_t>(step)];
  if (found == nullptr) {
    const PhasePlan& plan = plans_[static_cast<std::size_t>(step % phases())];
    found = std::make_unique<Step>(Step{plan.due_of_rank, pattern_.ranks});
  }
  return *found;
}

/// From a phase that the rank has left into the next one, and through those in which it has nothing to do.
void Run::advance(int rank) {
  int& step = step_of_rank_[static_cast<std::size_t>(rank)];
  while (step + 1 < steps()) {
    ++step;
    enter(rank, step);
    if (step_of(step).due_of_rank[static_cast<std::size_t>(rank)] > 0) return;
    leave(rank, step);
    if (options_.separation == Separation::barrier) return;
  }
}

void Run::enter(int rank, int step) {
  const auto index = static_cast<std::size_t>(rank);
  PhaseResult& phase = result_.phases[static_cast<std::size_t>(step)];
  if (phase.start_ns < 0) phase.start_ns = now_ns();
  idle_ns_[index] += now_ns() - left_at_ns_[index];
  const PhasePlan& plan = plans_[static_cast<std::size_t>(step % phases())];
  const std::size_t base = static_cast<std::size_t>(step / phases()) * transfers_per_repetition_;
  step_of(step);
  for (const int entry : plan.entries_of_rank[index]) {
    start_transfer(base + plan.first_transfer + static_cast<std::size_t>(entry));
  }
}

void Run::start_transfer(std::size_t transfer) {
  result_.transfers[transfer].start_ns = now_ns();
  const std::uint64_t count = count_of(entry_of(transfer));
  const auto window = static_cast<std::uint64_t>(options_.messages_in_flight);
  for (std::uint64_t k = 0; k < std::min(count, window); ++k) send_next(transfer);
}

void Run::send_next(std::size_t transfer) {
  const Message& entry = entry_of(transfer);
  const std::uint64_t index = transfers_[transfer].sent++;
  network_.send(unit_of_rank_[static_cast<std::size_t>(entry.from)],
                unit_of_rank_[static_cast<std::size_t>(entry.to)], bytes_of(entry, index),
                {&delivered_one, this, transfer});
}

void Run::delivered_one(void* self, std::uint64_t transfer) {
  auto& run = *static_cast<Run*>(self);
  Transfer& under_way = run.transfers_[transfer];
  const std::uint64_t count = count_of(run.entry_of(transfer));
  ++under_way.delivered;
  if (under_way.sent < count) run.send_next(transfer);
  if (under_way.delivered == count) run.finish_transfer(transfer);
}

void Run::finish_transfer(std::size_t transfer) {
  TransferResult& done = result_.transfers[transfer];
  done.end_ns = now_ns();
  if (options_.timeline != nullptr) {
    const auto unit = static_cast<std::size_t>(unit_of_rank_[static_cast<std::size_t>(done.from)]);
    const auto begin = static_cast<Time>(done.start_ns * static_cast<double>(kTicksPerNs) + 0.5);
    options_.timeline->slice(tracks_[unit], kind_, begin, engine_.now(), done.to,
                             static_cast<std::int64_t>(done.bytes));
  }
  const int step = done.repetition * phases() + done.phase;
  finish_part(done.from, step);
  finish_part(done.to, step);
}

/// One entry less to do for the rank. A receiver may not have reached the phase yet: it will find it done.
void Run::finish_part(int rank, int step) {
  const int due = --step_of(step).due_of_rank[static_cast<std::size_t>(rank)];
  if (due > 0 || step_of_rank_[static_cast<std::size_t>(rank)] != step) return;
  leave(rank, step);
  if (options_.separation == Separation::dependence) advance(rank);
}

void Run::leave(int rank, int step) {
  left_at_ns_[static_cast<std::size_t>(rank)] = now_ns();
  PhaseResult& phase = result_.phases[static_cast<std::size_t>(step)];
  phase.end_ns = std::max(phase.end_ns, now_ns());
  if (--step_of(step).ranks_inside > 0) return;
  steps_[static_cast<std::size_t>(step)].reset();
  if (options_.separation == Separation::barrier) open_barrier(step);
}

/// Everybody has left the phase: all go on together.
void Run::open_barrier(int step) {
  if (step + 1 == steps()) return;
  const auto next = [](void* self, std::uint64_t) { static_cast<Run*>(self)->begin(); };
  engine_.after(0, {next, this, 0});
}

PatternResult Run::result() && {
  result_.machine = machine_.name;
  result_.model = name_of(options_.granularity);
  result_.unit_of_rank = unit_of_rank_;
  for (const PhaseResult& phase : result_.phases) result_.total_ns = std::max(result_.total_ns, phase.end_ns);
  const auto links = network_.link_statistics();
  for (std::size_t l = 0; l < links.size(); ++l) {
    result_.links.push_back({machine_.links[l].name, links[l].bytes, links[l].packets, engine_.to_ns(links[l].busy),
                             links[l].largest_queue});
  }
  const auto& units = network_.unit_statistics();
  for (std::size_t u = 0; u < units.size(); ++u) {
    result_.units.push_back({machine_.units[u].name, -1, units[u].sent_bytes, units[u].received_bytes,
                             units[u].sent_messages, units[u].received_messages, engine_.to_ns(units[u].waiting),
                             0});
  }
  for (std::size_t rank = 0; rank < unit_of_rank_.size(); ++rank) {
    UnitLoad& unit = result_.units[static_cast<std::size_t>(unit_of_rank_[rank])];
    unit.rank = static_cast<int>(rank);
    unit.idle_ns = idle_ns_[rank] + result_.total_ns - left_at_ns_[rank];
  }
  result_.events = engine_.events();
  return std::move(result_);
}

/// As many of `most` as a repetition may have.
bool within(std::uint64_t per_repetition, std::uint64_t most, int repetitions) {
  return per_repetition <= most / static_cast<std::uint64_t>(repetitions);
}

Status check_bytes(const Pattern& pattern, const PatternOptions& options) {
  const std::uint64_t most = options.granularity == Granularity::flow ? kMaxFlowBytes : kMaxPacketBytes;
  std::uint64_t bytes = 0;
  for (const Phase& phase : pattern.phases) {
    for (const Message& message : phase.messages) {
      bytes += std::min(message.bytes, most + 1);
      if (within(bytes, most, options.repetitions)) continue;
      return bad_field(
          "", "pattern '" + pattern.name + "'",
          std::to_string(bytes) + " bytes or more, " + std::to_string(options.repetitions) + " times",
          "at most " + std::to_string(most) + " together by " + std::string(name_of(options.granularity)));
    }
  }
  return {};
}

Status check_options(const Pattern& pattern, const PatternOptions& options) {
  if (options.repetitions < 1) {
    return bad_field("", "repetitions", std::to_string(options.repetitions), "1 or more");
  }
  if (options.messages_in_flight < 1) {
    return bad_field("", "messages_in_flight", std::to_string(options.messages_in_flight), "1 or more");
  }
  std::uint64_t per_repetition = 0;
  for (const Phase& phase : pattern.phases) {
    ++per_repetition;  // an empty phase costs memory too
    for (const Message& message : phase.messages) per_repetition += count_of(message);
  }
  if (!within(per_repetition, kMaxRunMessages, options.repetitions)) {
    return bad_field(
        "", "pattern '" + pattern.name + "'",
        std::to_string(per_repetition) + " messages and phases, " + std::to_string(options.repetitions) + " times",
        "at most " + std::to_string(kMaxRunMessages) + " together");
  }
  return check_bytes(pattern, options);
}

Status check_placement(const machine::Machine& machine, const Pattern& pattern,
                       const machine::Placement& placement) {
  if (Status status = machine::check(placement, machine); !status.ok()) return status;
  if (placement.unit_of_rank.size() == static_cast<std::size_t>(pattern.ranks)) return {};
  return bad_field("", "placement", std::to_string(placement.unit_of_rank.size()) + " ranks",
                   std::to_string(pattern.ranks) + ", as pattern '" + pattern.name + "' has");
}

}  // namespace

std::string_view name_of(Separation separation) {
  return separation == Separation::dependence ? "dependence" : "barrier";
}

std::uint64_t count_of(const Message& entry) {
  return std::max<std::uint64_t>(1, entry.count);
}

std::uint64_t bytes_of(const Message& entry, std::uint64_t index) {
  return entry.bytes / count_of(entry) + (index < entry.bytes % count_of(entry) ? 1 : 0);
}

Status check_run(const machine::Machine& machine, const Pattern& pattern, const machine::Placement& placement,
                 const PatternOptions& options) {
  if (Status status = pattern::check(pattern, pattern.name); !status.ok()) return status;
  if (Status status = check_options(pattern, options); !status.ok()) return status;
  return check_placement(machine, pattern, placement);
}

PatternResult planned_result(const Pattern& pattern, const PatternOptions& options) {
  PatternResult result;
  result.pattern = pattern.name;
  result.repetitions = options.repetitions;
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    for (std::size_t p = 0; p < pattern.phases.size(); ++p) {
      const auto number = static_cast<int>(p);
      PhaseResult planned{repetition, number, pattern.phases[p].name, 0, -1, 0};
      for (const Message& entry : pattern.phases[p].messages) {
        planned.bytes += entry.bytes;
        result.transfers.push_back({repetition, number, entry.from, entry.to, entry.bytes, count_of(entry), 0, 0});
      }
      result.phases.push_back(std::move(planned));
    }
  }
  return result;
}

Result<PatternResult> run_pattern(const machine::Machine& machine, const Pattern& pattern,
                                  const machine::Placement& placement, const PatternOptions& options) {
  if (Status status = check_run(machine, pattern, placement, options); !status.ok()) return status;
  Engine engine(kPicosecondInNs);
  engine.set_timeline(options.timeline);
  auto network = make_network(engine, machine, options.granularity);
  if (!network.ok()) return network.status();
  Run run(engine, *network.value(), machine, pattern, placement, options);
  run.begin();
  if (Status status = engine.run(); !status.ok()) return status;
  return std::move(run).result();
}

}  // namespace corewise::sim
