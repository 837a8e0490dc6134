// Bringing ranks together; see assemble.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/assemble.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace corewise::profile {
namespace {

// ---- clocks ----------------------------------------------------------------------------------------------

/// A rank that ended before its clock was measured for long enough counts with the rate of the best-measured rank
/// of its host: they read the same counter.
void share_rates(std::vector<Member>& members) {
  std::map<std::string, trace::Calibration> best;
  for (const Member& member : members) {
    trace::Calibration& known = best[member.tally.rank.host];
    if (member.tally.clock.known && member.tally.clock.span_ns > known.span_ns) known = member.tally.clock;
  }
  for (Member& member : members) {
    trace::Calibration& clock = member.tally.clock;
    const trace::Calibration& other = best[member.tally.rank.host];
    if (clock.precise || !other.known || other.span_ns <= clock.span_ns) continue;
    clock.ns_per_tick = other.ns_per_tick;
    clock.known = true;
    clock.precise = other.precise;
  }
}

// ---- one world -------------------------------------------------------------------------------------------

/// What makes communicators of different ranks the same one: the groups, the constructor, and how many like it came
/// before on each member (constructors of one group are called in one order by all its members).
struct CommKey {
  bool identity;
  int size;
  std::vector<std::int32_t> group;  ///< for an intercommunicator the smaller of the two groups
  std::vector<std::int32_t> remote;
  std::string created_by;
  int ordinal;
  friend auto operator<=>(const CommKey&, const CommKey&) = default;
};

class Assembler {
 public:
  World build(const std::string& name, std::vector<RankTally>& tallies) {
    world_.name = name;
    std::sort(tallies.begin(), tallies.end(),
              [](const RankTally& a, const RankTally& b) { return a.rank.rank < b.rank.rank; });
    world_.spawned = tallies.front().spawned;
    world_.size = tallies.front().world_size;
    world_.library = tallies.front().library;
    collect_procedures(tallies);
    for (RankTally& tally : tallies) add_rank(tally);
    finish_sites();
    finish_flows();
    return std::move(world_);
  }

 private:
  void collect_procedures(const std::vector<RankTally>& tallies) {
    std::set<std::string> used;
    for (const RankTally& tally : tallies)
      for (std::size_t number = 0; number < tally.procedures.size(); ++number)
        if (tally.procedures[number].calls > 0 || tally.procedures[number].bytes > 0)
          used.insert(tally.names[number]);
    world_.procedures.assign(used.begin(), used.end());
    for (std::size_t i = 0; i < world_.procedures.size(); ++i)
      procedure_index_[world_.procedures[i]] = static_cast<int>(i);
  }

  void add_rank(RankTally& tally) {
    add_totals(tally);
    add_sites(tally);
    const std::map<std::uint16_t, int> comms = add_communicators(tally);
    add_flows(tally, comms);
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
    for (std::size_t number = 0; number < tally.procedures.size(); ++number) {
      const Ticks& ticks = tally.procedures[number];
      const auto known = procedure_index_.find(tally.names[number]);
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
      const auto procedure = procedure_index_.find(tally.names[number]);
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

  // ---- communicators ----

  static CommKey key_of(const trace::Communicator& comm, const std::string& created_by) {
    CommKey key{comm.identity, comm.size, comm.ranks, comm.remote_ranks, created_by, 0};
    if (comm.remote_size > 0 && key.remote < key.group) std::swap(key.group, key.remote);
    if (comm.remote_size > 0) key.size = 0;  // differs on the two sides
    // Everyone's MPI_COMM_SELF is one entry, and so are duplicates of it.
    if (comm.remote_size == 0 && comm.size == 1) key = {false, 1, {}, {}, {}, 0};
    return key;
  }

  /// The rank's own index of every communicator to the world's.
  std::map<std::uint16_t, int> add_communicators(const RankTally& tally) {
    std::map<std::uint16_t, int> index_of;
    std::map<CommKey, int> seen;
    for (const auto& [index, comm] : tally.communicators) {
      const std::string created_by =
          comm.parent == trace::kUnknownComm ? "" : tally.names[comm.created_by & trace::kCallMask];
      CommKey key = key_of(comm, created_by);
      if (key.size != 1 || comm.remote_size > 0) key.ordinal = seen[key]++;
      const auto [at, fresh] = communicators_.emplace(key, static_cast<int>(world_.communicators.size()));
      if (fresh) world_.communicators.push_back(public_form(comm, key));
      Communicator& known = world_.communicators[static_cast<std::size_t>(at->second)];
      if (known.name.empty()) known.name = comm.name;
      index_of[static_cast<std::uint16_t>(index)] = at->second;
    }
    return index_of;
  }

  static Communicator public_form(const trace::Communicator& comm, const CommKey& key) {
    Communicator out;
    out.name = comm.name;
    out.created_by = key.created_by;
    out.identity = key.identity;
    out.ranks = key.group;
    out.remote_ranks = key.remote;
    out.size = comm.remote_size > 0 ? static_cast<int>(key.group.size()) : comm.size;
    out.remote_size = static_cast<int>(key.remote.size());
    return out;
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
      world_.flows.push_back({key.kind, comm_of(key.comm), from, to, amount.bytes, amount.count});
    }
    for (const auto& [index, spread] : tally.spreads) {
      world_.spreads.push_back(spread);
      world_.spreads.back().comm = comm_of(index);
      world_.spreads.back().rank = me;
    }
  }

  void finish_sites() {
    for (auto& [key, site] : sites_) {
      std::tie(site.object, site.file_offset, site.procedure) = key;
      world_.sites.push_back(std::move(site));
    }
  }

  /// Both ends may have reported a collective's pair, and a rank's duplicate communicators may be one entry.
  void finish_flows() {
    const auto place = [](const Flow& flow) { return std::tuple(flow.kind, flow.comm, flow.from, flow.to); };
    std::sort(world_.flows.begin(), world_.flows.end(),
              [&](const Flow& a, const Flow& b) { return place(a) < place(b); });
    std::vector<Flow> merged;
    for (const Flow& flow : world_.flows) {
      if (merged.empty() || place(merged.back()) != place(flow)) {
        merged.push_back(flow);
        continue;
      }
      merged.back().bytes += flow.bytes;
      merged.back().count += flow.count;
    }
    world_.flows = std::move(merged);
    std::sort(world_.spreads.begin(), world_.spreads.end(), [](const Spread& a, const Spread& b) {
      return std::pair(a.comm, a.rank) < std::pair(b.comm, b.rank);
    });
  }

  World world_;
  std::map<std::string, int> procedure_index_;
  std::map<std::tuple<std::string, std::uint64_t, int>, CallSite> sites_;
  std::map<CommKey, int> communicators_;
};

// ---- grouping --------------------------------------------------------------------------------------------

struct LaunchKey {
  bool spawned;
  int negative_size;  ///< large worlds first
  std::string name;
  int ordinal;
  friend auto operator<=>(const LaunchKey&, const LaunchKey&) = default;
};

std::string world_name(const LaunchKey& key) {
  return key.ordinal == 0 ? key.name : key.name + " " + std::to_string(key.ordinal + 1);
}

}  // namespace

std::vector<World> assemble(std::vector<Member> members) {
  share_rates(members);
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::pair(a.tally.rank.started_realtime_ns, a.tally.rank.file) <
           std::pair(b.tally.rank.started_realtime_ns, b.tally.rank.file);
  });
  std::map<std::tuple<std::string, int, int>, int> seen;  // (world, size, rank) to how many came before
  std::map<LaunchKey, std::vector<RankTally>> launches;
  for (Member& member : members) {
    RankTally& tally = member.tally;
    const int ordinal = seen[{member.world, tally.world_size, tally.rank.rank}]++;
    launches[{tally.spawned, -tally.world_size, member.world, ordinal}].push_back(std::move(tally));
  }
  std::vector<World> worlds;
  for (auto& [key, tallies] : launches) worlds.push_back(Assembler().build(world_name(key), tallies));
  return worlds;
}

}  // namespace corewise::profile
