// Pattern runs on the Cell: the program of a rank, and what is read off the machine afterwards.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/cell_pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cell/eib.hpp"
#include "cell/parameters.hpp"
#include "cell/port.hpp"
#include "cell/spe/spu.hpp"
#include "cell/system.hpp"
#include "coll/barrier/pairwise_exchange.hpp"
#include "lab/spes.hpp"

namespace corewise::lab {
namespace {

using cell::CellPort;
using cell::LsAddress;
using cell::Spu;
using pattern::Message;
using pattern::Pattern;
using sim::bytes_of;
using sim::count_of;
using Barrier = coll::barrier::PairwiseExchange<CellPort>;

constexpr LsAddress kSource = kCellSource;
constexpr LsAddress kDestination = kCellDestination;
constexpr std::uint32_t kWindow = kCellWindow;
constexpr std::uint32_t kDataTags = 16;  // 0 .. 15: one per incoming entry, used again where there are more
constexpr port::Tag kReadyTag = 16;
constexpr port::Tag kFetchedTag = 17;
constexpr port::Tag kBarrierTag = 18;
constexpr std::int64_t kLookAgainCycles = 64;  // between looks while flags are due and commands are under way

/// The largest command that the MFC takes for what is left of a message at a quadword's start.
std::uint32_t command_bytes(std::uint64_t left) {
  if (left >= cell::kMaxDmaBytes) return cell::kMaxDmaBytes;
  if (left >= 16) return static_cast<std::uint32_t>(left / 16 * 16);
  std::uint32_t bytes = 8;
  while (bytes > left) bytes /= 2;
  return bytes;
}

/// What of one entry of a phase a receiver has asked for.
struct Incoming {
  std::size_t transfer = 0;  ///< index into the result's transfers
  const Message* entry = nullptr;
  std::uint32_t tag = 0;
  std::uint64_t message = 0;  ///< the next one
  std::uint64_t done = 0;     ///< bytes of it asked for
  std::uint32_t at = 0;       ///< in the window
  bool announced = false;
  bool finished = false;

  [[nodiscard]] bool asked_all() const { return message == count_of(*entry); }
};

struct Traffic {
  std::uint64_t sent_bytes = 0, sent_messages = 0;
  std::uint64_t received_bytes = 0, received_messages = 0;
};

/// What all ranks share.
struct Shared {
  const machine::Machine& machine;
  const Pattern& pattern;
  const sim::PatternOptions& options;
  cell::System& system;
  const cell::PortJob& job;
  sim::PatternResult& result;
  std::vector<double> idle_ns;
  /// Per rank, counted as commands are given: what others got from it, and what it got itself.
  std::vector<Traffic> traffic;
  sim::Timeline::Kind kind = 0;
  std::vector<sim::Timeline::Track> tracks;  ///< per unit; empty when nobody watches

  [[nodiscard]] double now_ns() const { return system.engine().to_ns(system.engine().now()); }
};

class RankProgram {
 public:
  RankProgram(Spu& spu, Shared& shared, int rank)
      : spu_(spu),
        shared_(shared),
        rank_(rank),
        port_(spu, shared.job, rank),
        barrier_(port_, {}, kBarrierTag),
        ready_{Barrier::lines_needed(port_.size())},
        fetched_{ready_.index + static_cast<std::uint32_t>(port_.size())} {}

  static std::uint32_t lines_needed(int ranks) {
    return Barrier::lines_needed(ranks) + 2 * static_cast<std::uint32_t>(ranks);
  }

  void operator()() {
    fill_source();
    const int phases = static_cast<int>(shared_.pattern.phases.size());
    std::size_t first_transfer = 0;
    for (int repetition = 0; repetition < shared_.options.repetitions; ++repetition) {
      for (int phase = 0; phase < phases; ++phase) {
        run_phase(phase, repetition * phases + phase, first_transfer);
        first_transfer += shared_.pattern.phases[static_cast<std::size_t>(phase)].messages.size();
      }
    }
  }

  /// When it left its last phase.
  [[nodiscard]] double left_at_ns() const { return left_at_ns_; }

 private:
  /// Ahead of the run, so that what arrives tells whose it is.
  void fill_source() {
    const auto source = spu_.ls(kSource, kWindow);
    for (std::uint32_t at = 0; at < kWindow; ++at) source[at] = cell_source_byte(rank_, at);
  }

  void run_phase(int phase, int step, std::size_t first_transfer) {
    const std::vector<Message>& messages = shared_.pattern.phases[static_cast<std::size_t>(phase)].messages;
    enter(step);
    const auto number = static_cast<port::Sequence>(step) + 1;
    const bool meets = shared_.options.separation == sim::Separation::barrier;
    if (!meets) announce(messages, number);
    receive(messages, first_transfer, number, meets);
    if (!meets) await_fetched(messages, number);
    leave(step);
    if (meets) barrier_();
  }

  void enter(int step) {
    sim::PhaseResult& phase = shared_.result.phases[static_cast<std::size_t>(step)];
    const double now = shared_.now_ns();
    if (phase.start_ns < 0) phase.start_ns = now;
    shared_.idle_ns[static_cast<std::size_t>(rank_)] += now - left_at_ns_;
  }

  void leave(int step) {
    sim::PhaseResult& phase = shared_.result.phases[static_cast<std::size_t>(step)];
    left_at_ns_ = shared_.now_ns();
    phase.end_ns = std::max(phase.end_ns, left_at_ns_);
    shared_.result.total_ns = std::max(shared_.result.total_ns, left_at_ns_);
  }

  /// Ranks to which (or from which) this rank has messages, each once.
  template <class Mine, class Other>
  std::vector<int> peers(const std::vector<Message>& messages, Mine mine, Other other) const {
    std::vector<int> found;
    for (const Message& entry : messages) {
      if (entry.*mine == rank_ && entry.*other != rank_) found.push_back(entry.*other);
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
  }

  void announce(const std::vector<Message>& messages, port::Sequence number) {
    for (const int receiver : peers(messages, &Message::from, &Message::to)) {
      port_.put_line(receiver, ready_ + static_cast<std::uint32_t>(rank_), number, {}, kReadyTag);
    }
  }

  void await_fetched(const std::vector<Message>& messages, port::Sequence number) {
    for (const int receiver : peers(messages, &Message::from, &Message::to)) {
      port::wait_line(port_, fetched_ + static_cast<std::uint32_t>(receiver), number);
    }
  }

  std::vector<Incoming> incoming(const std::vector<Message>& messages, std::size_t first_transfer) {
    std::vector<Incoming> due;
    for (std::size_t index = 0; index < messages.size(); ++index) {
      const Message& entry = messages[index];
      if (entry.to != rank_) continue;
      if (entry.from == rank_) {
        stamp(first_transfer + index, shared_.now_ns());
        for (std::uint64_t message = 0; message < count_of(entry); ++message) {
          count(rank_, bytes_of(entry, message), true);
        }
        continue;
      }
      const auto tag = static_cast<std::uint32_t>(due.size()) % kDataTags;
      due.push_back({first_transfer + index, &entry, tag, 0, 0, 0, false, false});
    }
    return due;
  }

  /// A command got so many bytes of `from`; `last`: it was its message's last one.
  void count(int from, std::uint64_t bytes, bool last) {
    Traffic& sender = shared_.traffic[static_cast<std::size_t>(from)];
    Traffic& mine = shared_.traffic[static_cast<std::size_t>(rank_)];
    sender.sent_bytes += bytes;
    mine.received_bytes += bytes;
    if (!last) return;
    ++sender.sent_messages;
    ++mine.received_messages;
  }

  /// A message to oneself takes no time.
  void stamp(std::size_t transfer, double when_ns) {
    shared_.result.transfers[transfer].start_ns = when_ns;
    shared_.result.transfers[transfer].end_ns = when_ns;
  }

  void receive(const std::vector<Message>& messages, std::size_t first_transfer, port::Sequence number,
               bool all_announced) {
    std::vector<Incoming> due = incoming(messages, first_transfer);
    std::size_t finished = 0;
    while (finished < due.size()) {
      bool moved = false;
      for (Incoming& each : due) moved |= look(each, number, all_announced);
      for (Incoming& each : due) moved |= ask(each);
      finished += finish(due, number, !all_announced);
      if (!moved && finished < due.size()) wait(due, number);
    }
  }

  /// Has its sender announced it?
  bool look(Incoming& each, port::Sequence number, bool all_announced) {
    if (each.announced) return false;
    const port::Line16 line = ready_ + static_cast<std::uint32_t>(each.entry->from);
    each.announced = all_announced || port::reached(port_.line_sequence(line), number);
    if (each.announced) shared_.result.transfers[each.transfer].start_ns = shared_.now_ns();
    return each.announced;
  }

  /// One more command, unless all are asked for.
  bool ask(Incoming& each) {
    if (!each.announced || each.asked_all()) return false;
    const std::uint64_t left = bytes_of(*each.entry, each.message) - each.done;
    if (left > 0) {
      const std::uint32_t bytes = command_bytes(left);
      if (each.at + bytes > kWindow) each.at = 0;
      const int source = shared_.job.spes[static_cast<std::size_t>(each.entry->from)];
      spu_.mfc_get(kDestination + each.at, cell::ls_address(source) + kSource + each.at, bytes, each.tag);
      count(each.entry->from, bytes, false);
      each.at += bytes;
      each.done += bytes;
    }
    if (each.done == bytes_of(*each.entry, each.message)) {
      each.at = (each.at + 15) / 16 * 16;
      each.done = 0;
      ++each.message;
      count(each.entry->from, 0, true);
    }
    return true;
  }

  /// Notes what has come; returns how many entries that were.
  std::size_t finish(std::vector<Incoming>& due, port::Sequence number, bool tell) {
    std::uint32_t mask = 0;
    for (const Incoming& each : due) {
      if (each.asked_all() && !each.finished) mask |= port::mask_of(each.tag);
    }
    if (mask == 0) return 0;
    const std::uint32_t complete = port_.test(mask);
    std::size_t count = 0;
    for (Incoming& each : due) {
      if (!each.asked_all() || each.finished || (complete & port::mask_of(each.tag)) == 0) continue;
      each.finished = true;
      ++count;
      finish_transfer(each);
      if (tell && last_of_sender(due, each.entry->from)) {
        port_.put_line(each.entry->from, fetched_ + static_cast<std::uint32_t>(rank_), number, {}, kFetchedTag);
      }
    }
    return count;
  }

  static bool last_of_sender(const std::vector<Incoming>& due, int sender) {
    return std::ranges::all_of(
        due, [sender](const Incoming& each) { return each.entry->from != sender || each.finished; });
  }

  void finish_transfer(const Incoming& each) {
    sim::TransferResult& transfer = shared_.result.transfers[each.transfer];
    transfer.end_ns = shared_.now_ns();
    if (shared_.tracks.empty()) return;
    const auto unit =
        static_cast<std::size_t>(shared_.result.unit_of_rank[static_cast<std::size_t>(transfer.from)]);
    const double tick_ns = shared_.system.engine().tick_ns();
    shared_.options.timeline->slice(
        shared_.tracks[unit], shared_.kind, static_cast<sim::Time>(transfer.start_ns / tick_ns + 0.5),
        shared_.system.engine().now(), transfer.to, static_cast<std::int64_t>(transfer.bytes));
  }

  /// Nothing can be asked for now: until a flag comes, a command is complete, or both have to be watched.
  void wait(const std::vector<Incoming>& due, port::Sequence number) {
    std::uint32_t under_way = 0;
    bool all_announced = true;
    for (const Incoming& each : due) {
      if (!each.announced) all_announced = false;
      if (each.announced && !each.finished) under_way |= port::mask_of(each.tag);
    }
    if (all_announced) {
      spu_.mfc_write_tag_mask(under_way);
      spu_.mfc_read_tag_status_any();
    } else if (under_way == 0) {
      port_.wait_lines(ready_, static_cast<std::uint32_t>(port_.size()), [&] { return any_ready(due, number); });
    } else {
      spu_.spu_cycles(kLookAgainCycles);
    }
  }

  [[nodiscard]] bool any_ready(const std::vector<Incoming>& due, port::Sequence number) const {
    return std::ranges::any_of(due, [&](const Incoming& each) {
      const port::Line16 line = ready_ + static_cast<std::uint32_t>(each.entry->from);
      return !each.announced && port::reached(port_.line_sequence(line), number);
    });
  }

  Spu& spu_;
  Shared& shared_;
  int rank_;
  CellPort port_;
  Barrier barrier_;
  port::Line16 ready_;
  port::Line16 fetched_;
  double left_at_ns_ = 0;
};

// ---- before and after ----

/// Packets wait at the units for the bus, not on its stretches.
constexpr std::int64_t kNoQueue = -1;

sim::LinkLoad ring_load(const machine::Link& link, cell::System& system) {
  const sim::RingBus& rings = system.eib(link.from / cell::kStops).rings();
  const int from = link.from % cell::kStops;
  const bool upwards = link.to % cell::kStops == (from + 1) % cell::kStops;
  sim::LinkLoad load{link.name, 0, 0, 0, kNoQueue};
  for (int ring = 0; ring < rings.rings(); ++ring) {
    if (rings.upwards(ring) != upwards) continue;
    const sim::RingLinkLoad carried = rings.link_load(ring, from);
    load.bytes += carried.bytes;
    load.packets += carried.packets;
    load.busy_ns += system.engine().to_ns(carried.busy_ticks) / rings.spec().rings_per_direction;
  }
  return load;
}

/// The link between two chips takes what arrives at its stop.
sim::LinkLoad bridge_load(const machine::Link& link, cell::System& system) {
  const sim::RingStopLoad arrived = system.eib(link.from / cell::kStops).rings().stop_load(cell::kStopIoif0);
  const double busy_ns = static_cast<double>(arrived.received_bytes) / link.bandwidth_gb_per_s;
  return {link.name, arrived.received_bytes, arrived.received_packets, busy_ns, kNoQueue};
}

void read_loads(const machine::Machine& machine, const Shared& shared, sim::PatternResult& result) {
  cell::System& system = shared.system;
  for (const machine::Link& link : machine.links) {
    const bool within = link.from / cell::kStops == link.to / cell::kStops;
    result.links.push_back(within ? ring_load(link, system) : bridge_load(link, system));
  }
  for (const machine::Unit& unit : machine.units) {
    const sim::RingStopLoad stop = system.eib(unit.stop / cell::kStops).rings().stop_load(unit.stop % cell::kStops);
    sim::UnitLoad load;
    load.name = unit.name;
    load.waiting_ns = system.engine().to_ns(stop.waiting_ticks);
    result.units.push_back(load);
  }
  for (std::size_t rank = 0; rank < result.unit_of_rank.size(); ++rank) {
    sim::UnitLoad& unit = result.units[static_cast<std::size_t>(result.unit_of_rank[rank])];
    unit.rank = static_cast<int>(rank);
    unit.idle_ns = shared.idle_ns[rank];
    const Traffic& counted = shared.traffic[rank];
    unit.sent_bytes = counted.sent_bytes;
    unit.sent_messages = counted.sent_messages;
    unit.received_bytes = counted.received_bytes;
    unit.received_messages = counted.received_messages;
  }
}

}  // namespace

std::byte cell_source_byte(int rank, std::uint32_t at) {
  return static_cast<std::byte>(1U + (static_cast<std::uint32_t>(rank) * 101U + at * 7U + at / 256U) % 255U);
}

Result<sim::PatternResult> run_pattern_on_cell(const machine::Machine& machine, const Pattern& pattern,
                                               const machine::Placement& placement,
                                               const sim::PatternOptions& options,
                                               const std::function<void(cell::System&)>& after) {
  if (Status status = sim::check_run(machine, pattern, placement, options); !status.ok()) return status;
  const auto parameters = cell::Parameters::from(machine);
  if (!parameters.ok()) return parameters.status();
  cell::System system(parameters.value(), options.timeline);
  std::vector<int> spes;
  for (const machine::UnitId unit : placement.unit_of_rank) {
    spes.push_back(spe_of(machine.units[static_cast<std::size_t>(unit)]));
  }
  port::Layout layout;
  layout.lines16 = RankProgram::lines_needed(pattern.ranks);
  const auto job = cell::PortJob::make(system, spes, layout);
  if (!job.ok()) return job.status();
  sim::PatternResult result = sim::planned_result(pattern, options);
  result.machine = machine.name;
  result.model = "cell";
  result.unit_of_rank = placement.unit_of_rank;
  Shared shared{machine,
                pattern,
                options,
                system,
                job.value(),
                result,
                std::vector<double>(spes.size(), 0.0),
                std::vector<Traffic>(spes.size()),
                0,
                {}};
  if (options.timeline != nullptr) {
    shared.kind = options.timeline->kind("transfer", "to rank", "bytes");
    for (const machine::Unit& unit : machine.units) {
      shared.tracks.push_back(options.timeline->track("units", unit.name));
    }
  }
  std::vector<double> left_at_ns(spes.size(), 0.0);
  for (std::size_t rank = 0; rank < spes.size(); ++rank) {
    system.run_on_spe(spes[rank], "rank " + std::to_string(rank), [&shared, &left_at_ns, rank](Spu& spu) {
      RankProgram program(spu, shared, static_cast<int>(rank));
      program();
      left_at_ns[rank] = program.left_at_ns();
    });
  }
  if (Status status = system.run(); !status.ok()) return status;
  for (std::size_t rank = 0; rank < spes.size(); ++rank) {
    shared.idle_ns[rank] += result.total_ns - left_at_ns[rank];
  }
  result.events = system.engine().events();
  read_loads(machine, shared, result);
  if (after) after(system);
  return result;
}

}  // namespace corewise::lab
