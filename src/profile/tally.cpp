// Streaming one rank's records into its totals.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/tally.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "profile/addresses.hpp"
#include "profile/ending.hpp"

namespace corewise::profile {
namespace {

using trace::Record;
using trace::Role;

void add(Histogram& histogram, std::uint64_t bytes) {
  const auto bin = std::min<std::size_t>(std::bit_width(bytes), kSizeBins - 1);
  ++histogram.count[bin];
  histogram.bytes[bin] += bytes;
}

void take_back(Histogram& histogram, std::uint64_t bytes) {
  const auto bin = std::min<std::size_t>(std::bit_width(bytes), kSizeBins - 1);
  histogram.count[bin] -= std::min<std::uint64_t>(histogram.count[bin], 1);
  histogram.bytes[bin] -= std::min(histogram.bytes[bin], bytes);
}

std::vector<int> cpus_of(const std::uint8_t (&mask)[128]) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < 1024; ++cpu)
    if ((mask[cpu / 8] >> (cpu % 8) & 1) != 0) cpus.push_back(cpu);
  return cpus;
}

Losses losses_of(const trace::Reader& reader) {
  const trace::FileHeader& header = reader.header();
  Losses losses;
  losses.record_bytes = header.lost_bytes;
  losses.sites = header.lost_sites;
  losses.requests = header.lost_requests;
  losses.communicators = header.lost_comms;
  losses.nested = header.lost_nested;
  // Drained records that are gone lie behind the end of a cut file: counted once.
  losses.missing_bytes = std::max(reader.damage().missing_bytes, reader.damage().cut_bytes);
  losses.damaged_blocks = reader.damage().blocks;
  if (header.version >= 2) {
    losses.names = header.lost_names;
    losses.functions = header.lost_functions;
  }
  if (header.version >= 3) losses.types = header.lost_types;
  for (const trace::Slot& slot : reader.slots()) losses.overwritten_bytes += slot.overwritten_bytes;
  return losses;
}

Rank describe(const trace::Reader& reader, const std::string& file) {
  const trace::FileHeader& header = reader.header();
  Rank rank;
  rank.rank = header.rank;
  rank.file = file;
  rank.host = reader.host();
  rank.pid = header.pid;
  rank.ending = ending_of(header.state);
  rank.abort_code = header.abort_code;
  rank.thread_level = static_cast<int>(std::min(header.thread_level, 3U));
  rank.threads = static_cast<int>(reader.slots().size());
  rank.flight_recorder = header.mode == trace::Mode::flight_recorder;
  rank.started_realtime_ns = header.start_realtime_ns;
  rank.cpus_start = cpus_of(header.cpus_start);
  rank.cpus_end = cpus_of(header.cpus_end);
  rank.losses = losses_of(reader);
  rank.node = reader.node();
  rank.kinds = header.version >= 2 ? header.kinds : trace::kAllKinds;
  rank.memory_bytes = header.version >= 2 ? header.memory_bytes : 0;
  return rank;
}

std::uint64_t end_of(const Record& record) {
  return record.start_ticks + record.duration_ticks;
}

/// A record counts in the phase that was current when it was written, which is when its call returned: a phase that
/// one thread begins counts for what the others write afterwards.
class Tally : public TallyListener {
 public:
  Tally(const trace::Reader& reader, const std::string& file, std::int64_t ended_realtime_ns)
      : reader_(reader), ended_realtime_ns_(ended_realtime_ns) {
    out_.rank = describe(reader, file);
    out_.world_size = reader.header().world_size;
    out_.spawned = reader.header().spawned != 0;
    out_.library = reader.library();
    out_.clock = reader.clock();
    out_.communicators = reader.communicators();
    out_.end_ticks = std::max(reader.header().start_ticks, reader.header().latest_ticks);
    procedures_.resize(trace::kCallMask + 1U);
    for (std::size_t number = 0; number < procedures_.size(); ++number)
      facts_.push_back(procedure_facts(reader.procedure_name(static_cast<std::uint16_t>(number))));
    out_.phases.emplace_back();
    out_.phase_totals.emplace_back();
    out_.phase_totals.front().entered = 1;
    phase_since_ = reader.header().start_ticks;
    threads_.resize(reader.slots().size());
  }

  void take(const StreamedRecord& streamed) override {
    thread_ = &threads_[streamed.slot];
    count(streamed.record);
  }

  void end_slot(std::size_t, std::size_t, std::uint64_t damaged_bytes) override {
    out_.rank.losses.missing_bytes += damaged_bytes;
  }

  RankTally finish() override {
    const Mappings mappings(reader_.maps());
    note_end(mappings);
    for (Thread& thread : threads_) close_regions(thread);
    leave_phase(out_.end_ticks);
    if (recording_off_) out_.stopped += out_.end_ticks - std::min(stopped_since_, out_.end_ticks);
    resolve_sites(mappings);
    keep_procedures();
    return std::move(out_);
  }

 private:
  struct Open {
    std::uint64_t depth = 0;
    std::uint64_t since = 0;
    Activity before;
  };
  /// A thread slot: what its calls did so far, and the regions it is in. A region's name is its own, so regions may
  /// overlap, and one inside itself counts once.
  struct Thread {
    Record last;  ///< the newest call
    std::uint64_t last_start = 0;
    std::uint64_t last_end = 0;
    Activity activity;
    std::unordered_map<std::uint32_t, Open> open;
  };

  /// Adds to what the thread does and to what the rank does.
  template <class Change>
  void activity(Change change) {
    change(thread_->activity);
    change(activity_);
  }

  /// Adds to the procedure's and to the call site's totals.
  template <class Change>
  void totals(const Record& record, Change change) {
    change(procedures_[record.procedure]);
    change(sites_[std::uint32_t{record.procedure} << 16 | record.site]);
  }

  void count(const Record& record) {
    ++out_.rank.records;
    out_.end_ticks = std::max(out_.end_ticks, end_of(record));
    thread_->last_end = std::max(thread_->last_end, end_of(record));
    switch (record.role) {
      case Role::function_enter:
      case Role::function_exit:
        ++out_.rank.functions;
        return;
      case Role::region_enter:
        return enter_region(record);
      case Role::region_exit:
        return exit_region(record);
      case Role::phase:
        return enter_phase(record);
      case Role::arrival:
        return arrival(record);
      case Role::cancel:
        return cancel(record);
      case Role::collective_part:
        return part(record);
      case Role::miss:
        return miss(record);
      case Role::recording:  // a mark: the call has its own record, where it is recorded at all
        return switch_recording(record);
      default:
        break;
    }
    call(record);
    message(record);
  }

  /// A call that started several operations wrote one record each, all with its own start: MPI_Startall, and the
  /// start of a persistent collective, whose volume stands under the name of its init.
  void call(const Record& record) {
    const bool fresh = record.start_ticks != thread_->last_start;
    thread_->last_start = record.start_ticks;
    if (fresh) thread_->last = record;
    activity([&](Activity& sum) {
      sum.calls += fresh ? 1 : 0;
      (facts_[record.procedure].starts_or_stops() ? sum.startup : sum.time) += record.duration_ticks;
    });
    totals(record, [&](Ticks& sum) {
      sum.calls += fresh ? 1 : 0;
      sum.time += record.duration_ticks;
      sum.longest = std::max(sum.longest, record.duration_ticks);
    });
  }

  void message(const Record& record) {
    switch (record.role) {
      case Role::send:
        return send(record);
      case Role::receive:
        return receive(record);
      case Role::collective:
        return collective(record);
      case Role::rma_put:
        return one_sided(record, Traffic::put, true);
      case Role::rma_get:
        return one_sided(record, Traffic::get, false);
      case Role::file_read:
      case Role::file_write:
        return file(record);
      case Role::probe:
        ++out_.rank.probes;
        return;
      default:
        return;  // plain calls and posts move nothing
    }
  }

  void bytes(const Record& record) {
    totals(record, [&](Ticks& sum) { sum.bytes += record.bytes; });
  }

  /// The pair's counters, nullptr where the peer is none of this world's ranks.
  Amount* pair(const Record& record, Traffic kind, bool to_peer) {
    if (record.peer >= 0 && record.peer < out_.world_size)
      return &out_.peers[{kind, to_peer, record.comm, record.peer, phase_}];
    if (record.peer >= 0) ++out_.rank.losses.bad_peers;
    return nullptr;
  }

  static void grow(Amount* amount, std::uint64_t bytes, std::uint64_t time = 0) {
    if (amount == nullptr) return;
    amount->bytes += bytes;
    amount->time += time;
    ++amount->count;
  }

  void send(const Record& record) {
    if (record.peer == trace::kProcNull) return;
    bytes(record);
    add(out_.sent_sizes, record.bytes);
    if (DatatypeTotals* totals = datatype(record)) {
      ++totals->messages;
      totals->bytes += record.bytes;
    }
    if (record.peer == trace::kOutside) out_.rank.outside_sent_bytes += record.bytes;
    activity([&](Activity& sum) { sum.sent_bytes += record.bytes; });
    grow(pair(record, Traffic::sent, true), record.bytes, record.duration_ticks);
  }

  void receive(const Record& record) {
    if (record.peer == trace::kProcNull) return;
    bytes(record);
    add(out_.received_sizes, record.bytes);
    if (record.peer == trace::kOutside) out_.rank.outside_received_bytes += record.bytes;
    activity([&](Activity& sum) { sum.received_bytes += record.bytes; });
    grow(pair(record, Traffic::received, false), record.bytes, record.duration_ticks);
  }

  /// nullptr where the record names none.
  DatatypeTotals* datatype(const Record& record) {
    if (record.type == trace::kUnknownType) return nullptr;
    const auto [at, fresh] = out_.datatypes.try_emplace(record.type);
    const auto known = reader_.datatypes().find(record.type);
    if (fresh && known != reader_.datatypes().end()) {
      at->second.name = known->second.name;
      at->second.size_bytes = known->second.size_bytes;
      at->second.extent_bytes = known->second.extent_bytes;
      at->second.derived = known->second.derived;
    }
    return &at->second;
  }

  void arrival(const Record& record) { receive(record); }

  void one_sided(const Record& record, Traffic kind, bool to_peer) {
    if (record.peer == trace::kProcNull) return;
    bytes(record);
    activity([&](Activity& sum) { sum.one_sided_bytes += record.bytes; });
    grow(pair(record, kind, to_peer), record.bytes, record.duration_ticks);
  }

  void file(const Record& record) {
    bytes(record);
    activity([&](Activity& sum) { sum.file_bytes += record.bytes; });
    (record.role == Role::file_read ? out_.rank.file_read_bytes : out_.rank.file_written_bytes) += record.bytes;
  }

  /// The record repeats the post: peer, bytes and procedure. Only a send had been counted. In flight-recorder mode
  /// the send itself may be gone already, hence the guards.
  void cancel(const Record& record) {
    ++out_.rank.cancelled;
    if (!facts_[record.procedure].sends() || record.peer < 0 || record.peer >= out_.world_size) return;
    take_back(out_.sent_sizes, record.bytes);
    if (Amount* amount = sent_before(record)) {
      amount->bytes -= std::min(amount->bytes, record.bytes);
      --amount->count;
    }
  }

  /// The newest phase in which the rank sent something to the record's peer, or nothing.
  Amount* sent_before(const Record& record) {
    for (std::uint32_t back = 0; back < out_.phases.size(); ++back) {
      const auto phases = static_cast<std::uint32_t>(out_.phases.size());
      const std::uint32_t phase = (phase_ + phases - back) % phases;
      const auto found = out_.peers.find({Traffic::sent, true, record.comm, record.peer, phase});
      if (found != out_.peers.end() && found->second.count > 0) return &found->second;
    }
    return nullptr;
  }

  void miss(const Record& record) {
    totals(record, [&](Ticks& sum) {
      sum.calls += record.bytes;
      sum.misses += record.bytes;
      sum.polling += record.duration_ticks;
    });
    activity([&](Activity& sum) { sum.calls += record.bytes; });
  }

  // ---- phases, regions, recording ----

  void enter_phase(const Record& record) {
    leave_phase(record.start_ticks);
    phase_ = phase_of(reader_.region_name(record.name));
    ++out_.phase_totals[phase_].entered;
    phase_since_ = record.start_ticks;
    phase_before_ = activity_;
  }

  void leave_phase(std::uint64_t now) {
    SectionTally& section = out_.phase_totals[phase_];
    const Activity done = activity_ - phase_before_;
    section.activity += done;
    const std::uint64_t span = now - std::min(phase_since_, now);
    section.wall += span - std::min(done.startup, span);
  }

  std::uint32_t phase_of(const std::string& name) {
    const auto [at, fresh] = phase_index_.emplace(name, static_cast<std::uint32_t>(out_.phases.size()));
    if (fresh) {
      out_.phases.push_back(name);
      out_.phase_totals.emplace_back();
    }
    return at->second;
  }

  void enter_region(const Record& record) {
    Open& open = thread_->open[record.name];
    if (open.depth++ > 0) return;
    open.since = record.start_ticks;
    open.before = thread_->activity;
    ++out_.regions[reader_.region_name(record.name)].entered;
  }

  /// One that was never entered is a remnant: its entry was overwritten, or fell to a stop of recording.
  void exit_region(const Record& record) {
    const auto found = thread_->open.find(record.name);
    if (found == thread_->open.end() || --found->second.depth > 0) return;
    count_region(record.name, found->second, *thread_, record.start_ticks);
    thread_->open.erase(found);
  }

  void count_region(std::uint32_t name, const Open& open, const Thread& thread, std::uint64_t now) {
    SectionTally& section = out_.regions[reader_.region_name(name)];
    const Activity done = thread.activity - open.before;
    section.activity += done;
    const std::uint64_t span = now - std::min(open.since, now);
    section.wall += span - std::min(done.startup, span);
  }

  void close_regions(const Thread& thread) {
    for (const auto& [name, open] : thread.open) {
      count_region(name, open, thread, thread.last_end);
      ++out_.regions[reader_.region_name(name)].unclosed;
    }
  }

  void switch_recording(const Record& record) {
    const bool off = record.name == 0;
    if (off == recording_off_) return;
    recording_off_ = off;
    if (off) {
      ++out_.rank.stops;
      stopped_since_ = record.start_ticks;
    } else {
      out_.stopped += record.start_ticks - std::min(stopped_since_, record.start_ticks);
    }
  }

  // ---- collectives ----

  void collective(const Record& record) {
    bytes(record);
    collectives_.add(record);
    if (DatatypeTotals* totals = datatype(record)) {
      ++totals->collective_calls;
      totals->collective_bytes += record.bytes;
    }
    activity([&](Activity& sum) { sum.collective_bytes += record.bytes; });
    add(out_.collective_sizes, record.bytes);
    switch (facts_[record.procedure].volume) {
      case Volume::none:
      case Volume::per_peer:
        return;
      case Volume::from_root:
        return rooted(record, false);
      case Volume::to_root:
        return rooted(record, true);
      case Volume::from_previous:
        return from_previous(record);
      case Volume::unknown:
        out_.rank.unmodelled_bytes += record.bytes;
        return;
      default:
        return spread(record);
    }
  }

  void rooted(const Record& record, bool to_root) {
    if (record.peer != out_.rank.rank) grow(pair(record, Traffic::collective, to_root), record.bytes);
  }

  void from_previous(const Record& record) {
    const trace::Communicator* comm = communicator(record);
    if (comm == nullptr) {
      out_.rank.unmodelled_bytes += record.bytes;
    } else if (comm->my_rank > 0) {
      Record before = record;
      const auto at = static_cast<std::size_t>(comm->my_rank) - 1;
      before.peer = comm->identity ? comm->my_rank - 1 : at < comm->ranks.size() ? comm->ranks[at] : trace::kNoPeer;
      grow(pair(before, Traffic::collective, false), record.bytes);
    }
  }

  void spread(const Record& record) {
    if (communicator(record) == nullptr) {
      out_.rank.unmodelled_bytes += record.bytes;
      return;
    }
    Spread& sum = out_.spreads[{record.comm, phase_}];
    const Volume volume = facts_[record.procedure].volume;
    std::uint64_t& total = volume == Volume::to_each     ? sum.to_each_bytes
                           : volume == Volume::from_each ? sum.from_each_bytes
                                                         : sum.reduced_bytes;
    std::uint64_t& count = volume == Volume::to_each     ? sum.to_each_count
                           : volume == Volume::from_each ? sum.from_each_count
                                                         : sum.reduced_count;
    total += record.bytes;
    ++count;
  }

  void part(const Record& record) {
    if (record.peer != out_.rank.rank) grow(pair(record, Traffic::collective, true), record.bytes);
  }

  const trace::Communicator* communicator(const Record& record) const {
    const auto found = out_.communicators.find(record.comm);
    return found == out_.communicators.end() ? nullptr : &found->second;
  }

  // ---- how the rank ended ----

  /// The calls that were not over count up to the end of the rank.
  void note_end(const Mappings& mappings) {
    RankEnd& end = out_.rank.end;
    std::vector<std::uint64_t> last_start;
    for (const Thread& thread : threads_) last_start.push_back(thread.last_start);
    end.open = open_calls(reader_, mappings, last_start);
    end.crash = crash_of(reader_, mappings);
    end.collectives = collectives_.made(reader_);
    if (reader_.header().version >= 3) out_.exit_ticks = reader_.header().exit_ticks;
    find_last(mappings);
    out_.end_ticks = std::max(out_.end_ticks, end_of_life());
    for (std::size_t slot = 0; slot < threads_.size(); ++slot) {
      const auto& open = reader_.slots()[slot].open;
      if (!open || open->call.start_ticks == last_start[slot]) continue;
      Record call = open->call;
      call.duration_ticks = out_.end_ticks - std::min(call.start_ticks, out_.end_ticks);
      thread_ = &threads_[slot];
      thread_->last_end = std::max(thread_->last_end, end_of(call));
      this->call(call);
      for (OpenOperation* each : operations_of(end, reader_.slots()[slot].index)) describe_type(*each);
    }
  }

  static std::vector<OpenOperation*> operations_of(RankEnd& end, std::uint32_t thread) {
    std::vector<OpenOperation*> out;
    for (OpenCall& open : end.open) {
      if (open.thread != static_cast<int>(thread)) continue;
      out.push_back(&open.call);
      for (OpenOperation& each : open.pending) out.push_back(&each);
    }
    return out;
  }

  /// So that the world's table has the datatypes of messages that never left.
  void describe_type(const OpenOperation& operation) {
    Record named;
    named.type =
        operation.datatype == kNoDatatype ? trace::kUnknownType : static_cast<std::uint8_t>(operation.datatype);
    datatype(named);
  }

  /// The last that is known of a rank that did not finish: its crash, or the end of the run. A crash after
  /// MPI_Finalize is no part of the run.
  [[nodiscard]] std::uint64_t end_of_life() const {
    const trace::FileHeader& header = reader_.header();
    if (out_.rank.ending == Ending::finalized) return 0;
    if (!out_.rank.end.crash.empty()) return header.crash.ticks;
    if (out_.exit_ticks != 0) return out_.rank.ending == Ending::running ? out_.exit_ticks : 0;
    const double lived_ns = static_cast<double>(ended_realtime_ns_) - static_cast<double>(header.start_realtime_ns);
    if (out_.rank.ending != Ending::running || !out_.clock.known || lived_ns <= 0) return 0;
    return header.start_ticks + static_cast<std::uint64_t>(std::min(lived_ns / out_.clock.ns_per_tick, 9.0e18));
  }

  void find_last(const Mappings& mappings) {
    const auto newest = std::max_element(threads_.begin(), threads_.end(), [](const Thread& a, const Thread& b) {
      return end_of(a.last) < end_of(b.last);
    });
    // An older file does not say whether the rank was in a call: what came last is no news of it.
    if (reader_.header().version < 3 || newest == threads_.end() || newest->last.start_ticks == 0) return;
    LastCall& last = out_.rank.end.last;
    last.procedure = reader_.procedure_name(newest->last.procedure);
    last.from = place_of(mappings, reader_.site_address(newest->last.site));
    out_.last_end = end_of(newest->last);
  }

  // ---- procedures and call sites ----

  /// What was called, and the names of that and of what made communicators.
  void keep_procedures() {
    for (std::size_t number = 0; number < procedures_.size(); ++number) {
      const Ticks& ticks = procedures_[number];
      if (ticks.calls + ticks.bytes + ticks.time + ticks.polling > 0)
        out_.procedures.emplace(static_cast<std::uint16_t>(number), ticks);
    }
    const auto name = [&](std::uint16_t number) { out_.names.try_emplace(number, reader_.procedure_name(number)); };
    for (const auto& [number, ticks] : out_.procedures) name(number);
    for (const auto& [place, ticks] : out_.sites) name(std::get<2>(place));
    for (const auto& [index, comm] : out_.communicators) name(comm.created_by & trace::kCallMask);
  }

  void resolve_sites(const Mappings& mappings) {
    for (const auto& [key, sum] : sites_) {
      const std::uint64_t address = reader_.site_address(static_cast<std::uint16_t>(key & 0xffff));
      const Place place = address == 0 ? Place{} : mappings.find(address);
      Ticks& merged = out_.sites[{place.object, place.offset, static_cast<std::uint16_t>(key >> 16)}];
      merged.calls += sum.calls;
      merged.misses += sum.misses;
      merged.bytes += sum.bytes;
      merged.time += sum.time;
      merged.polling += sum.polling;
      merged.longest = std::max(merged.longest, sum.longest);
    }
  }

  const trace::Reader& reader_;
  std::int64_t ended_realtime_ns_;
  RankTally out_;
  CollectiveLog collectives_;
  std::vector<ProcedureFacts> facts_;               ///< by procedure number
  std::vector<Ticks> procedures_;                   ///< by procedure number
  std::unordered_map<std::uint32_t, Ticks> sites_;  ///< by procedure << 16 | site
  std::vector<Thread> threads_;
  Thread* thread_ = nullptr;
  Activity activity_;  ///< of all threads
  std::unordered_map<std::string, std::uint32_t> phase_index_{{"", 0}};
  std::uint32_t phase_ = 0;
  std::uint64_t phase_since_ = 0;
  Activity phase_before_;
  bool recording_off_ = false;
  std::uint64_t stopped_since_ = 0;
};

constexpr std::uint64_t Activity::* kActivityFields[] = {&Activity::calls,           &Activity::time,
                                                         &Activity::startup,         &Activity::sent_bytes,
                                                         &Activity::received_bytes,  &Activity::collective_bytes,
                                                         &Activity::one_sided_bytes, &Activity::file_bytes};

}  // namespace

Activity& Activity::operator+=(const Activity& more) {
  for (const auto field : kActivityFields) this->*field += more.*field;
  return *this;
}

Activity operator-(const Activity& later, const Activity& earlier) {
  Activity between;
  for (const auto field : kActivityFields) between.*field = later.*field - earlier.*field;
  return between;
}

std::unique_ptr<TallyListener> tally_listener(const trace::Reader& reader, const std::string& file,
                                              std::int64_t ended_realtime_ns) {
  return std::make_unique<Tally>(reader, file, ended_realtime_ns);
}

}  // namespace corewise::profile
