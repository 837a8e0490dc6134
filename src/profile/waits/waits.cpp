// From records to waits; see waits.hpp. All ranks of a world are streamed side by side by the ends of their
// records. SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/waits.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profile/addresses.hpp"
#include "profile/collectives.hpp"
#include "profile/communicators.hpp"
#include "profile/launches.hpp"
#include "profile/tally.hpp"
#include "profile/waits/alignment.hpp"
#include "profile/waits/causal.hpp"
#include "profile/waits/matching.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {
namespace {

using trace::Reader;
using trace::Record;
using trace::Role;

// ---- what a procedure's name says --------------------------------------------------------------------------

/// How a collective makes ranks wait for each other.
enum class Meeting : std::uint8_t { none, barrier, all_to_all, to_root, from_root, prefix };

struct ProcedureFacts {
  Meeting meeting = Meeting::none;
  bool blocking_send = false;
  bool synchronous_send = false;
  bool send = false;        ///< what it cancelled or posted is a send
  bool persistent = false;  ///< a collective of its own order
  bool probe = false;
  bool startup = false;  ///< starts or stops MPI
};

std::string lower_stem(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.starts_with("mpi_")) name.erase(0, 4);
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  return name;
}

Meeting meeting_of(const std::string& stem) {
  static const std::map<std::string, Meeting> table = {
      {"barrier", Meeting::barrier},
      {"allreduce", Meeting::all_to_all},
      {"allgather", Meeting::all_to_all},
      {"allgatherv", Meeting::all_to_all},
      {"alltoall", Meeting::all_to_all},
      {"alltoallv", Meeting::all_to_all},
      {"alltoallw", Meeting::all_to_all},
      {"reduce_scatter", Meeting::all_to_all},
      {"reduce_scatter_block", Meeting::all_to_all},
      {"reduce", Meeting::to_root},
      {"gather", Meeting::to_root},
      {"gatherv", Meeting::to_root},
      {"bcast", Meeting::from_root},
      {"scatter", Meeting::from_root},
      {"scatterv", Meeting::from_root},
      {"scan", Meeting::prefix},
      {"exscan", Meeting::prefix},
  };
  const auto found = table.find(stem);
  return found == table.end() ? Meeting::none : found->second;
}

ProcedureFacts facts_of(const std::string& procedure) {
  const std::string stem = lower_stem(procedure);
  ProcedureFacts facts;
  facts.meeting = meeting_of(stem);
  facts.synchronous_send = stem == "ssend";
  facts.blocking_send = facts.synchronous_send || stem == "send" || stem == "rsend";
  facts.send = stem.find("send") != std::string::npos;
  facts.persistent = stem.ends_with("_init");
  facts.probe = stem == "probe" || stem == "mprobe";
  facts.startup = starts_or_stops(procedure);
  return facts;
}

// ---- one rank's file ---------------------------------------------------------------------------------------

/// Part of the key of a wait: call site, procedure and phase of one rank, as a small number.
struct Origin {
  std::uint16_t procedure;
  std::uint16_t site;
  std::uint32_t phase;
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// Collectives of one communicator that some members have reached and others have not.
constexpr std::size_t kOpenCollectives = 1 << 16;

/// Causes and effects on different nodes that are looked at together.
constexpr std::size_t kCauses = 1 << 21;

constexpr std::uint32_t kNoPhase = 0xffffffff;

struct Span {
  double total_ns = 0;
  double mpi_ns = 0;
  double startup_ns = 0;  ///< in starting and stopping MPI: in neither share
};

struct Source {
  Source(const Reader& opened, const RankClock& aligned) : reader(opened), clock(aligned) {}

  const Reader& reader;
  const RankClock& clock;
  std::vector<ProcedureFacts> facts;
  std::map<std::uint16_t, int> comm_of;  ///< own communicator index to the world's
  std::map<Origin, std::uint64_t> origin_of;
  std::vector<Origin> origins;
  std::uint32_t phase = kNoPhase;
  std::map<std::uint32_t, Span> phases;
  double phase_begin_ns = 0;
  double latest_ns = 0;
  bool damaged = false;   ///< records are missing
  bool excluded = false;  ///< its first records are gone: nobody knows which message is the first

  [[nodiscard]] int rank() const { return reader.header().rank; }

  std::uint64_t origin(const Record& record) {
    const auto [at, fresh] = origin_of.try_emplace({record.procedure, record.site, phase}, origins.size());
    if (fresh) origins.push_back(at->first);
    return at->second;
  }
};

/// The stream of one slot, with what the next record may refer to.
struct Cursor {
  Cursor(std::size_t from, const Reader& reader, const trace::Slot& slot)
      : source(from), main(slot.index == reader.slots().front().index), stream(reader.records(slot)) {}

  std::size_t source;
  bool main;  ///< of the thread that called MPI first
  trace::RecordStream stream;
  Record record;
  double start_ns = 0;
  double end_ns = 0;
  // The call that completed what the arrivals behind its record are about.
  Record call;
  double call_start_ns = 0;
  double call_end_ns = 0;
  std::uint64_t call_group = 0;
};

// ---- sums --------------------------------------------------------------------------------------------------

struct Sum {
  std::uint64_t count = 0;
  double wait_ns = 0;
  double longest_ns = 0;

  void add(double wait) {
    ++count;
    wait_ns += wait;
    longest_ns = std::max(longest_ns, wait);
  }
};

/// A call that waited for several messages: only the part that each adds to what was waited for already counts.
struct Group {
  struct Late {
    double until_ns;
    int cause;
    std::uint64_t where;
  };
  int rank = 0;  ///< that waited
  double start_ns = 0;
  double end_ns = 0;
  int open = 0;        ///< arrivals not matched yet
  bool ended = false;  ///< no further arrival comes
  std::vector<Late> late;
};

struct Instance {
  struct Entry {
    int rank;
    double start_ns;
    double end_ns;
    std::uint64_t where;
  };
  std::string procedure;
  Meeting meeting = Meeting::none;
  bool mixed = false;
  int root = trace::kNoPeer;
  std::vector<Entry> entries;
};

struct WorldComm {
  std::string name;
  int members = 0;  ///< whose records are here
  bool known = false;
  std::vector<std::int32_t> order;  ///< world rank by rank in the communicator; empty: the same
};

// ---- one world ---------------------------------------------------------------------------------------------

class WorldWaits {
 public:
  WorldWaits(std::span<const Reader* const> ranks, std::span<const RankClock> clocks)
      : matcher_([this](const Channel& channel, const SentMessage& sent, const ReceivedMessage& received) {
          matched(channel, sent, received);
        }) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      sources_.push_back(std::make_unique<Source>(*ranks[i], clocks[i]));
    out_.size = sources_.front()->reader.header().world_size;
    by_rank_.resize(static_cast<std::size_t>(out_.size), nullptr);
    for (const auto& source : sources_) by_rank_[static_cast<std::size_t>(source->rank())] = source.get();
    describe_clocks();
    for (const auto& source : sources_) prepare(*source);
    find_communicators();
  }

  /// What must have come before what on different nodes; the tightest ones where there are too many.
  std::vector<Cause> causes() {
    collecting_ = true;
    stream();
    matcher_.finish();
    return std::move(causes_);
  }

  WaitWorld run() {
    stream();
    matcher_.finish();
    for (auto& [id, group] : groups_) settle(group);
    write_waits();
    write_phases();
    write_arrivals();
    write_counts();
    return std::move(out_);
  }

 private:
  // ---- preparation ----

  void describe_clocks() {
    static constexpr const char* kNames[] = {"reference", "compared", "realtime"};
    for (const auto& source : sources_)
      out_.clocks.push_back({source->rank(), source->reader.node(),
                             kNames[static_cast<int>(source->clock.source())], source->clock.uncertainty_ns()});
  }

  void prepare(Source& source) {
    const std::int64_t started_ns = source.reader.header().start_realtime_ns;
    out_.started_realtime_ns = out_.ranks.empty() ? started_ns : std::min(out_.started_realtime_ns, started_ns);
    out_.ranks.push_back(source.rank());
    const std::vector<std::string>& names = source.reader.procedure_names();
    source.facts.resize(trace::kCallMask + 1U);
    for (std::size_t i = 0; i < names.size() && i < source.facts.size(); ++i) source.facts[i] = facts_of(names[i]);
    for (const trace::Slot& slot : source.reader.slots())
      source.excluded = source.excluded || slot.overwritten_bytes > 0;
    if (source.excluded) ++excluded_;
    const trace::FileHeader& header = source.reader.header();
    source.phase_begin_ns = source.latest_ns = source.clock.ns(header.start_ticks);
    source.damaged = header.lost_bytes > 0 || source.reader.damage().missing_bytes > 0 ||
                     source.reader.damage().blocks > 0 || header.lost_nested > 0;
    incomplete_ += source.damaged ? 1 : 0;
    unfinished_ += header.state == trace::State::finalized ? 0 : 1;
    const bool chosen = header.version >= 2 && (header.kinds & trace::kCalls) == 0;
    without_calls_ += chosen ? 1 : 0;
  }

  void find_communicators() {
    CommunicatorTable table;
    for (const auto& source : sources_) {
      const auto name_of = [&](std::uint16_t number) { return source->reader.procedure_name(number); };
      source->comm_of = table.add(source->reader.communicators(), name_of);
    }
    for (const Communicator& comm : table.known()) comms_.push_back(describe(comm));
  }

  WorldComm describe(const Communicator& comm) const {
    WorldComm out;
    out.name = comm.name;
    out.order = comm.ranks;
    out.known = comm.remote_size == 0 && comm.size > 1;
    const auto counts = [&](int rank) {
      const bool inside = rank >= 0 && rank < out_.size;
      const Source* source = inside ? by_rank_[static_cast<std::size_t>(rank)] : nullptr;
      return source != nullptr && !source->excluded ? 1 : 0;
    };
    for (int i = 0; comm.identity && i < std::min(comm.size, out_.size); ++i) out.members += counts(i);
    for (const std::int32_t rank : comm.ranks) out.members += counts(rank);
    return out;
  }

  // ---- the records of all ranks, by their ends ----

  void stream() {
    std::vector<std::unique_ptr<Cursor>> cursors;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      for (const trace::Slot& slot : sources_[i]->reader.slots())
        cursors.push_back(std::make_unique<Cursor>(i, sources_[i]->reader, slot));
    const auto later = [](const Cursor* a, const Cursor* b) { return a->end_ns > b->end_ns; };
    std::priority_queue<Cursor*, std::vector<Cursor*>, decltype(later)> heap(later);
    for (const auto& cursor : cursors)
      if (advance(*cursor)) heap.push(cursor.get());
    while (!heap.empty()) {
      Cursor* cursor = heap.top();
      heap.pop();
      take(*cursor, *sources_[cursor->source]);
      if (advance(*cursor)) heap.push(cursor);
    }
    std::set<std::size_t> damaged;
    for (const auto& cursor : cursors)
      if (cursor->stream.damaged_bytes() > 0 && !sources_[cursor->source]->damaged) damaged.insert(cursor->source);
    incomplete_ += damaged.size();
  }

  bool advance(Cursor& cursor) {
    if (!cursor.stream.next(cursor.record)) {
      end_group(cursor);
      return false;
    }
    const RankClock& clock = sources_[cursor.source]->clock;
    cursor.start_ns = clock.ns(cursor.record.start_ticks);
    cursor.end_ns = clock.ns(cursor.record.start_ticks + cursor.record.duration_ticks);
    return true;
  }

  void take(Cursor& cursor, Source& source) {
    const Record& record = cursor.record;
    source.latest_ns = std::max(source.latest_ns, cursor.end_ns);
    switch (record.role) {
      case Role::arrival:
        return arrival(cursor, source);
      case Role::cancel:
        return cancel(record, source);
      case Role::phase:
        if (cursor.main) begin_phase(source, record.name, cursor.start_ns);
        return;
      case Role::collective_part:
      case Role::miss:
      case Role::function_enter:
      case Role::function_exit:
      case Role::region_enter:
      case Role::region_exit:
        return;
      case Role::recording:
        paused_ = paused_ || record.name == 0;
        return;
      default:
        break;
    }
    new_call(cursor, source);
    switch (record.role) {
      case Role::send:
        return send(cursor, source);
      case Role::receive:
        return receive(cursor, source);
      case Role::post_receive:
        return post(record, source);
      case Role::collective:
        return collective(cursor, source);
      case Role::probe:
        return probe(cursor, source);
      default:
        return;
    }
  }

  void new_call(Cursor& cursor, Source& source) {
    const bool same = cursor.call.start_ticks == cursor.record.start_ticks;
    if (!same) {
      end_group(cursor);
      if (cursor.main) count_time(cursor, source);
    }
    // The first record of a call carries its duration.
    if (same && cursor.record.duration_ticks <= cursor.call.duration_ticks) return;
    cursor.call = cursor.record;
    cursor.call_start_ns = cursor.start_ns;
    cursor.call_end_ns = cursor.end_ns;
  }

  static void count_time(const Cursor& cursor, Source& source) {
    Span& span = source.phases[source.phase];
    const bool startup = source.facts[cursor.record.procedure].startup;
    (startup ? span.startup_ns : span.mpi_ns) += cursor.end_ns - cursor.start_ns;
  }

  void begin_phase(Source& source, std::uint32_t phase, double at_ns) {
    source.phases[source.phase].total_ns += at_ns - source.phase_begin_ns;
    source.phase = phase;
    source.phase_begin_ns = at_ns;
  }

  // ---- messages ----

  bool inside(std::int32_t peer) const { return peer >= 0 && peer < out_.size; }

  /// The channel of a record, false where the other end left nothing to match with.
  bool channel_of(const Record& record, const Source& source, bool sends, Channel& channel) {
    if (!inside(record.peer)) return false;
    const Source* other = by_rank_[static_cast<std::size_t>(record.peer)];
    if (other == nullptr || other->excluded || source.excluded) {
      ++without_partner_;
      return false;
    }
    const auto comm = source.comm_of.find(record.comm);
    if (comm == source.comm_of.end()) return false;
    channel = {comm->second, sends ? source.rank() : record.peer, sends ? record.peer : source.rank(), record.tag};
    return true;
  }

  void send(const Cursor& cursor, Source& source) {
    Channel channel;
    if (!channel_of(cursor.record, source, true, channel)) return;
    const ProcedureFacts& facts = source.facts[cursor.record.procedure];
    matcher_.send(channel, {cursor.start_ns, cursor.end_ns, cursor.record.start_ticks, cursor.record.bytes,
                            source.origin(cursor.record), facts.blocking_send, facts.synchronous_send});
  }

  void receive(const Cursor& cursor, Source& source) {
    Channel channel;
    if (!channel_of(cursor.record, source, false, channel)) return;
    ReceivedMessage message{
        cursor.start_ns, cursor.start_ns, cursor.end_ns, cursor.record.bytes, source.origin(cursor.record), 0};
    waited_in_probe(channel, message);
    matcher_.arrival(channel, cursor.record.start_ticks, message);
  }

  /// A probe that found the message waited for it; the receive behind it did not.
  void probe(const Cursor& cursor, Source& source) {
    Channel channel;
    if (!source.facts[cursor.record.procedure].probe || !channel_of(cursor.record, source, false, channel)) return;
    probes_[channel] = {cursor.start_ns, cursor.start_ns, cursor.end_ns, 0, source.origin(cursor.record), 0};
  }

  void waited_in_probe(const Channel& channel, ReceivedMessage& message) {
    const auto probed = probes_.find(channel);
    if (probed == probes_.end()) return;
    message.wait_start_ns = probed->second.wait_start_ns;
    message.wait_end_ns = probed->second.wait_end_ns;
    message.where = probed->second.where;
    probes_.erase(probed);
  }

  void post(const Record& record, const Source& source) {
    Post post;
    if (posted(record, source, post)) matcher_.post(source.rank(), record.start_ticks, post);
  }

  static bool posted(const Record& record, const Source& source, Post& post) {
    if (source.excluded || (record.peer < 0 && record.peer != trace::kAnySource)) return false;
    const auto comm = source.comm_of.find(record.comm);
    if (comm == source.comm_of.end()) return false;
    post = {comm->second, record.peer, record.tag};
    return true;
  }

  void cancel(const Record& record, Source& source) {
    Channel channel;
    Post post;
    if (source.facts[record.procedure].send) {
      if (channel_of(record, source, true, channel)) matcher_.cancel_send(channel, record.start_ticks);
    } else if (posted(record, source, post)) {
      matcher_.cancel_post(source.rank(), record.start_ticks, post);
    }
  }

  /// A message of a non-blocking receive, or of the receiving half of MPI_Sendrecv: waited for in the call whose
  /// record came before in this slot, if that is the one that ended when the message was there.
  void arrival(Cursor& cursor, Source& source) {
    Channel channel;
    if (!channel_of(cursor.record, source, false, channel)) return;
    // Durations are rounded to 27 bits.
    const double doubt = (cursor.end_ns - cursor.start_ns) * 3e-8 + 2;
    const bool waited = cursor.call.start_ticks != 0 && std::abs(cursor.call_end_ns - cursor.end_ns) <= doubt &&
                        cursor.call.role != Role::post_receive;
    ReceivedMessage message{cursor.start_ns,
                            cursor.end_ns,
                            cursor.end_ns,
                            cursor.record.bytes,
                            source.origin(waited ? cursor.call : cursor.record),
                            0};
    if (waited && !collecting_) {  // causes need no wait: nothing would end the group
      message.wait_start_ns = cursor.call_start_ns;
      message.group = group_of(cursor);
      ++groups_[message.group].open;
    }
    matcher_.arrival(channel, cursor.record.start_ticks, message);
  }

  std::uint64_t group_of(Cursor& cursor) {
    if (cursor.call_group != 0) return cursor.call_group;
    cursor.call_group = ++last_group_;
    Group& group = groups_[cursor.call_group];
    group.rank = sources_[cursor.source]->rank();
    group.start_ns = cursor.call_start_ns;
    group.end_ns = cursor.call_end_ns;
    return cursor.call_group;
  }

  void end_group(Cursor& cursor) {
    if (cursor.call_group == 0) return;
    Group& group = groups_[cursor.call_group];
    group.ended = true;
    if (group.open == 0) {
      settle(group);
      groups_.erase(cursor.call_group);
    }
    cursor.call_group = 0;
  }

  void matched(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received) {
    if (collecting_) return cause(channel.from, sent.start_ns, channel.to, received.wait_end_ns);
    contradiction(sent.start_ns, received.wait_start_ns, received.wait_end_ns);
    late_receiver(channel, sent, received);
    const bool late = sent.start_ns > received.wait_start_ns;
    if (received.group == 0) {
      const double wait = std::min(sent.start_ns, received.wait_end_ns) - received.wait_start_ns;
      if (late) add(WaitKind::late_sender, channel.to, channel.from, received.where, wait);
      return;
    }
    Group& group = groups_[received.group];
    if (late) group.late.push_back({sent.start_ns, channel.from, received.where});
    if (--group.open > 0 || !group.ended) return;
    settle(group);
    groups_.erase(received.group);
  }

  /// An effect that ended at `end_ns`, in a call from `start_ns` on, needs a cause at `cause_ns`. Durations are
  /// rounded to 27 bits.
  void contradiction(double cause_ns, double start_ns, double end_ns) {
    if (cause_ns > end_ns + 2 + 3e-8 * (end_ns - start_ns)) ++out_.contradictions;
  }

  /// The tightest causes are kept, where there are more than memory for them.
  void cause(int from_rank, double from_ns, int to_rank, double to_ns) {
    const int from = by_rank_[static_cast<std::size_t>(from_rank)]->clock.node();
    const int to = by_rank_[static_cast<std::size_t>(to_rank)]->clock.node();
    if (from == to) return;
    causes_.push_back({from, from_ns, to, to_ns});
    if (causes_.size() < kCauses) return;
    const auto middle = causes_.begin() + static_cast<std::ptrdiff_t>(kCauses / 2);
    std::nth_element(causes_.begin(), middle, causes_.end(),
                     [](const Cause& a, const Cause& b) { return a.to_ns - a.from_ns < b.to_ns - b.from_ns; });
    causes_.erase(middle, causes_.end());
  }

  void late_receiver(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received) {
    if (!sent.blocking || received.post_ns <= sent.start_ns) return;
    // A standard send that was over before is no witness: its message lay in a buffer.
    if (!sent.synchronous && sent.end_ns <= received.post_ns) return;
    const double wait = std::min(received.post_ns, sent.end_ns) - sent.start_ns;
    add(WaitKind::late_receiver, channel.from, channel.to, sent.where, wait);
  }

  void settle(Group& group) {
    std::sort(group.late.begin(), group.late.end(),
              [](const Group::Late& a, const Group::Late& b) { return a.until_ns < b.until_ns; });
    double reached = group.start_ns;
    for (const Group::Late& late : group.late) {
      const double until = std::min(late.until_ns, group.end_ns);
      if (until <= reached) continue;
      add(WaitKind::late_sender, group.rank, late.cause, late.where, until - reached);
      reached = until;
    }
    group.late.clear();
  }

  // ---- collectives ----

  void collective(const Cursor& cursor, Source& source) {
    const auto found = source.comm_of.find(cursor.record.comm);
    if (found == source.comm_of.end() || source.excluded) return;
    const WorldComm& comm = comms_[static_cast<std::size_t>(found->second)];
    if (!comm.known) return;
    const std::string name = source.reader.procedure_name(cursor.record.procedure);
    const ProcedureFacts& facts = source.facts[cursor.record.procedure];
    // Starts of persistent collectives have an order of their own.
    const std::pair<int, std::string> line{found->second, facts.persistent ? name : ""};
    const std::uint64_t number = next_collective_[{source.rank(), line}]++;
    auto& open = open_collectives_[line];
    Instance& instance = open[number];
    if (instance.entries.empty()) {
      instance.procedure = name;
      instance.meeting = facts.meeting;
      instance.root = cursor.record.peer;
    }
    instance.mixed = instance.mixed || lower_stem(instance.procedure) != lower_stem(name);
    instance.entries.push_back({source.rank(), cursor.start_ns, cursor.end_ns, source.origin(cursor.record)});
    if (static_cast<int>(instance.entries.size()) >= comm.members) {
      complete(comm, found->second, instance);
      open.erase(number);
    } else if (open.size() > kOpenCollectives) {
      ++out_.incomplete_collectives;
      open.erase(open.begin());
    }
  }

  void complete(const WorldComm& comm, int comm_index, const Instance& instance) {
    ++out_.collectives;
    if (instance.mixed) {
      ++mixed_;
      return;
    }
    if (collecting_) return causes_of(instance);
    switch (instance.meeting) {
      case Meeting::barrier:
        note_arrivals(comm_index, instance);
        return wait_for_last(WaitKind::barrier, instance);
      case Meeting::all_to_all:
        note_arrivals(comm_index, instance);
        return wait_for_last(WaitKind::all_to_all, instance);
      case Meeting::to_root:
        return wait_of_root(instance);
      case Meeting::from_root:
        return wait_for_root(instance);
      case Meeting::prefix:
        return wait_for_lower(comm, instance);
      default:
        return;
    }
  }

  /// Of every node the last to begin, for of every node the first to end.
  void causes_of(const Instance& instance) {
    std::map<int, const Instance::Entry*> last;
    std::map<int, const Instance::Entry*> first;
    for (const Instance::Entry& entry : instance.entries) {
      const int node = by_rank_[static_cast<std::size_t>(entry.rank)]->clock.node();
      const bool root = entry.rank == instance.root;
      const bool begins = instance.meeting != Meeting::from_root || root;
      const bool ends = instance.meeting != Meeting::to_root || root;
      const Instance::Entry*& latest = last[node];
      const Instance::Entry*& earliest = first[node];
      if (begins && (latest == nullptr || entry.start_ns > latest->start_ns)) latest = &entry;
      if (ends && (earliest == nullptr || entry.end_ns < earliest->end_ns)) earliest = &entry;
    }
    const bool meets = instance.meeting != Meeting::none && instance.meeting != Meeting::prefix;
    for (const auto& [from_node, from] : last)
      for (const auto& [to_node, to] : first)
        if (meets && from != nullptr && to != nullptr) cause(from->rank, from->start_ns, to->rank, to->end_ns);
  }

  static const Instance::Entry& last_of(const Instance& instance) {
    return *std::max_element(
        instance.entries.begin(), instance.entries.end(),
        [](const Instance::Entry& a, const Instance::Entry& b) { return a.start_ns < b.start_ns; });
  }

  void wait_in(WaitKind kind, const Instance::Entry& entry, const Instance::Entry& cause) {
    const double wait = std::min(cause.start_ns, entry.end_ns) - entry.start_ns;
    if (wait > 0 && cause.rank != entry.rank) add(kind, entry.rank, cause.rank, entry.where, wait);
  }

  void wait_for_last(WaitKind kind, const Instance& instance) {
    const Instance::Entry& last = last_of(instance);
    for (const Instance::Entry& entry : instance.entries) {
      contradiction(last.start_ns, entry.start_ns, entry.end_ns);
      wait_in(kind, entry, last);
    }
  }

  static const Instance::Entry* root_of(const Instance& instance) {
    for (const Instance::Entry& entry : instance.entries)
      if (entry.rank == instance.root) return &entry;
    return nullptr;
  }

  void wait_of_root(const Instance& instance) {
    const Instance::Entry* root = root_of(instance);
    if (root == nullptr) return;
    const Instance::Entry* last = nullptr;
    for (const Instance::Entry& entry : instance.entries)
      if (&entry != root && (last == nullptr || entry.start_ns > last->start_ns)) last = &entry;
    if (last == nullptr) return;
    contradiction(last->start_ns, root->start_ns, root->end_ns);
    wait_in(WaitKind::early_reduce, *root, *last);
  }

  void wait_for_root(const Instance& instance) {
    const Instance::Entry* root = root_of(instance);
    if (root == nullptr) return;
    for (const Instance::Entry& entry : instance.entries) {
      contradiction(root->start_ns, entry.start_ns, entry.end_ns);
      wait_in(WaitKind::late_broadcast, entry, *root);
    }
  }

  void wait_for_lower(const WorldComm& comm, const Instance& instance) {
    std::map<int, int> place;  // of a world rank in the communicator
    for (std::size_t i = 0; i < comm.order.size(); ++i) place[comm.order[i]] = static_cast<int>(i);
    std::vector<Instance::Entry> entries = instance.entries;
    const auto position = [&](const Instance::Entry& entry) {
      return comm.order.empty() ? entry.rank : place[entry.rank];
    };
    std::sort(entries.begin(), entries.end(),
              [&](const auto& a, const auto& b) { return position(a) < position(b); });
    const Instance::Entry* last = &entries.front();
    for (const Instance::Entry& entry : entries) {
      wait_in(WaitKind::early_scan, entry, *last);
      if (entry.start_ns > last->start_ns) last = &entry;
    }
  }

  struct ArrivalSum {
    std::uint64_t count = 0;
    double spread_ns = 0;
    std::map<int, std::uint64_t> last;
  };

  void note_arrivals(int comm, const Instance& instance) {
    ArrivalSum& sum = arrivals_[{instance.procedure, comm}];
    const Instance::Entry& last = last_of(instance);
    double mean = 0;
    for (const Instance::Entry& entry : instance.entries)
      mean += (entry.start_ns - last.start_ns) / static_cast<double>(instance.entries.size());
    ++sum.count;
    sum.spread_ns -= mean;
    ++sum.last[last.rank];
  }

  // ---- adding up ----

  void add(WaitKind kind, int rank, int cause, std::uint64_t where, double wait) {
    if (wait > 0) sums_[{kind, rank, cause, where}].add(wait);
  }

  // ---- results ----

  void write_waits() {
    std::vector<std::unique_ptr<Mappings>> mappings(static_cast<std::size_t>(out_.size));
    std::map<std::tuple<WaitKind, int, int, std::string, std::string, std::uint64_t, std::string>, Sum> merged;
    for (const auto& [key, sum] : sums_) {
      const auto& [kind, rank, cause, where] = key;
      const Source& source = *by_rank_[static_cast<std::size_t>(rank)];
      std::unique_ptr<Mappings>& maps = mappings[static_cast<std::size_t>(rank)];
      if (maps == nullptr) maps = std::make_unique<Mappings>(source.reader.maps());
      const Origin& origin = source.origins[where];
      const std::uint64_t address = source.reader.site_address(origin.site);
      const Place place = address == 0 ? Place{} : maps->find(address);
      Sum& total = merged[{kind, rank, cause, source.reader.procedure_name(origin.procedure), place.object,
                           place.offset, phase_name(source, origin.phase)}];
      total.count += sum.count;
      total.wait_ns += sum.wait_ns;
      total.longest_ns = std::max(total.longest_ns, sum.longest_ns);
    }
    for (const auto& [key, sum] : merged) {
      const auto& [kind, rank, cause, procedure, object, offset, phase] = key;
      out_.waits.push_back(
          {kind, rank, cause, procedure, object, offset, phase, sum.count, sum.wait_ns, sum.longest_ns});
    }
  }

  static std::string phase_name(const Source& source, std::uint32_t phase) {
    return phase == kNoPhase ? std::string() : source.reader.region_name(phase);
  }

  void write_phases() {
    for (const auto& source : sources_) {
      source->phases[source->phase].total_ns += std::max(0.0, source->latest_ns - source->phase_begin_ns);
      for (const auto& [phase, span] : source->phases) {
        const double total_ns = std::max(0.0, span.total_ns - span.startup_ns);
        if (total_ns > 0 || span.mpi_ns > 0)
          out_.phases.push_back({source->rank(), phase_name(*source, phase), total_ns, span.mpi_ns});
      }
    }
  }

  void write_arrivals() {
    for (const auto& [key, sum] : arrivals_) {
      const auto most = std::max_element(sum.last.begin(), sum.last.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      out_.arrivals.push_back({key.first, comms_[static_cast<std::size_t>(key.second)].name, sum.count,
                               sum.spread_ns, most->first, most->second});
    }
  }

  void note(std::uint64_t count, const std::string& text) {
    if (count > 0) out_.notes.push_back(std::to_string(count) + " " + text);
  }

  void write_counts() {
    out_.matched = matcher_.matched();
    out_.unmatched_sends = matcher_.unmatched_sends();
    out_.unmatched_receives = matcher_.unmatched_receives();
    for (const auto& [line, open] : open_collectives_) out_.incomplete_collectives += open.size();
    note(static_cast<std::uint64_t>(out_.size) - sources_.size(),
         "ranks left no file: nothing is known of waits for them, and collectives are judged without them");
    note(unfinished_, "ranks did not finish (running or killed): the last call of each is not in its trace");
    note(excluded_,
         "ranks are flight recorders that have overwritten records: their messages and collectives cannot be "
         "matched and are left out");
    note(incomplete_, "ranks lost records: what they sent, received and waited for may be matched wrongly");
    note(without_calls_,
         "ranks recorded no calls that move nothing, as asked: MPI_Init and others count as work outside MPI");
    note(without_partner_, "messages have an end that left no usable record");
    note(out_.unmatched_sends, "messages were sent whose receive is not recorded");
    note(out_.unmatched_receives, "messages arrived whose send is not recorded");
    note(matcher_.mismatched(), "messages have two sizes, as sent and as received: pairs may be wrong");
    note(matcher_.dropped(), "messages were given up, too many were in flight at one time");
    note(out_.incomplete_collectives, "collectives were not reached by every rank");
    note(mixed_, "collectives have different names on different ranks and are left out");
    if (paused_) out_.notes.emplace_back("recording was stopped for a while (MPI_Pcontrol): pairs may be wrong");
    std::uint64_t by_realtime = 0;
    for (const RankClockInfo& clock : out_.clocks) by_realtime += clock.source == "realtime" ? 1 : 0;
    note(by_realtime, "ranks are on nodes whose clocks were never compared: their times rest on CLOCK_REALTIME");
    note(out_.contradictions,
         "messages or collectives ended before they could have begun, by the clocks: their waits are cut at the "
         "call");
  }

  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<Source*> by_rank_;
  std::vector<WorldComm> comms_;
  Matcher matcher_;
  WaitWorld out_;
  std::map<std::tuple<WaitKind, int, int, std::uint64_t>, Sum> sums_;
  std::unordered_map<std::uint64_t, Group> groups_;
  std::uint64_t last_group_ = 0;
  std::map<Channel, ReceivedMessage> probes_;
  std::map<std::pair<int, std::pair<int, std::string>>, std::uint64_t> next_collective_;
  std::map<std::pair<int, std::string>, std::map<std::uint64_t, Instance>> open_collectives_;
  std::map<std::pair<std::string, int>, ArrivalSum> arrivals_;
  std::uint64_t excluded_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint64_t unfinished_ = 0;
  std::uint64_t without_calls_ = 0;
  std::uint64_t without_partner_ = 0;
  std::uint64_t mixed_ = 0;
  bool paused_ = false;
  bool collecting_ = false;
  std::vector<Cause> causes_;
};

}  // namespace

const char* wait_kind_name(WaitKind kind) {
  static constexpr const char* kNames[] = {"late sender",  "late receiver",  "barrier",   "all to all",
                                           "early reduce", "late broadcast", "early scan"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<RankClock> align_causally(std::span<const Reader* const> ranks, CausalReport* report) {
  std::vector<RankClock> clocks = align(ranks);
  int nodes = 0;
  for (const RankClock& clock : clocks) nodes = std::max(nodes, clock.node() + 1);
  if (nodes < 2) return clocks;
  const Causality found = make_causal(nodes, WorldWaits(ranks, clocks).causes());
  if (report != nullptr) *report = {found.violated, found.largest_ns};
  std::vector<std::shared_ptr<const NodeCorrection>> corrections;
  for (const NodeCorrection& each : found.nodes)
    corrections.push_back(each.empty() ? nullptr : std::make_shared<const NodeCorrection>(each));
  for (RankClock& clock : clocks) clock.correct(corrections[static_cast<std::size_t>(clock.node())]);
  return clocks;
}

namespace {

struct Found {
  std::string file;  ///< without the folder
  std::unique_ptr<Reader> reader;
};

/// Every readable file; what is wrong with the others.
Status open_all(const std::vector<std::filesystem::path>& files, std::vector<Found>& found,
                std::vector<std::string>& problems) {
  Status first_failure;
  for (const std::filesystem::path& file : files) {
    Result<Reader> opened = Reader::open(file.string());
    const Status status = opened.ok() ? check_rank(opened.value().header(), file.string()) : opened.status();
    if (status.ok()) {
      found.push_back({file.filename().string(), std::make_unique<Reader>(std::move(opened).value())});
      continue;
    }
    if (first_failure.ok()) first_failure = status;
    problems.push_back(status.message());
  }
  return found.empty() ? first_failure : Status{};
}

}  // namespace

Result<WaitProfile> read_waits(const std::string& directory) {
  Result<std::vector<std::filesystem::path>> files = rank_files(directory);
  if (!files.ok()) return files.status();
  WaitProfile profile;
  std::vector<Found> found;
  const Status opened = open_all(files.value(), found, profile.problems);
  if (!opened.ok()) return opened;
  const auto describe = [](const Found& each) { return rank_file(each.reader->header(), each.file); };
  for (const auto& [launch, members] : by_launch(std::move(found), describe)) {
    std::vector<const Reader*> ranks;
    for (const Found& each : members) ranks.push_back(each.reader.get());
    CausalReport report;
    const std::vector<RankClock> clocks = align_causally(ranks, &report);
    WaitWorld world = WorldWaits(ranks, clocks).run();
    world.name = launch_name(launch);
    world.corrections = report.violated;
    world.largest_correction_ns = report.largest_ns;
    profile.worlds.push_back(std::move(world));
  }
  return profile;
}

}  // namespace corewise::profile
