// From records to waits, in four steps: preparation.hpp, messages.hpp, collectives.hpp, results.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/waits.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "profile/waits/results.hpp"
#include "profile/waits/world.hpp"

namespace corewise::profile {

using trace::Reader;
using trace::Record;
using trace::Role;

namespace {

void count_time(const StreamedRecord& streamed, WaitRank& rank) {
  PhaseSpan& span = rank.phases[rank.phase];
  const bool startup = rank.facts_of(streamed.record).starts_or_stops();
  (startup ? span.startup_ns : span.mpi_ns) += streamed.end_ns() - streamed.start_ns();
}

}  // namespace

WorldWaits::WorldWaits(std::span<const Reader* const> ranks, std::span<const RankClock> clocks, Purpose purpose,
                       const WaitShare& share)
    : world_(prepare_world(ranks, clocks)),
      share_(share),
      causes_(world_),
      messages_(world_, ledger_, purpose == Purpose::causes ? &causes_ : nullptr, share),
      collectives_(world_, ledger_, purpose == Purpose::causes ? &causes_ : nullptr, share) {
  for (const Reader* reader : ranks) calls_.emplace_back(reader->slots().size());
}

void WorldWaits::take(const StreamedRecord& streamed) {
  WaitRank& rank = *world_.ranks[streamed.rank];
  if (!share_.has(group_of_receiver(rank.rank()))) return take_for_others(streamed, rank);
  const Record& record = streamed.record;
  rank.latest_ns = std::max(rank.latest_ns, streamed.end_ns());
  switch (record.role) {
    case Role::arrival:
      return messages_.arrival(streamed, rank, calls_[streamed.rank][streamed.slot]);
    case Role::cancel:
      return messages_.cancel(record, rank);
    case Role::phase:
      return begin_phase(streamed, rank);
    case Role::recording:
      world_.gaps.recording_stopped = world_.gaps.recording_stopped || record.name == 0;
      return;
    case Role::collective_part:
    case Role::miss:
    case Role::function_enter:
    case Role::function_exit:
    case Role::region_enter:
    case Role::region_exit:
      return;
    default:
      return call(streamed, rank);
  }
}

/// What a rank whose receives are another share's means for those of this one.
void WorldWaits::take_for_others(const StreamedRecord& streamed, WaitRank& rank) {
  switch (streamed.record.role) {
    case Role::send:
      return messages_.send(streamed, rank);
    case Role::cancel:
      return messages_.cancel(streamed.record, rank);
    case Role::collective:
      return collectives_.collective(streamed, rank);
    case Role::phase:
      return begin_phase(streamed, rank);
    case Role::recording:
      world_.gaps.recording_stopped = world_.gaps.recording_stopped || streamed.record.name == 0;
      return;
    default:
      return;
  }
}

void WorldWaits::begin_phase(const StreamedRecord& streamed, WaitRank& rank) {
  if (streamed.slot == 0) rank.begin_phase(streamed.record.name, streamed.start_ns());
}

void WorldWaits::end_slot(std::size_t rank, std::size_t slot, std::uint64_t damaged_bytes) {
  messages_.end(calls_[rank][slot]);
  if (damaged_bytes == 0 || world_.ranks[rank]->damaged) return;
  world_.ranks[rank]->damaged = true;
  ++world_.gaps.damaged_ranks;
}

std::vector<Cause> WorldWaits::causes() {
  messages_.finish();
  return std::move(causes_.causes());
}

WorldShare WorldWaits::waits() {
  messages_.finish();
  return share_of(world_, share_, ledger_, messages_, collectives_);
}

void WorldWaits::call(const StreamedRecord& streamed, WaitRank& rank) {
  begin_call(streamed, rank);
  switch (streamed.record.role) {
    case Role::send:
      return messages_.send(streamed, rank);
    case Role::receive:
      return messages_.receive(streamed, rank);
    case Role::post_receive:
      return messages_.post(streamed.record, rank);
    case Role::probe:
      return messages_.probe(streamed, rank);
    case Role::collective:
      return collectives_.collective(streamed, rank);
    default:
      return;
  }
}

void WorldWaits::begin_call(const StreamedRecord& streamed, WaitRank& rank) {
  CompletingCall& current = calls_[streamed.rank][streamed.slot];
  const Record& record = streamed.record;
  const bool same = current.record.start_ticks == record.start_ticks;
  if (!same) {
    messages_.end(current);
    // Shares of a phase are those of the thread that called MPI first.
    if (streamed.slot == 0) count_time(streamed, rank);
  }
  // The first record of a call carries its duration.
  if (same && record.duration_ticks <= current.record.duration_ticks) return;
  current.record = record;
  current.start_ns = streamed.start_ns();
  current.end_ns = streamed.end_ns();
}

const char* wait_kind_name(WaitKind kind) {
  static constexpr const char* kNames[] = {"late sender",  "late receiver",  "barrier",   "all to all",
                                           "early reduce", "late broadcast", "early scan"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<RankClock> align_causally(std::span<const Reader* const> ranks, CausalReport* report,
                                      RecordListener* also) {
  std::vector<RankClock> clocks = align(ranks);
  int nodes = 0;
  for (const RankClock& clock : clocks) nodes = std::max(nodes, clock.node() + 1);
  if (nodes < 2) return clocks;
  WorldWaits collector(ranks, clocks, Purpose::causes);
  std::vector<RecordListener*> listeners{&collector};
  if (also != nullptr) listeners.push_back(also);
  stream_records(ranks, clocks, listeners);
  const Causality found = make_causal(nodes, collector.causes());
  if (report != nullptr) *report = {true, found.violated, found.largest_ns};
  std::vector<std::shared_ptr<const NodeCorrection>> corrections;
  for (const NodeCorrection& each : found.nodes)
    corrections.push_back(each.empty() ? nullptr : std::make_shared<const NodeCorrection>(each));
  for (RankClock& clock : clocks) clock.correct(corrections[static_cast<std::size_t>(clock.node())]);
  return clocks;
}

}  // namespace corewise::profile
