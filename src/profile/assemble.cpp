// Bringing ranks together; see assemble.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/assemble.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "profile/communicators.hpp"
#include "profile/launches.hpp"

namespace corewise::profile {
namespace {

using Launches = std::map<Launch, std::vector<RankTally>>;

// ---- clocks ----------------------------------------------------------------------------------------------

/// A rank that ended before its clock was measured for long enough counts with the rate of the best-measured rank
/// of its host: they read the same counter.
void share_rates(Launches& launches) {
  std::map<std::string, trace::Calibration> best;
  const auto each = [&](auto visit) {
    for (auto& [launch, tallies] : launches)
      for (RankTally& tally : tallies) visit(tally);
  };
  each([&](const RankTally& tally) {
    trace::Calibration& known = best[tally.rank.host];
    if (tally.clock.known && tally.clock.span_ns > known.span_ns) known = tally.clock;
  });
  each([&](RankTally& tally) {
    trace::Calibration& clock = tally.clock;
    const trace::Calibration& other = best[tally.rank.host];
    if (clock.precise || !other.known || other.span_ns <= clock.span_ns) return;
    clock.ns_per_tick = other.ns_per_tick;
    clock.known = true;
    clock.precise = other.precise;
  });
}

// ---- one world -------------------------------------------------------------------------------------------

class Assembler {
 public:
  World build(const std::string& name, std::vector<RankTally>& tallies) {
    world_.name = name;
    world_.spawned = tallies.front().spawned;
    world_.size = tallies.front().world_size;
    world_.library = tallies.front().library;
    collect_procedures(tallies);
    collect_sections(tallies);
    for (RankTally& tally : tallies) {
      add_rank(tally);
      tally = {};  // its room is the world's now
    }
    world_.communicators = communicators_.known();
    finish_datatypes();
    finish_sites();
    finish_flows();
    return std::move(world_);
  }

 private:
  void collect_procedures(const std::vector<RankTally>& tallies) {
    std::set<std::string> used;
    for (const RankTally& tally : tallies)
      for (const auto& [number, ticks] : tally.procedures)
        if (ticks.calls > 0 || ticks.bytes > 0) used.insert(tally.names.at(number));
    world_.procedures.assign(used.begin(), used.end());
    for (std::size_t i = 0; i < world_.procedures.size(); ++i)
      procedure_index_[world_.procedures[i]] = static_cast<int>(i);
  }

  void add_rank(RankTally& tally) {
    add_totals(tally);
    add_sites(tally);
    const std::map<std::uint16_t, int> comms = add_communicators(tally);
    add_flows(tally, comms);
    add_end(tally, comms);
    add_sections(tally);
    tally.rank.stopped_ns = tally.clock.duration_ns(tally.stopped);
    add_histogram(world_.sent_sizes, tally.sent_sizes);
    add_histogram(world_.received_sizes, tally.received_sizes);
    add_histogram(world_.collective_sizes, tally.collective_sizes);
    tally.rank.wall_ns = std::max(0.0, tally.clock.time_ns(tally.end_ticks));
    tally.rank.clock_known = tally.clock.known;
    tally.rank.clock_precise = tally.clock.precise;
    world_.ranks.push_back(std::move(tally.rank));
  }

  static void grow(ProcedureTotals& sum, const Ticks& ticks, const trace::Calibration& clock) {
    sum.calls += ticks.calls;
    sum.misses += ticks.misses;
    sum.bytes += ticks.bytes;
    sum.time_ns += clock.duration_ns(ticks.time);
    sum.polling_ns += clock.duration_ns(ticks.polling);
    sum.longest_ns = std::max(sum.longest_ns, clock.duration_ns(ticks.longest));
  }

  void add_totals(RankTally& tally) {
    const std::size_t row = world_.totals.size();
    world_.totals.resize(row + world_.procedures.size());
    for (const auto& [number, ticks] : tally.procedures) {
      const auto known = procedure_index_.find(tally.names.at(number));
      if (known == procedure_index_.end()) continue;
      grow(world_.totals[row + static_cast<std::size_t>(known->second)], ticks, tally.clock);
      tally.rank.calls += ticks.calls;
      tally.rank.misses += ticks.misses;
      tally.rank.mpi_ns += tally.clock.duration_ns(ticks.time);
      tally.rank.polling_ns += tally.clock.duration_ns(ticks.polling);
    }
  }

  void add_sites(const RankTally& tally) {
    for (const auto& [key, ticks] : tally.sites) {
      const auto& [object, offset, number] = key;
      const auto procedure = procedure_index_.find(tally.names.at(number));
      if (procedure == procedure_index_.end()) continue;
      CallSite& site = sites_[{object, offset, procedure->second}];
      ++site.ranks;
      site.calls += ticks.calls;
      site.bytes += ticks.bytes;
      site.time_ns += tally.clock.duration_ns(ticks.time);
      site.polling_ns += tally.clock.duration_ns(ticks.polling);
    }
  }

  static void add_histogram(Histogram& sum, const Histogram& more) {
    for (std::size_t bin = 0; bin < sum.count.size(); ++bin) {
      sum.count[bin] += more.count[bin];
      sum.bytes[bin] += more.bytes[bin];
    }
  }

  // ---- phases and regions ----

  void collect_sections(const std::vector<RankTally>& tallies) {
    std::set<std::string> regions;
    for (const RankTally& tally : tallies) {
      for (const std::string& name : tally.phases)
        if (phase_index_.emplace(name, static_cast<int>(world_.phases.size())).second)
          world_.phases.push_back(name);
      for (const auto& [name, section] : tally.regions) regions.insert(name);
    }
    world_.regions.assign(regions.begin(), regions.end());
  }

  static Section section_of(const SectionTally& tally, int name, const RankTally& rank) {
    Section out;
    out.name = name;
    out.rank = rank.rank.rank;
    out.entered = tally.entered;
    out.unclosed = tally.unclosed;
    out.wall_ns = rank.clock.duration_ns(tally.wall);
    out.mpi_ns = rank.clock.duration_ns(tally.activity.time);
    out.calls = tally.activity.calls;
    out.sent_bytes = tally.activity.sent_bytes;
    out.received_bytes = tally.activity.received_bytes;
    out.collective_bytes = tally.activity.collective_bytes;
    out.one_sided_bytes = tally.activity.one_sided_bytes;
    out.file_bytes = tally.activity.file_bytes;
    return out;
  }

  void add_sections(const RankTally& tally) {
    for (std::size_t phase = 0; phase < tally.phases.size(); ++phase)
      world_.phase_totals.push_back(
          section_of(tally.phase_totals[phase], phase_index_.at(tally.phases[phase]), tally));
    for (const auto& [name, section] : tally.regions) {
      const auto at = std::lower_bound(world_.regions.begin(), world_.regions.end(), name);
      world_.region_totals.push_back(section_of(section, static_cast<int>(at - world_.regions.begin()), tally));
    }
  }

  static void sort_sections(std::vector<Section>& sections) {
    std::sort(sections.begin(), sections.end(), [](const Section& a, const Section& b) {
      return std::pair(a.name, a.rank) < std::pair(b.name, b.rank);
    });
  }

  // ---- communicators ----

  /// The rank's own index of every communicator to the world's.
  std::map<std::uint16_t, int> add_communicators(const RankTally& tally) {
    return communicators_.add(tally.communicators, [&](std::uint16_t number) { return tally.names.at(number); });
  }

  // ---- traffic ----

  void add_flows(const RankTally& tally, const std::map<std::uint16_t, int>& comms) {
    const auto comm_of = [&](std::uint16_t index) {
      const auto found = comms.find(index);
      return found == comms.end() ? kNoComm : found->second;
    };
    const int me = tally.rank.rank;
    for (const auto& [key, amount] : tally.peers) {
      if (amount.count == 0) continue;  // all of it was cancelled
      const int from = key.to_peer ? me : key.peer;
      const int to = key.to_peer ? key.peer : me;
      const int phase = phase_index_.at(tally.phases[key.phase]);
      const double time_ns = tally.clock.duration_ns(amount.time);
      world_.flows.push_back({key.kind, comm_of(key.comm), phase, from, to, amount.bytes, amount.count, time_ns});
    }
    for (const auto& [key, spread] : tally.spreads) {
      world_.spreads.push_back(spread);
      world_.spreads.back().comm = comm_of(key.first);
      world_.spreads.back().phase = phase_index_.at(tally.phases[key.second]);
      world_.spreads.back().rank = me;
    }
  }

  // ---- datatypes and ends ----

  using TypeKey = std::tuple<std::string, std::uint64_t, std::int64_t>;

  static TypeKey key_of(const DatatypeTotals& type) { return {type.name, type.size_bytes, type.extent_bytes}; }

  /// Ends still name the rank's own datatypes; `finish_datatypes` knows the world's order.
  void add_end(RankTally& tally, const std::map<std::uint16_t, int>& comms) {
    for (const auto& [own, totals] : tally.datatypes) {
      DatatypeTotals& sum = datatypes_.try_emplace(key_of(totals)).first->second;
      std::tie(sum.name, sum.size_bytes, sum.extent_bytes) = key_of(totals);
      sum.derived = totals.derived;
      sum.messages += totals.messages;
      sum.bytes += totals.bytes;
      sum.collective_calls += totals.collective_calls;
      sum.collective_bytes += totals.collective_bytes;
      own_types_[tally.rank.rank][static_cast<int>(own)] = key_of(totals);
    }
    const auto resolve = [&](OpenOperation& each) {
      const auto comm = comms.find(static_cast<std::uint16_t>(each.comm));
      each.comm = each.comm == kNoComm || comm == comms.end() ? kNoComm : comm->second;
      each.since_ns = tally.clock.time_ns(each.start_ticks);
    };
    for (OpenCall& open : tally.rank.end.open) {
      resolve(open.call);
      for (OpenOperation& each : open.pending) resolve(each);
    }
    for (CollectivesMade& made : tally.rank.end.collectives) {
      const auto comm = comms.find(static_cast<std::uint16_t>(made.comm));
      made.comm = made.comm == kNoComm || comm == comms.end() ? kNoComm : comm->second;
    }
    for (Crash& crash : tally.rank.end.crash) crash.at_ns = tally.clock.time_ns(tally.end_ticks);
    if (tally.exit_ticks != 0) tally.rank.end.exit_ns = tally.clock.time_ns(tally.exit_ticks);
    tally.rank.end.last.end_ns = tally.clock.time_ns(tally.last_end);
  }

  void finish_datatypes() {
    std::map<TypeKey, int> index;
    for (auto& [key, totals] : datatypes_) {
      index[key] = static_cast<int>(world_.datatypes.size());
      world_.datatypes.push_back(std::move(totals));
    }
    for (Rank& rank : world_.ranks)
      for (OpenCall& open : rank.end.open) {
        rename_type(rank, open.call, index);
        for (OpenOperation& each : open.pending) rename_type(rank, each, index);
      }
  }

  void rename_type(const Rank& rank, OpenOperation& operation, const std::map<TypeKey, int>& index) {
    if (operation.datatype == kNoDatatype) return;
    operation.datatype = index.at(own_types_[rank.rank].at(operation.datatype));
  }

  void finish_sites() {
    for (auto& [key, site] : sites_) {
      std::tie(site.object, site.file_offset, site.procedure) = key;
      world_.sites.push_back(std::move(site));
    }
  }

  /// Both ends may have reported a collective's pair, and a rank's duplicate communicators may be one entry. Times
  /// are added in one order, so that the sum is the same whoever made the tallies.
  void finish_flows() {
    const auto place = [](const Flow& flow) {
      return std::tuple(flow.kind, flow.comm, flow.phase, flow.from, flow.to);
    };
    std::sort(world_.flows.begin(), world_.flows.end(), [&](const Flow& a, const Flow& b) {
      return std::pair(place(a), std::pair(a.count, a.time_ns)) <
             std::pair(place(b), std::pair(b.count, b.time_ns));
    });
    std::vector<Flow> merged;
    for (const Flow& flow : world_.flows) {
      if (merged.empty() || place(merged.back()) != place(flow)) {
        merged.push_back(flow);
        continue;
      }
      merged.back().bytes += flow.bytes;
      merged.back().count += flow.count;
      merged.back().time_ns += flow.time_ns;
    }
    world_.flows = std::move(merged);
    std::sort(world_.spreads.begin(), world_.spreads.end(), [](const Spread& a, const Spread& b) {
      return std::tuple(a.comm, a.phase, a.rank) < std::tuple(b.comm, b.phase, b.rank);
    });
    sort_sections(world_.phase_totals);
    sort_sections(world_.region_totals);
  }

  World world_;
  std::map<std::string, int> procedure_index_;
  std::map<std::string, int> phase_index_;
  std::map<std::tuple<std::string, std::uint64_t, int>, CallSite> sites_;
  CommunicatorTable communicators_;
  std::map<TypeKey, DatatypeTotals> datatypes_;
  std::map<int, std::map<int, TypeKey>> own_types_;  ///< by rank and its own index
};

}  // namespace

std::vector<World> assemble(std::vector<RankTally> tallies) {
  const auto describe = [](const RankTally& tally) {
    return RankFile{tally.rank.file, tally.rank.rank, tally.world_size, tally.spawned,
                    tally.rank.started_realtime_ns};
  };
  Launches launches = by_launch(std::move(tallies), describe);
  share_rates(launches);
  std::vector<World> worlds;
  for (auto& [launch, ranks] : launches) worlds.push_back(Assembler().build(launch_name(launch), ranks));
  return worlds;
}

}  // namespace corewise::profile
