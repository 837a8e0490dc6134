// Preparation; see preparation.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/preparation.hpp"

#include <algorithm>

#include "profile/communicators.hpp"

namespace corewise::profile {
namespace {

bool has_overwritten(const trace::Reader& reader) {
  const auto slots = reader.slots();
  return std::any_of(slots.begin(), slots.end(),
                     [](const trace::Slot& slot) { return slot.overwritten_bytes > 0; });
}

bool has_lost(const trace::Reader& reader) {
  const trace::FileHeader& header = reader.header();
  return header.lost_bytes > 0 || reader.damage().missing_bytes > 0 || reader.damage().blocks > 0 ||
         header.lost_nested > 0;
}

void count_gaps(const WaitRank& rank, WaitGaps& gaps) {
  const trace::FileHeader& header = rank.reader.header();
  gaps.excluded_ranks += rank.excluded ? 1 : 0;
  gaps.damaged_ranks += rank.damaged ? 1 : 0;
  gaps.unfinished_ranks += header.state == trace::State::finalized ? 0 : 1;
  const bool without_calls = header.version >= 2 && (header.kinds & trace::kCalls) == 0;
  gaps.ranks_without_calls += without_calls ? 1 : 0;
}

WaitCommunicator describe(const Communicator& comm, const PreparedWorld& world) {
  WaitCommunicator out;
  out.name = comm.name;
  out.order = comm.ranks;
  out.usable = comm.remote_size == 0 && comm.size > 1;
  const auto counts = [&](int rank) {
    const WaitRank* member = world.inside(rank) ? world.of(rank) : nullptr;
    return member != nullptr && !member->excluded ? 1 : 0;
  };
  for (int i = 0; comm.identity && i < std::min(comm.size, world.size); ++i) out.members += counts(i);
  for (const std::int32_t rank : comm.ranks) out.members += counts(rank);
  return out;
}

void find_communicators(PreparedWorld& world) {
  CommunicatorTable table;
  for (const auto& rank : world.ranks) {
    const auto name_of = [&](std::uint16_t number) { return rank->reader.procedure_name(number); };
    rank->comm_of = table.add(rank->reader.communicators(), name_of);
  }
  for (const Communicator& comm : table.known()) world.communicators.push_back(describe(comm, world));
}

}  // namespace

WaitRank::WaitRank(const trace::Reader& opened, const RankClock& aligned)
    : reader(opened), clock(aligned), damaged(has_lost(opened)), excluded(has_overwritten(opened)) {
  const std::vector<std::string>& names = reader.procedure_names();
  facts.resize(trace::kCallMask + 1U);
  for (std::size_t i = 0; i < names.size() && i < facts.size(); ++i) facts[i] = procedure_facts(names[i]);
  phase_begin_ns = latest_ns = clock.ns(reader.header().start_ticks);
}

std::uint64_t WaitRank::origin(const trace::Record& record) {
  const auto [at, fresh] = origin_of.try_emplace({record.procedure, record.site, phase}, origins.size());
  if (fresh) origins.push_back(at->first);
  return at->second;
}

void WaitRank::begin_phase(std::uint32_t next, double at_ns) {
  phases[phase].total_ns += at_ns - phase_begin_ns;
  phase = next;
  phase_begin_ns = at_ns;
}

PreparedWorld prepare_world(std::span<const trace::Reader* const> readers, std::span<const RankClock> clocks) {
  PreparedWorld world;
  for (std::size_t i = 0; i < readers.size(); ++i)
    world.ranks.push_back(std::make_unique<WaitRank>(*readers[i], clocks[i]));
  world.size = readers.front()->header().world_size;
  world.by_rank.resize(static_cast<std::size_t>(world.size), nullptr);
  for (const auto& rank : world.ranks) world.by_rank[static_cast<std::size_t>(rank->rank())] = rank.get();
  for (const auto& rank : world.ranks) count_gaps(*rank, world.gaps);
  find_communicators(world);
  return world;
}

}  // namespace corewise::profile
