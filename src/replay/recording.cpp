// Opens the files, and reads every rank's records once for where it begins and ends.
// SPDX-License-Identifier: BSD-3-Clause
#include "replay/recording.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "profile/communicators.hpp"
#include "replay/calls.hpp"

namespace corewise::replay {
namespace {

using trace::Role;

Members members_of(const profile::Communicator& comm, int world) {
  Members made;
  made.name = comm.name;
  made.single = comm.size == 1 && comm.remote_size == 0;
  if (made.single || comm.remote_size > 0) return made;
  made.world.assign(comm.ranks.begin(), comm.ranks.end());
  if (made.world.empty()) {
    made.world.resize(static_cast<std::size_t>(comm.size));
    std::iota(made.world.begin(), made.world.end(), 0);
  }
  const bool inside =
      std::all_of(made.world.begin(), made.world.end(), [&](int rank) { return rank >= 0 && rank < world; });
  if (!inside) made.world.clear();
  for (std::size_t rank = 0; rank < made.world.size(); ++rank) {
    made.place.emplace_back(made.world[rank], static_cast<int>(rank));
  }
  std::sort(made.place.begin(), made.place.end());
  return made;
}

/// The slot that has records; more than one is refused.
Result<const trace::Slot*> only_slot(const profile::OpenRank& rank) {
  const trace::Slot* found = nullptr;
  int used = 0;
  for (const trace::Slot& slot : rank.reader->slots()) {
    trace::Record record;
    trace::RecordStream records = rank.reader->records(slot);
    if (slot.overwritten_bytes > 0) {
      return bad_field(rank.file, "records", "the last ones only (a flight recorder)", "all of a run");
    }
    if (!records.next(record)) continue;
    found = &slot;
    ++used;
  }
  if (used > 1) return bad_field(rank.file, "threads that called MPI", std::to_string(used), "1");
  return found;
}

/// A replay counts picoseconds in 63 bits, which are 106 days.
constexpr double kLongest_ns = 50 * 86'400e9;
constexpr std::string_view kLongest = "at most 50 days from the first call";

std::string seconds(double ns) {
  return std::to_string(std::llround(ns * 1e-9)) + " s";
}

/// Roles whose peer is a rank that a replay looks up; one-sided calls and files keep their recorded time.
bool has_peer(Role role) {
  return (role >= Role::send && role <= Role::collective_part) || role == Role::probe;
}

/// Checks the records of one rank before anything indexes by them: a file may be damaged where its chunks do not
/// show it.
class RecordCheck {
 public:
  RecordCheck(const Source& source, const std::vector<Members>& communicators, int rank, int size)
      : source_(source), communicators_(communicators), rank_(rank), size_(size) {}

  [[nodiscard]] Status check(const Call& call) const {
    for (const std::uint64_t ticks : {call.record.start_ticks, call.end_ticks()}) {
      const double ns = source_.clock.ns(ticks) - source_.clock.ns(source_.begin_ticks);
      if (std::abs(ns) > kLongest_ns) return refuse(call, call.record, "time", seconds(ns), std::string(kLongest));
    }
    if (Status status = check_peer(call, call.record); !status.ok()) return status;
    for (const auto* list : {&call.more, &call.completed}) {
      for (const trace::Record& record : *list) {
        if (Status status = check_peer(call, record); !status.ok()) return status;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] Status refuse(const Call& call, const trace::Record& record, const std::string& what,
                              const std::string& found, const std::string& allowed) const {
    const std::string& name = (*source_.procedures)[record.procedure].name;
    return bad_field(source_.file, what + " of " + name + " (call " + std::to_string(call.number) + ")", found,
                     allowed);
  }

  [[nodiscard]] Status check_peer(const Call& call, const trace::Record& record) const {
    if (!has_peer(record.role)) return {};
    const bool sent = record.role == Role::send;
    if (record.peer >= size_ || (sent && (record.peer == trace::kAnySource || record.peer < trace::kOutside))) {
      return refuse(call, record, "peer", std::to_string(record.peer), "0 to " + std::to_string(size_ - 1));
    }
    if (record.peer < 0 || record.role == Role::collective_part) return {};
    const Members* members = source_.members(communicators_, record.comm, rank_);
    if (members == nullptr || members->rank_of(record.peer) >= 0) return {};
    return refuse(call, record, "peer", std::to_string(record.peer),
                  "a member of communicator '" + members->name + "'");
  }

  const Source& source_;
  const std::vector<Members>& communicators_;
  int rank_;
  int size_;
};

}  // namespace

const Members* Source::members(const std::vector<Members>& communicators, std::uint16_t comm, int rank) const {
  const int known = comm < comm_of.size() ? comm_of[comm] : -1;
  if (known < 0) return nullptr;
  const Members& members = communicators[static_cast<std::size_t>(known)];
  const bool usable = !members.single && !members.world.empty() && members.rank_of(rank) >= 0;
  return usable ? &members : nullptr;
}

int Members::rank_of(int world_rank) const {
  const auto at = std::lower_bound(place.begin(), place.end(), std::pair(world_rank, 0));
  return at == place.end() || at->first != world_rank ? -1 : at->second;
}

Result<std::unique_ptr<Recording>> Recording::open(const std::string& directory, int world) {
  auto opened = profile::open_run(directory);
  if (!opened.ok()) return opened.status();
  std::unique_ptr<Recording> made(new Recording);
  made->run_ = std::move(opened).value();
  const auto worlds = static_cast<int>(made->run_.worlds.size());
  if (world < 0 || world >= worlds) {
    return bad_field(directory, "world", std::to_string(world), "0 to " + std::to_string(worlds - 1));
  }
  if (Status status = made->add(made->run_.worlds[static_cast<std::size_t>(world)], directory); !status.ok()) {
    return status;
  }
  return made;
}

Status Recording::add(const profile::OpenWorld& world, const std::string& directory) {
  const int size = world.ranks.front().reader->header().world_size;
  for (int rank = 0; rank < size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (at < world.ranks.size() && world.ranks[at].reader->header().rank == rank) continue;
    return bad_field(directory, "rank " + std::to_string(rank), "no file that can be read",
                     "a file for each of " + std::to_string(size) + " ranks");
  }
  const std::vector<const trace::Reader*> readers = world.readers();
  const std::vector<profile::RankClock> clocks = profile::align(readers);
  for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
    if (Status status = add_source(world.ranks[rank], clocks[rank]); !status.ok()) return status;
  }
  find_communicators();
  return find_spans();
}

Status Recording::find_spans() {
  double end_ns = 0;
  bool any = false;
  for (int rank = 0; rank < size(); ++rank) {
    Source& each = sources_[static_cast<std::size_t>(rank)];
    const trace::Reader& reader = *each.reader;
    const bool whole = reader.header().state == trace::State::finalized && reader.header().lost_bytes == 0 &&
                       reader.damage().missing_bytes == 0;
    if (!whole) unfinished_.push_back(rank);
    if (each.slot == nullptr) continue;
    if (Status status = find_span(rank); !status.ok()) return status;
    const double begin = each.clock.ns(each.begin_ticks);
    const double end = each.clock.ns(each.end_ticks);
    if (any && std::abs(begin - begin_ns_) > kLongest_ns) {
      return bad_field(each.file, "time of its first call", seconds(begin - begin_ns_), kLongest);
    }
    begin_ns_ = any ? std::min(begin_ns_, begin) : begin;
    end_ns = any ? std::max(end_ns, end) : end;
    any = true;
  }
  recorded_ns_ = end_ns - begin_ns_;
  return {};
}

Status Recording::add_source(const profile::OpenRank& rank, const profile::RankClock& clock) {
  const auto slot = only_slot(rank);
  if (!slot.ok()) return slot.status();
  Source source;
  source.file = rank.file;
  source.reader = rank.reader.get();
  source.slot = slot.value();
  source.procedures = &procedures_.of(rank.reader->procedure_names());
  source.clock = clock;
  sources_.push_back(std::move(source));
  return {};
}

void Recording::find_communicators() {
  profile::CommunicatorTable table;
  for (Source& source : sources_) {
    const trace::Reader& reader = *source.reader;
    const auto own =
        table.add(reader.communicators(), [&](std::uint16_t number) { return reader.procedure_name(number); });
    for (const auto& [index, known] : own) {
      if (index >= source.comm_of.size()) source.comm_of.resize(index + std::size_t{1}, -1);
      source.comm_of[index] = known;
    }
  }
  for (const profile::Communicator& comm : table.known()) communicators_.push_back(members_of(comm, size()));
}

Status Recording::find_span(int rank) {
  Source& source = sources_[static_cast<std::size_t>(rank)];
  const RecordCheck record_check(source, communicators_, rank, size());
  CallReader calls(source.records());
  Call call;
  bool ended = false;
  while (calls.next(call)) {
    const Procedure& procedure = (*source.procedures)[call.record.procedure];
    const bool startup = procedure.facts.starts_or_stops();
    if (call.number == 1) source.begin_ticks = startup ? call.end_ticks() : call.record.start_ticks;
    if (Status status = record_check.check(call); !status.ok()) return status;
    if (!ended) source.end_ticks = procedure.ends ? call.record.start_ticks : call.end_ticks();
    ended = ended || procedure.ends;
  }
  return {};
}

double Recording::recorded_ns(int rank) const {
  const Source& each = source(rank);
  return each.slot == nullptr ? 0 : each.clock.ns(each.end_ticks) - each.clock.ns(each.begin_ticks);
}

double Recording::late_ns(int rank) const {
  const Source& each = source(rank);
  return each.slot == nullptr ? 0 : each.clock.ns(each.begin_ticks) - begin_ns_;
}

}  // namespace corewise::replay
