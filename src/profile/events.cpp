// Opening a run's rank files, and turning their records into rows; see events.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/events.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <utility>

#include "profile/communicators.hpp"
#include "profile/launches.hpp"
#include "profile/waits/waits.hpp"

namespace corewise::profile {
namespace {

namespace fs = std::filesystem;
using trace::Record;
using trace::Role;

/// Beyond this nothing is a time: 2^62 ns are 146 years.
constexpr double kLongest_ns = 4.6e18;

constexpr std::int32_t kUnmet = -2;
constexpr std::size_t kScanRows = 4096;

Ending ending_of(trace::State state) {
  if (state == trace::State::finalized) return Ending::finalized;
  return state == trace::State::aborted ? Ending::aborted : Ending::running;
}

struct Member {
  trace::Reader reader;
  std::string file;  ///< without the folder
};

}  // namespace

// ---- opening ---------------------------------------------------------------------------------------------

/// Fills a log from its files, world by world.
class EventLogBuilder {
 public:
  Result<EventLog> run(const std::string& directory) {
    Result<std::vector<fs::path>> files = rank_files(directory);
    if (!files.ok()) return files.status();
    for (const fs::path& file : files.value()) open(file);
    if (members_.empty()) return first_failure_;
    const auto describe = [](const Member& member) { return rank_file(member.reader.header(), member.file); };
    for (auto& [launch, members] : by_launch(std::move(members_), describe))
      add_world(launch_name(launch), members);
    finish_times();
    return std::move(log_);
  }

 private:
  void open(const fs::path& file) {
    Result<trace::Reader> opened = trace::Reader::open(file.string());
    Status status = opened.status();
    if (status.ok()) status = check_rank(opened.value().header(), file.string());
    if (status.ok()) {
      members_.push_back({std::move(opened).value(), file.filename().string()});
      return;
    }
    if (first_failure_.ok()) first_failure_ = status;
    log_.problems.push_back(status.message());
  }

  void add_world(const std::string& name, std::vector<Member>& members) {
    std::vector<const trace::Reader*> readers;
    for (const Member& member : members) readers.push_back(&member.reader);
    const std::vector<RankClock> clocks = align_causally(readers);
    CommunicatorTable table;
    for (std::size_t i = 0; i < members.size(); ++i) add_process(name, members[i], clocks[i], table);
    for (const Communicator& known : table.known()) log_.communicators.push_back({world_, known});
    ++world_;
  }

  void add_process(const std::string& world, Member& member, const RankClock& clock, CommunicatorTable& table) {
    log_.processes.push_back(describe(world, member));
    auto source = std::make_unique<EventLog::Source>(
        EventLog::Source{std::move(member.reader), clock, 0, {}, {}, Mappings(""), {}, {}, {}});
    source->mappings = Mappings(source->reader.maps());
    source->procedures.assign(trace::kCallMask + 1U, kUnmet);
    add_communicators(*source, table);
    for (const trace::Slot& slot : source->reader.slots())
      log_.threads.push_back({static_cast<int>(log_.sources_.size()), slot.index});
    log_.sources_.push_back(std::move(source));
  }

  EventProcess describe(const std::string& world, const Member& member) const {
    const trace::FileHeader& header = member.reader.header();
    EventProcess process;
    process.world = world_;
    process.rank = header.rank;
    process.world_size = header.world_size;
    process.world_name = world;
    process.file = member.file;
    process.host = member.reader.host();
    process.node = member.reader.node();
    process.library = member.reader.library();
    process.pid = header.pid;
    process.ending = ending_of(header.state);
    process.started_realtime_ns = header.start_realtime_ns;
    process.clock_known = member.reader.clock().known;
    process.kinds = header.version >= 2 ? header.kinds : trace::kAllKinds;
    const trace::Damage& damage = member.reader.damage();
    process.lost_bytes = header.lost_bytes + std::max(damage.missing_bytes, damage.cut_bytes);
    for (const trace::Slot& slot : member.reader.slots()) process.overwritten_bytes += slot.overwritten_bytes;
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
  std::vector<Member> members_;
  Status first_failure_;
  int world_ = 0;
};

Result<EventLog> EventLog::open(const std::string& directory) {
  return EventLogBuilder().run(directory);
}

std::uint64_t EventLog::scan(std::size_t thread) {
  EventCursor cursor(*this, thread, {});
  EventColumns columns;
  while (cursor.next(columns, kScanRows)) {
  }
  return cursor.records_read();
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

std::int32_t EventLog::name_of(EventName name) {
  const auto [at, fresh] = name_index_.emplace(std::tuple(name.sort, name.text, name.object, name.offset),
                                               static_cast<std::int32_t>(names.size()));
  if (fresh) names.push_back(std::move(name));
  return at->second;
}

EventLog::Located EventLog::locate(const Source& source, std::uint64_t address) {
  const Place place = source.mappings.find(address);
  return {object_of(place.object), static_cast<std::int64_t>(place.offset), -1};
}

EventLog::Located EventLog::site_of(Source& source, std::uint64_t address) {
  if (address == 0) return {};
  const auto known = source.sites.find(address);
  return known != source.sites.end() ? known->second
                                     : source.sites.emplace(address, locate(source, address)).first->second;
}

EventLog::Located EventLog::function_of(Source& source, std::uint64_t address) {
  const auto known = source.functions.find(address);
  if (known != source.functions.end()) return known->second;
  Located place = locate(source, address);
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
  for (auto* column : {&start_ns, &duration_ns, &calls, &bytes, &offset}) column->reserve(rows);
  for (auto* column : {&name, &peer, &tag, &comm, &object}) column->reserve(rows);
}

namespace {

trace::RecordStream stream_of(const trace::Reader& reader, std::uint32_t slot) {
  const auto wanted = std::find_if(reader.slots().begin(), reader.slots().end(),
                                   [&](const trace::Slot& each) { return each.index == slot; });
  return reader.records(*wanted);
}

}  // namespace

EventCursor::EventCursor(EventLog& log, std::size_t thread, const EventFilter& filter)
    : log_(log),
      process_(log.threads[thread].process),
      filter_(filter),
      stream_(stream_of(log.sources_[static_cast<std::size_t>(process_)]->reader, log.threads[thread].slot)) {}

bool EventCursor::next(EventColumns& columns, std::size_t rows) {
  columns.clear();
  columns.reserve(std::min<std::size_t>(rows, kScanRows));
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

void EventCursor::name_and_place(const Record& record, EventColumns& columns) {
  EventLog::Source& source = *log_.sources_[static_cast<std::size_t>(process_)];
  EventLog::Located at;
  switch (record.role) {
    case Role::function_enter:
    case Role::function_exit:
      at = log_.function_of(source, record.address);
      break;
    case Role::region_enter:
    case Role::region_exit:
    case Role::phase:
      at = log_.site_of(source, source.reader.site_address(record.site));
      at.name = log_.region_of(source, record.name);
      break;
    case Role::recording:
      break;
    default:
      at = log_.site_of(source, source.reader.site_address(record.site));
      at.name = log_.procedure_of(source, record.procedure);
  }
  columns.name.push_back(at.name);
  columns.object.push_back(at.object);
  columns.offset.push_back(at.offset);
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
  name_and_place(record, columns);
}

}  // namespace corewise::profile
