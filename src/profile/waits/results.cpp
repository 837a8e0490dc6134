// Rows and notes; see results.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/results.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/addresses.hpp"

namespace corewise::profile {
namespace {

std::string phase_name(const WaitRank& rank, std::uint32_t phase) {
  return phase == kNoPhase ? std::string() : rank.reader.region_name(phase);
}

void write_ranks(const PreparedWorld& world, WaitWorld& out) {
  static constexpr const char* kSources[] = {"reference", "compared", "realtime"};
  out.size = world.size;
  for (const auto& rank : world.ranks) {
    const std::int64_t started_ns = rank->reader.header().start_realtime_ns;
    out.started_realtime_ns = out.ranks.empty() ? started_ns : std::min(out.started_realtime_ns, started_ns);
    out.ranks.push_back(rank->rank());
    out.clocks.push_back({rank->rank(), rank->reader.node(), kSources[static_cast<int>(rank->clock.source())],
                          rank->clock.uncertainty_ns()});
  }
}

std::map<WaitPlace, WaitSum> waits_of(const PreparedWorld& world, const WaitLedger& ledger) {
  std::map<int, std::unique_ptr<Mappings>> mappings;
  std::map<WaitPlace, WaitSum> rows;
  for (const auto& [key, sum] : ledger.sums()) {
    const auto& [kind, rank_number, cause, origin_number] = key;
    const WaitRank& rank = *world.of(rank_number);
    std::unique_ptr<Mappings>& maps = mappings[rank_number];
    if (maps == nullptr) maps = std::make_unique<Mappings>(rank.reader.maps());
    const Origin& origin = rank.origins[origin_number];
    const std::uint64_t address = rank.reader.site_address(origin.site);
    const Place place = address == 0 ? Place{} : maps->find(address);
    rows[{kind, rank_number, cause, rank.reader.procedure_name(origin.procedure), place.object, place.offset,
          phase_name(rank, origin.phase)}]
        .add(sum);
  }
  return rows;
}

std::vector<PhaseTime> phases_of(const WaitRank& rank) {
  std::vector<PhaseTime> out;
  std::map<std::uint32_t, PhaseSpan> phases = rank.phases;
  phases[rank.phase].total_ns += std::max(0.0, rank.latest_ns - rank.phase_begin_ns);
  for (const auto& [phase, span] : phases) {
    const double total_ns = std::max(0.0, span.total_ns - span.startup_ns);
    if (total_ns > 0 || span.mpi_ns > 0)
      out.push_back({rank.rank(), phase_name(rank, phase), total_ns, span.mpi_ns});
  }
  return out;
}

void write_waits(const WaitSums& sums, WaitWorld& out) {
  for (const auto& [place, sum] : sums.waits) {
    const auto& [kind, rank, cause, procedure, object, offset, phase] = place;
    out.waits.push_back(
        {kind, rank, cause, procedure, object, offset, phase, sum.count, sum.wait.ns(), sum.longest_ns});
  }
}

void write_arrivals(const WorldShare& all, WaitWorld& out) {
  for (const auto& [key, sum] : all.sums.arrivals) {
    const auto most = std::max_element(sum.last.begin(), sum.last.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    out.arrivals.push_back({key.first, all.communicators[static_cast<std::size_t>(key.second)], sum.count,
                            sum.spread.ns(), most->first, most->second});
  }
}

void note(WaitWorld& out, std::uint64_t count, const std::string& text) {
  if (count > 0) out.notes.push_back(std::to_string(count) + " " + text);
}

void note_ranks(const WaitGaps& gaps, WaitWorld& out) {
  note(out, static_cast<std::uint64_t>(out.size) - out.ranks.size(),
       "ranks left no file: nothing is known of waits for them, and collectives are judged without them");
  note(out, gaps.unfinished_ranks,
       "ranks did not finish (running or killed): the last call of each is not in its trace");
  note(out, gaps.excluded_ranks,
       "ranks are flight recorders that have overwritten records: their messages and collectives cannot be "
       "matched and are left out");
  note(out, gaps.damaged_ranks,
       "ranks lost records: what they sent, received and waited for may be matched wrongly");
  note(out, gaps.ranks_without_calls,
       "ranks recorded no calls that move nothing, as asked: MPI_Init and others count as work outside MPI");
}

void note_matching(const WaitGaps& gaps, const MatchCounts& messages, WaitWorld& out) {
  note(out, gaps.without_partner, "messages have an end that left no usable record");
  note(out, out.unmatched_sends, "messages were sent whose receive is not recorded");
  note(out, out.unmatched_receives, "messages arrived whose send is not recorded");
  note(out, messages.mismatched, "messages have two sizes, as sent and as received: pairs may be wrong");
  note(out, messages.dropped, "messages were given up, too many were in flight at one time");
  note(out, out.incomplete_collectives, "collectives were not reached by every rank");
  note(out, gaps.mixed_collectives, "collectives have different names on different ranks and are left out");
  if (gaps.recording_stopped)
    out.notes.emplace_back("recording was stopped for a while (MPI_Pcontrol): pairs may be wrong");
}

void note_clocks(WaitWorld& out) {
  const auto by_realtime = std::count_if(out.clocks.begin(), out.clocks.end(),
                                         [](const RankClockInfo& clock) { return clock.source == "realtime"; });
  note(out, static_cast<std::uint64_t>(by_realtime),
       "ranks are on nodes whose clocks were never compared: their times rest on CLOCK_REALTIME");
  note(out, out.contradictions,
       "messages or collectives ended before they could have begun, by the clocks: their waits are cut at the "
       "call");
}

}  // namespace

void WaitSums::add(const WaitSums& other) {
  for (const auto& [place, sum] : other.waits) waits[place].add(sum);
  for (const auto& [key, sum] : other.arrivals) arrivals[key].add(sum);
  phases.insert(other.phases.begin(), other.phases.end());
  messages.add(other.messages);
  collectives += other.collectives;
  incomplete_collectives += other.incomplete_collectives;
  contradictions += other.contradictions;
}

void WorldShare::add(const WorldShare& other) {
  gaps.without_partner += other.gaps.without_partner;
  gaps.mixed_collectives += other.gaps.mixed_collectives;
  sums.add(other.sums);
}

WorldShare share_of(const PreparedWorld& world, const WaitShare& share, const WaitLedger& ledger,
                    const MessageWaits& messages, const CollectiveWaits& collectives) {
  WorldShare out;
  write_ranks(world, out.world);
  for (const WaitCommunicator& each : world.communicators) out.communicators.push_back(each.name);
  out.gaps = world.gaps;
  out.sums.waits = waits_of(world, ledger);
  out.sums.arrivals = collectives.arrivals();
  for (std::size_t i = 0; i < world.ranks.size(); ++i)
    if (share.has(group_of_receiver(world.ranks[i]->rank())))
      out.sums.phases[static_cast<int>(i)] = phases_of(*world.ranks[i]);
  out.sums.messages = messages.counts();
  out.sums.collectives = collectives.complete();
  out.sums.incomplete_collectives = collectives.incomplete();
  out.sums.contradictions = ledger.contradictions();
  return out;
}

WaitWorld finish_waits(WorldShare all) {
  WaitWorld out = std::move(all.world);
  out.matched = all.sums.messages.matched;
  out.unmatched_sends = all.sums.messages.unmatched_sends;
  out.unmatched_receives = all.sums.messages.unmatched_receives;
  out.collectives = all.sums.collectives;
  out.incomplete_collectives = all.sums.incomplete_collectives;
  out.contradictions = all.sums.contradictions;
  write_waits(all.sums, out);
  for (auto& [rank, phases] : all.sums.phases) out.phases.insert(out.phases.end(), phases.begin(), phases.end());
  write_arrivals(all, out);
  note_ranks(all.gaps, out);
  note_matching(all.gaps, all.sums.messages, out);
  note_clocks(out);
  return out;
}

}  // namespace corewise::profile
