// Opening a run's rank files, and turning their records into rows; see events.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/events.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <utility>

#include "profile/communicators.hpp"
#include "profile/ending.hpp"
#include "profile/open_run.hpp"
#include "profile/stream.hpp"
#include "profile/waits/waits.hpp"

namespace corewise::profile {
namespace {

namespace fs = std::filesystem;
using trace::Record;
using trace::Role;

/// Beyond this nothing is a time: 2^62 ns are 146 years.
constexpr double kLongest_ns = 4.6e18;

constexpr std::int32_t kUnmet = -2;
constexpr std::size_t kReservedRows = 4096;

}  // namespace

// ---- opening ---------------------------------------------------------------------------------------------

/// Listens where the records are read to align clocks: a thread that was heard need not be scanned.
class EventIndex : public RecordListener {
 public:
  EventIndex(EventLog& log, std::size_t first_source) : log_(log), first_source_(first_source) {}

  void take(const StreamedRecord& streamed) override {
    log_.locate(*log_.sources_[first_source_ + streamed.rank], streamed.record);
    ++records_[log_.sources_[first_source_ + streamed.rank]->first_thread + streamed.slot];
  }
  void end_slot(std::size_t rank, std::size_t slot, std::uint64_t) override {
    records_.try_emplace(log_.sources_[first_source_ + rank]->first_thread + slot, 0);
  }
  void keep() { log_.scanned_.merge(records_); }

 private:
  EventLog& log_;
  std::size_t first_source_;
  std::map<std::size_t, std::uint64_t> records_;
};

/// Fills a log from its files, world by world.
class EventLogBuilder {
 public:
  Result<EventLog> run(const std::string& directory) {
    Result<OpenRun> opened = open_run(directory);
    if (!opened.ok()) return opened.status();
    OpenRun run = std::move(opened).value();
    log_.problems = std::move(run.problems);
    for (OpenWorld& world : run.worlds) add_world(world);
    finish_times();
    return std::move(log_);
  }

 private:
  void add_world(OpenWorld& world) {
    const std::vector<const trace::Reader*> readers = world.readers();
    const std::size_t first = log_.sources_.size();
    CommunicatorTable table;
    for (OpenRank& rank : world.ranks) add_process(world.name, rank, table);
    EventIndex index(log_, first);
    CausalReport report;
    const std::vector<RankClock> clocks = align_causally(readers, &report, &index);
    for (std::size_t i = 0; i < clocks.size(); ++i) log_.sources_[first + i]->clock = clocks[i];
    if (report.streamed) index.keep();
    for (const Communicator& known : table.known()) log_.communicators.push_back({world_, known});
    ++world_;
  }

  void add_process(const std::string& world, OpenRank& rank, CommunicatorTable& table) {
    log_.processes.push_back(describe(world, rank));
    auto source = std::make_unique<EventLog::Source>(std::move(rank.reader));
    source->procedures.assign(trace::kCallMask + 1U, kUnmet);
    add_communicators(*source, table);
    for (const auto& [own, type] : source->reader.datatypes())
      source->type_of[static_cast<std::uint8_t>(own)] = log_.add_type(type);
    source->first_thread = log_.threads.size();
    for (const trace::Slot& slot : source->reader.slots())
      log_.threads.push_back({static_cast<int>(log_.sources_.size()), slot.index});
    log_.sources_.push_back(std::move(source));
  }

  EventProcess describe(const std::string& world, const OpenRank& rank) const {
    const trace::Reader& reader = *rank.reader;
    const trace::FileHeader& header = reader.header();
    EventProcess process;
    process.world = world_;
    process.rank = header.rank;
    process.world_size = header.world_size;
    process.world_name = world;
    process.file = rank.file;
    process.host = reader.host();
    process.node = reader.node();
    process.library = reader.library();
    process.pid = header.pid;
    process.ending = ending_of(header.state);
    process.started_realtime_ns = header.start_realtime_ns;
    process.clock_known = reader.clock().known;
    process.kinds = header.version >= 2 ? header.kinds : trace::kAllKinds;
    const trace::Damage& damage = reader.damage();
    process.lost_bytes = header.lost_bytes + std::max(damage.missing_bytes, damage.cut_bytes);
    for (const trace::Slot& slot : reader.slots()) process.overwritten_bytes += slot.overwritten_bytes;
    return process;
  }

  /// In the log the communicators of all worlds are one list.
  void add_communicators(EventLog::Source& source, CommunicatorTable& table) const {
    const auto name_of = [&](std::uint16_t number) { return source.reader.procedure_name(number); };
    source.comm_of = table.add(source.reader.communicators(), name_of);
    for (auto& [own, index] : source.comm_of) index += static_cast<int>(log_.communicators.size());
  }

  /// Worlds have time lines of their own; what they share is the time of day at which they began.
  void finish_times() {
    std::map<int, std::int64_t> begun;
    for (const EventProcess& process : log_.processes) {
      const auto [at, fresh] = begun.emplace(process.world, process.started_realtime_ns);
      if (!fresh) at->second = std::min(at->second, process.started_realtime_ns);
    }
    std::int64_t first = INT64_MAX;
    for (const auto& [world, realtime] : begun) first = std::min(first, realtime);
    for (std::size_t i = 0; i < log_.processes.size(); ++i) {
      EventProcess& process = log_.processes[i];
      EventLog::Source& source = *log_.sources_[i];
      // Unsigned on purpose: a damaged header must not overflow a signed subtraction.
      source.shift_ns =
          static_cast<double>(static_cast<std::uint64_t>(begun[process.world]) - static_cast<std::uint64_t>(first));
      process.start_ns = EventLog::whole_ns(source, source.reader.header().start_ticks);
    }
  }

  EventLog log_;
  int world_ = 0;
};

Result<EventLog> EventLog::open(const std::string& directory) {
  return EventLogBuilder().run(directory);
}

std::uint64_t EventLog::scan(std::size_t thread) {
  const auto [at, fresh] = scanned_.try_emplace(thread, 0);
  if (!fresh) return at->second;
  Source& source = *sources_[static_cast<std::size_t>(threads[thread].process)];
  trace::RecordStream stream = stream_of(thread);
  for (Record record; stream.next(record); ++at->second) locate(source, record);
  return at->second;
}

trace::RecordStream EventLog::stream_of(std::size_t thread) const {
  const Source& source = *sources_[static_cast<std::size_t>(threads[thread].process)];
  return source.reader.records(source.reader.slots()[thread - source.first_thread]);
}

std::int64_t EventLog::whole_ns(const Source& source, std::uint64_t ticks) {
  const double ns = std::floor(source.clock.ns(ticks) + source.shift_ns);
  return static_cast<std::int64_t>(std::clamp(ns, -kLongest_ns, kLongest_ns));
}

std::int32_t EventLog::object_of(const std::string& name) {
  if (name.empty()) return -1;
  const auto [at, fresh] = object_index_.emplace(name, static_cast<std::int32_t>(objects.size()));
  if (fresh) objects.push_back(name);
  return at->second;
}

std::int32_t EventLog::add_type(const trace::Datatype& type) {
  DatatypeTotals made;
  made.name = type.name;
  made.size_bytes = type.size_bytes;
  made.extent_bytes = type.extent_bytes;
  made.derived = type.derived;
  const auto same = [&](const DatatypeTotals& each) {
    return each.name == made.name && each.size_bytes == made.size_bytes && each.extent_bytes == made.extent_bytes;
  };
  const auto found = std::find_if(datatypes.begin(), datatypes.end(), same);
  const auto index = static_cast<std::int32_t>(found - datatypes.begin());
  if (found == datatypes.end()) datatypes.push_back(std::move(made));
  return index;
}

std::int32_t EventLog::type_of(const Source& source, const Record& record) {
  const auto found = source.type_of.find(record.type);
  return found == source.type_of.end() ? -1 : found->second;
}

std::int32_t EventLog::name_of(EventName name) {
  const auto [at, fresh] = name_index_.emplace(std::tuple(name.sort, name.text, name.object, name.offset),
                                               static_cast<std::int32_t>(names.size()));
  if (fresh) names.push_back(std::move(name));
  return at->second;
}

EventLog::Located EventLog::locate(Source& source, const Record& record) {
  Located at;
  switch (record.role) {
    case Role::function_enter:
    case Role::function_exit:
      return function_of(source, record.address);
    case Role::region_enter:
    case Role::region_exit:
    case Role::phase:
      at = site_of(source, source.reader.site_address(record.site));
      at.name = region_of(source, record.name);
      return at;
    case Role::recording:
      return at;
    default:
      at = site_of(source, source.reader.site_address(record.site));
      at.name = procedure_of(source, record.procedure);
      return at;
  }
}

EventLog::Located EventLog::place_of(const Source& source, std::uint64_t address) {
  const Place place = source.mappings.find(address);
  return {object_of(place.object), static_cast<std::int64_t>(place.offset), -1};
}

EventLog::Located EventLog::site_of(Source& source, std::uint64_t address) {
  if (address == 0) return {};
  const auto known = source.sites.find(address);
  return known != source.sites.end() ? known->second
                                     : source.sites.emplace(address, place_of(source, address)).first->second;
}

EventLog::Located EventLog::function_of(Source& source, std::uint64_t address) {
  const auto known = source.functions.find(address);
  if (known != source.functions.end()) return known->second;
  Located place = place_of(source, address);
  place.name = name_of({EventName::Sort::function, "", place.object, place.offset});
  return source.functions.emplace(address, place).first->second;
}

std::int32_t EventLog::procedure_of(Source& source, std::uint16_t procedure) {
  std::int32_t& known = source.procedures[procedure & trace::kCallMask];
  if (known == kUnmet)
    known = name_of({EventName::Sort::procedure, source.reader.procedure_name(procedure), -1, 0});
  return known;
}

std::int32_t EventLog::region_of(Source& source, std::uint32_t name) {
  const auto known = source.regions.find(name);
  if (known != source.regions.end()) return known->second;
  const std::int32_t index = name_of({EventName::Sort::region, source.reader.region_name(name), -1, 0});
  source.regions.emplace(name, index);
  return index;
}

// ---- rows ------------------------------------------------------------------------------------------------

void EventColumns::clear() {
  *this = EventColumns{};
}

void EventColumns::reserve(std::size_t rows) {
  kind.reserve(rows);
  for (auto* column : {&start_ns, &duration_ns, &calls, &bytes, &offset, &elements}) column->reserve(rows);
  for (auto* column : {&name, &peer, &tag, &comm, &object, &datatype}) column->reserve(rows);
}

EventCursor::EventCursor(EventLog& log, std::size_t thread, const EventFilter& filter)
    : log_(log), process_(log.threads[thread].process), filter_(filter), stream_(log.stream_of(thread)) {}

bool EventCursor::next(EventColumns& columns, std::size_t rows) {
  columns.clear();
  columns.reserve(std::min<std::size_t>(rows, kReservedRows));
  Record record;
  while (columns.rows() < rows && stream_.next(record)) {
    ++records_read_;
    take(record, columns);
  }
  return columns.rows() > 0;
}

/// Consecutive records with one start are one call; parts, arrivals and cancellations are none, and no entry or
/// exit is one.
std::int64_t EventCursor::calls_of(const Record& record) {
  switch (record.role) {
    case Role::collective_part:
    case Role::arrival:
    case Role::cancel:
    case Role::function_enter:
    case Role::function_exit:
    case Role::region_enter:
    case Role::region_exit:
    case Role::phase:
    case Role::recording:
      return 0;
    case Role::miss:
      return static_cast<std::int64_t>(record.bytes);
    default:
      break;
  }
  const bool fresh = record.start_ticks != last_start_;
  last_start_ = record.start_ticks;
  return fresh ? 1 : 0;
}

/// An arrival ends with the call that completed it, whose record lies just before. Its own duration, which began
/// with the post, may have lost its last bits to the packing; the call's end is put back.
std::uint64_t EventCursor::end_of(const Record& record) {
  const std::uint64_t end = record.start_ticks + record.duration_ticks;
  const bool completes = record.role == Role::arrival || record.role == Role::cancel;
  if (!completes) {
    last_end_ = end;
    return end;
  }
  const std::uint64_t lost_at_most = record.duration_ticks >> 26;
  return last_end_ > end && last_end_ - end <= lost_at_most ? last_end_ : end;
}

void EventCursor::take(const Record& record, EventColumns& columns) {
  EventLog::Source& source = *log_.sources_[static_cast<std::size_t>(process_)];
  const std::int64_t calls = calls_of(record);
  const std::uint64_t end_ticks = end_of(record);
  if ((filter_.roles >> static_cast<unsigned>(record.role) & 1) == 0) return;
  const std::int64_t start = EventLog::whole_ns(source, record.start_ticks);
  const std::int64_t end = std::max(start, EventLog::whole_ns(source, end_ticks));
  if (start >= filter_.until_ns || end < filter_.from_ns) return;
  const auto comm = source.comm_of.find(record.comm);
  columns.kind.push_back(static_cast<std::uint8_t>(record.role));
  columns.start_ns.push_back(start);
  columns.duration_ns.push_back(end - start);
  columns.calls.push_back(calls);
  columns.bytes.push_back(record.role == Role::miss ? 0 : static_cast<std::int64_t>(record.bytes));
  columns.peer.push_back(record.peer);
  columns.tag.push_back(record.role == Role::recording ? static_cast<std::int32_t>(record.name) : record.tag);
  columns.comm.push_back(comm == source.comm_of.end() ? -1 : comm->second);
  const EventLog::Located at = log_.locate(source, record);
  columns.name.push_back(at.name);
  columns.object.push_back(at.object);
  columns.offset.push_back(at.offset);
  const std::int32_t type = EventLog::type_of(source, record);
  const std::uint64_t size = type < 0 ? 0 : log_.datatypes[static_cast<std::size_t>(type)].size_bytes;
  columns.datatype.push_back(type);
  columns.elements.push_back(size == 0 ? 0 : static_cast<std::int64_t>(record.bytes / size));
}

}  // namespace corewise::profile
