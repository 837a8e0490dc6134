// Rows and notes; see results.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/results.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>

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

/// Sums of one place in the program are one row, however the rank numbers it.
void write_waits(const PreparedWorld& world, const WaitLedger& ledger, WaitWorld& out) {
  std::map<int, std::unique_ptr<Mappings>> mappings;
  std::map<std::tuple<WaitKind, int, int, std::string, std::string, std::uint64_t, std::string>, WaitSum> rows;
  for (const auto& [key, sum] : ledger.sums()) {
    const auto& [kind, rank_number, cause, origin_number] = key;
    const WaitRank& rank = *world.of(rank_number);
    std::unique_ptr<Mappings>& maps = mappings[rank_number];
    if (maps == nullptr) maps = std::make_unique<Mappings>(rank.reader.maps());
    const Origin& origin = rank.origins[origin_number];
    const std::uint64_t address = rank.reader.site_address(origin.site);
    const Place place = address == 0 ? Place{} : maps->find(address);
    WaitSum& total = rows[{kind, rank_number, cause, rank.reader.procedure_name(origin.procedure), place.object,
                           place.offset, phase_name(rank, origin.phase)}];
    total.count += sum.count;
    total.wait_ns += sum.wait_ns;
    total.longest_ns = std::max(total.longest_ns, sum.longest_ns);
  }
  for (const auto& [key, sum] : rows) {
    const auto& [kind, rank, cause, procedure, object, offset, phase] = key;
    out.waits.push_back(
        {kind, rank, cause, procedure, object, offset, phase, sum.count, sum.wait_ns, sum.longest_ns});
  }
}

void write_phases(const PreparedWorld& world, WaitWorld& out) {
  for (const auto& rank : world.ranks) {
    std::map<std::uint32_t, PhaseSpan> phases = rank->phases;
    phases[rank->phase].total_ns += std::max(0.0, rank->latest_ns - rank->phase_begin_ns);
    for (const auto& [phase, span] : phases) {
      const double total_ns = std::max(0.0, span.total_ns - span.startup_ns);
      if (total_ns > 0 || span.mpi_ns > 0)
        out.phases.push_back({rank->rank(), phase_name(*rank, phase), total_ns, span.mpi_ns});
    }
  }
}

void write_arrivals(const PreparedWorld& world, const CollectiveWaits& collectives, WaitWorld& out) {
  for (const auto& [key, sum] : collectives.arrivals()) {
    const auto most = std::max_element(sum.last.begin(), sum.last.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    out.arrivals.push_back({key.first, world.communicators[static_cast<std::size_t>(key.second)].name, sum.count,
                            sum.spread_ns, most->first, most->second});
  }
}

void note(WaitWorld& out, std::uint64_t count, const std::string& text) {
  if (count > 0) out.notes.push_back(std::to_string(count) + " " + text);
}

void note_ranks(const PreparedWorld& world, WaitWorld& out) {
  const WaitGaps& gaps = world.gaps;
  note(out, static_cast<std::uint64_t>(world.size) - world.ranks.size(),
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

void note_matching(const WaitGaps& gaps, const Matcher& matcher, WaitWorld& out) {
  note(out, gaps.without_partner, "messages have an end that left no usable record");
  note(out, out.unmatched_sends, "messages were sent whose receive is not recorded");
  note(out, out.unmatched_receives, "messages arrived whose send is not recorded");
  note(out, matcher.mismatched(), "messages have two sizes, as sent and as received: pairs may be wrong");
  note(out, matcher.dropped(), "messages were given up, too many were in flight at one time");
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

WaitWorld write_results(const PreparedWorld& world, const WaitLedger& ledger, const MessageWaits& messages,
                        const CollectiveWaits& collectives) {
  WaitWorld out;
  out.matched = messages.matcher().matched();
  out.unmatched_sends = messages.matcher().unmatched_sends();
  out.unmatched_receives = messages.matcher().unmatched_receives();
  out.collectives = collectives.complete();
  out.incomplete_collectives = collectives.incomplete();
  out.contradictions = ledger.contradictions();
  write_ranks(world, out);
  write_waits(world, ledger, out);
  write_phases(world, out);
  write_arrivals(world, collectives, out);
  note_ranks(world, out);
  note_matching(world.gaps, messages.matcher(), out);
  note_clocks(out);
  return out;
}

}  // namespace corewise::profile
