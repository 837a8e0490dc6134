// The members of everything that a partial result holds, for archive.hpp. A member that is missing here does not
// compile. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "profile/call_graph/call_graph.hpp"
#include "profile/profile.hpp"
#include "profile/shards/archive.hpp"
#include "profile/tally.hpp"
#include "profile/waits/results.hpp"
#include "profile/waits/waits.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

// ---- totals of a rank --------------------------------------------------------------------------------------

template <class A>
void fields(A& to, Ticks& v) {
  to.members(v, v.calls, v.misses, v.bytes, v.time, v.polling, v.longest);
}
template <class A>
void fields(A& to, PeerKey& v) {
  to.members(v, v.kind, v.to_peer, v.comm, v.peer, v.phase);
}
template <class A>
void fields(A& to, Amount& v) {
  to.members(v, v.bytes, v.count, v.time);
}
template <class A>
void fields(A& to, Activity& v) {
  to.members(v, v.calls, v.time, v.startup, v.sent_bytes, v.received_bytes, v.collective_bytes, v.one_sided_bytes,
             v.file_bytes);
}
template <class A>
void fields(A& to, SectionTally& v) {
  to.members(v, v.entered, v.unclosed, v.wall, v.activity);
}
template <class A>
void fields(A& to, Spread& v) {
  to.members(v, v.comm, v.phase, v.rank, v.to_each_bytes, v.to_each_count, v.from_each_bytes, v.from_each_count,
             v.reduced_bytes, v.reduced_count);
}
template <class A>
void fields(A& to, Histogram& v) {
  to.members(v, v.count, v.bytes);
}
template <class A>
void fields(A& to, DatatypeTotals& v) {
  to.members(v, v.name, v.size_bytes, v.extent_bytes, v.derived, v.messages, v.bytes, v.collective_calls,
             v.collective_bytes);
}
template <class A>
void fields(A& to, trace::Calibration& v) {
  to.members(v, v.start_ticks, v.ns_per_tick, v.span_ns, v.known, v.precise);
}
template <class A>
void fields(A& to, trace::Communicator& v) {
  to.members(v, v.index, v.size, v.remote_size, v.my_rank, v.identity, v.created_by, v.parent, v.created_ticks,
             v.name, v.ranks, v.remote_ranks);
}

// ---- a rank and its end ------------------------------------------------------------------------------------

template <class A>
void fields(A& to, Place& v) {
  to.members(v, v.object, v.offset);
}
template <class A>
void fields(A& to, OpenOperation& v) {
  to.members(v, v.procedure, v.kind, v.peer, v.tag, v.bytes, v.comm, v.datatype, v.from, v.since_ns, v.start_ticks);
}
template <class A>
void fields(A& to, OpenCall& v) {
  to.members(v, v.thread, v.call, v.requests, v.pending);
}
template <class A>
void fields(A& to, Crash& v) {
  to.members(v, v.signal, v.code, v.at_ns, v.address, v.at, v.stack);
}
template <class A>
void fields(A& to, CollectiveMade& v) {
  to.members(v, v.ordinal, v.procedure, v.root);
}
template <class A>
void fields(A& to, CollectivesMade& v) {
  to.members(v, v.comm, v.count, v.newest);
}
template <class A>
void fields(A& to, LastCall& v) {
  to.members(v, v.procedure, v.from, v.end_ns);
}
template <class A>
void fields(A& to, RankEnd& v) {
  to.members(v, v.open, v.crash, v.exit_ns, v.last, v.collectives);
}
template <class A>
void fields(A& to, Losses& v) {
  to.members(v, v.record_bytes, v.sites, v.requests, v.communicators, v.nested, v.overwritten_bytes,
             v.missing_bytes, v.damaged_blocks, v.bad_peers, v.names, v.functions, v.types);
}
template <class A>
void fields(A& to, Rank& v) {
  to.members(v, v.rank, v.file, v.host, v.pid, v.ending, v.abort_code, v.thread_level, v.threads, v.flight_recorder,
             v.started_realtime_ns, v.wall_ns, v.mpi_ns, v.polling_ns, v.records, v.calls, v.misses, v.probes,
             v.cancelled, v.outside_sent_bytes, v.outside_received_bytes, v.unmodelled_bytes, v.clock_known,
             v.clock_precise, v.node, v.kinds, v.memory_bytes, v.functions, v.file_read_bytes, v.file_written_bytes,
             v.stops, v.stopped_ns, v.cpus_start, v.cpus_end, v.losses, v.end);
}
template <class A>
void fields(A& to, RankTally& v) {
  to.members(v, v.rank, v.world_size, v.spawned, v.library, v.clock, v.end_ticks, v.names, v.procedures, v.sites,
             v.phases, v.phase_totals, v.regions, v.stopped, v.peers, v.spreads, v.communicators, v.datatypes,
             v.last_end, v.exit_ticks, v.sent_sizes, v.received_sizes, v.collective_sizes);
}

// ---- calling contexts --------------------------------------------------------------------------------------

template <class A>
void fields(A& to, CallNode& v) {
  to.members(v, v.kind, v.parent, v.what, v.source, v.destination, v.bytes, v.count, v.recursive, v.inclusive_ns,
             v.exclusive_ns);
}
template <class A>
void fields(A& to, SlotCalls& v) {
  to.members(v, v.functions, v.unmatched_exits, v.closed_at_end, v.without_room, v.nodes);
}
template <class A>
void fields(A& to, RankCalls& v) {
  to.members(v, v.rank, v.places, v.names, v.slots);
}

// ---- waits -------------------------------------------------------------------------------------------------

template <class A>
void fields(A& to, Wait& v) {
  to.members(v, v.kind, v.rank, v.cause, v.procedure, v.object, v.offset, v.phase, v.count, v.wait_ns,
             v.longest_ns);
}
template <class A>
void fields(A& to, PhaseTime& v) {
  to.members(v, v.rank, v.phase, v.span_ns, v.mpi_ns);
}
template <class A>
void fields(A& to, Arrivals& v) {
  to.members(v, v.procedure, v.communicator, v.count, v.spread_ns, v.latest, v.latest_count);
}
template <class A>
void fields(A& to, RankClockInfo& v) {
  to.members(v, v.rank, v.node, v.source, v.uncertainty_ns);
}
template <class A>
void fields(A& to, SummedTime& v) {
  to.members(v, v.units);
}
template <class A>
void fields(A& to, WaitSum& v) {
  to.members(v, v.count, v.wait, v.longest_ns);
}
template <class A>
void fields(A& to, ArrivalSum& v) {
  to.members(v, v.count, v.spread, v.last);
}
template <class A>
void fields(A& to, MatchCounts& v) {
  to.members(v, v.matched, v.mismatched, v.dropped, v.unmatched_sends, v.unmatched_receives);
}
template <class A>
void fields(A& to, WaitGaps& v) {
  to.members(v, v.excluded_ranks, v.damaged_ranks, v.unfinished_ranks, v.ranks_without_calls, v.without_partner,
             v.mixed_collectives, v.recording_stopped);
}
template <class A>
void fields(A& to, WaitSums& v) {
  to.members(v, v.waits, v.arrivals, v.phases, v.messages, v.collectives, v.incomplete_collectives,
             v.contradictions);
}
template <class A>
void fields(A& to, WorldShare& v) {
  to.members(v, v.world, v.communicators, v.gaps, v.sums);
}
template <class A>
void fields(A& to, WaitWorld& v) {
  to.members(v, v.name, v.size, v.started_realtime_ns, v.ranks, v.waits, v.phases, v.arrivals, v.clocks, v.matched,
             v.unmatched_sends, v.unmatched_receives, v.collectives, v.incomplete_collectives, v.corrections,
             v.largest_correction_ns, v.contradictions, v.notes);
}

}  // namespace corewise::profile
