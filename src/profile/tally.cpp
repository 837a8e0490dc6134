// Streaming one rank's records into its totals.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/tally.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "profile/addresses.hpp"

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

/// MPI_Isend, MPI_Ssend_init, MPI_Psend_init, ...: what a cancelled operation was, by the procedure that posted it.
bool names_a_send(const std::string& procedure) {
  return procedure.find("send") != std::string::npos || procedure.find("Send") != std::string::npos;
}

std::vector<int> cpus_of(const std::uint8_t (&mask)[128]) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < 1024; ++cpu)
    if ((mask[cpu / 8] >> (cpu % 8) & 1) != 0) cpus.push_back(cpu);
  return cpus;
}

Ending ending_of(trace::State state) {
  if (state == trace::State::finalized) return Ending::finalized;
  return state == trace::State::aborted ? Ending::aborted : Ending::running;
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
  return rank;
}

/// Streams records; one per rank file.
class Tally {
 public:
  Tally(const trace::Reader& reader, const std::string& file) : reader_(reader) {
    out_.rank = describe(reader, file);
    out_.world_size = reader.header().world_size;
    out_.spawned = reader.header().spawned != 0;
    out_.library = reader.library();
    out_.clock = reader.clock();
    out_.communicators = reader.communicators();
    out_.end_ticks = std::max(reader.header().start_ticks, reader.header().latest_ticks);
    out_.procedures.resize(trace::kCallMask + 1U);
    out_.names.resize(out_.procedures.size());
    volumes_.resize(out_.procedures.size());
    for (std::size_t number = 0; number < out_.names.size(); ++number) {
      out_.names[number] = reader.procedure_name(static_cast<std::uint16_t>(number));
      volumes_[number] = volume_of(out_.names[number]);
    }
  }

  RankTally run() {
    for (const trace::Slot& slot : reader_.slots()) {
      last_start_ = 0;
      trace::RecordStream stream = reader_.records(slot);
      for (Record record; stream.next(record);) take(record);
    }
    resolve_sites();
    return std::move(out_);
  }

 private:
  /// Adds to the procedure's and to the call site's totals.
  template <class Change>
  void totals(const Record& record, Change change) {
    change(out_.procedures[record.procedure]);
    change(sites_[std::uint32_t{record.procedure} << 16 | record.site]);
  }

  void take(const Record& record) {
    ++out_.rank.records;
    out_.end_ticks = std::max(out_.end_ticks, record.start_ticks + record.duration_ticks);
    switch (record.role) {
      case Role::arrival:
        return arrival(record);
      case Role::cancel:
        return cancel(record);
      case Role::collective_part:
        return part(record);
      case Role::miss:
        return miss(record);
      default:
        break;
    }
    call(record);
    message(record);
  }

  /// A call that started several operations wrote one record each, all with its own start: MPI_Startall, and the
  /// start of a persistent collective, whose volume stands under the name of its init.
  void call(const Record& record) {
    const bool fresh = record.start_ticks != last_start_;
    last_start_ = record.start_ticks;
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
      return &out_.peers[{kind, to_peer, record.comm, record.peer}];
    if (record.peer >= 0) ++out_.rank.losses.bad_peers;
    return nullptr;
  }

  static void grow(Amount* amount, std::uint64_t bytes) {
    if (amount == nullptr) return;
    amount->bytes += bytes;
    ++amount->count;
  }

  void send(const Record& record) {
    if (record.peer == trace::kProcNull) return;
    bytes(record);
    add(out_.sent_sizes, record.bytes);
    if (record.peer == trace::kOutside) out_.rank.outside_sent_bytes += record.bytes;
    grow(pair(record, Traffic::sent, true), record.bytes);
  }

  void receive(const Record& record) {
    if (record.peer == trace::kProcNull) return;
    bytes(record);
    add(out_.received_sizes, record.bytes);
    if (record.peer == trace::kOutside) out_.rank.outside_received_bytes += record.bytes;
    grow(pair(record, Traffic::received, false), record.bytes);
  }

  void arrival(const Record& record) { receive(record); }

  void one_sided(const Record& record, Traffic kind, bool to_peer) {
    if (record.peer == trace::kProcNull) return;
    bytes(record);
    grow(pair(record, kind, to_peer), record.bytes);
  }

  /// The record repeats the post: peer, bytes and procedure. Only a send had been counted. In flight-recorder mode
  /// the send itself may be gone already, hence the guards.
  void cancel(const Record& record) {
    ++out_.rank.cancelled;
    if (!names_a_send(out_.names[record.procedure]) || record.peer < 0 || record.peer >= out_.world_size) return;
    take_back(out_.sent_sizes, record.bytes);
    const auto found = out_.peers.find({Traffic::sent, true, record.comm, record.peer});
    if (found == out_.peers.end() || found->second.count == 0) return;
    Amount& amount = found->second;
    amount.bytes -= std::min(amount.bytes, record.bytes);
    --amount.count;
  }

  void miss(const Record& record) {
    totals(record, [&](Ticks& sum) {
      sum.calls += record.bytes;
      sum.misses += record.bytes;
      sum.polling += record.duration_ticks;
    });
  }

  // ---- collectives ----

  void collective(const Record& record) {
    bytes(record);
    add(out_.collective_sizes, record.bytes);
    switch (volumes_[record.procedure]) {
      case Volume::none:
      case Volume::parts:
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
    Spread& sum = out_.spreads[record.comm];
    const Volume volume = volumes_[record.procedure];
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

  // ---- call sites ----

  void resolve_sites() {
    const Mappings mappings(reader_.maps());
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
  RankTally out_;
  std::vector<Volume> volumes_;
  std::unordered_map<std::uint32_t, Ticks> sites_;  ///< by procedure << 16 | site
  std::uint64_t last_start_ = 0;
};

}  // namespace

RankTally tally_rank(const trace::Reader& reader, const std::string& file) {
  return Tally(reader, file).run();
}

}  // namespace corewise::profile
