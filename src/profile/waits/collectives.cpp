// Bringing a collective's calls together and judging them; see collectives.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/collectives.hpp"

#include <algorithm>

namespace corewise::profile {
namespace {

/// Collectives of one line and group that some members have reached and others have not.
constexpr std::size_t kMostOpen = 1 << 12;

}  // namespace

void CollectiveWaits::collective(const StreamedRecord& streamed, WaitRank& rank) {
  const trace::Record& record = streamed.record;
  const auto found = rank.comm_of.find(record.comm);
  if (found == rank.comm_of.end() || rank.excluded) return;
  const WaitCommunicator& comm = world_.communicators[static_cast<std::size_t>(found->second)];
  if (!comm.usable) return;
  const std::string name = rank.reader.procedure_name(record.procedure);
  const ProcedureFacts& facts = rank.facts_of(record);
  const Line line{found->second, facts.persistent ? name : ""};
  const std::uint64_t number = next_[{rank.rank(), line}]++;
  const std::size_t group = group_of_collective(number);
  if (!share_.has(group)) return;
  auto& open = open_[{line, group}];
  Instance& instance = open[number];
  if (instance.entries.empty()) {
    instance.procedure = name;
    instance.stem = facts.stem;
    instance.meeting = facts.blocking ? facts.meeting : Meeting::none;
    instance.root = record.peer;
  }
  instance.mixed = instance.mixed || instance.stem != facts.stem;
  instance.entries.push_back({rank.rank(), streamed.start_ns(), streamed.end_ns(), rank.origin(record)});
  if (static_cast<int>(instance.entries.size()) >= comm.members) {
    finished(comm, found->second, instance);
    open.erase(number);
  } else if (open.size() > kMostOpen) {
    ++given_up_;
    open.erase(open.begin());
  }
}

std::uint64_t CollectiveWaits::incomplete() const {
  std::uint64_t sum = given_up_;
  for (const auto& [line, open] : open_) sum += open.size();
  return sum;
}

void CollectiveWaits::finished(const WaitCommunicator& comm, int comm_index, const Instance& instance) {
  ++complete_;
  if (instance.mixed) {
    ++world_.gaps.mixed_collectives;
    return;
  }
  if (causes_ != nullptr) return causes_of(instance);
  switch (instance.meeting) {
    case Meeting::barrier:
      note_arrivals(comm_index, instance);
      return wait_for_last(WaitKind::barrier, instance);
    case Meeting::all_to_all:
      note_arrivals(comm_index, instance);
      return wait_for_last(WaitKind::all_to_all, instance);
    case Meeting::to_root:
      return wait_of_root(instance);
    case Meeting::from_root:
      return wait_for_root(instance);
    case Meeting::prefix:
      return wait_for_lower(comm, instance);
    default:
      return;
  }
}

/// Of every node the last to begin, for of every node the first to end.
void CollectiveWaits::causes_of(const Instance& instance) {
  if (instance.meeting == Meeting::none || instance.meeting == Meeting::prefix) return;
  std::map<int, const Entry*> last;
  std::map<int, const Entry*> first;
  for (const Entry& entry : instance.entries) {
    const int node = world_.of(entry.rank)->clock.node();
    const bool root = entry.rank == instance.root;
    const bool begins = instance.meeting != Meeting::from_root || root;
    const bool ends = instance.meeting != Meeting::to_root || root;
    const Entry*& latest = last[node];
    const Entry*& earliest = first[node];
    if (begins && (latest == nullptr || entry.start_ns > latest->start_ns)) latest = &entry;
    if (ends && (earliest == nullptr || entry.end_ns < earliest->end_ns)) earliest = &entry;
  }
  for (const auto& [from_node, from] : last)
    for (const auto& [to_node, to] : first)
      if (from != nullptr && to != nullptr) causes_->add(from->rank, from->start_ns, to->rank, to->end_ns);
}

const CollectiveWaits::Entry& CollectiveWaits::last_of(const Instance& instance) {
  return *std::max_element(instance.entries.begin(), instance.entries.end(),
                           [](const Entry& a, const Entry& b) { return a.start_ns < b.start_ns; });
}

const CollectiveWaits::Entry* CollectiveWaits::root_of(const Instance& instance) {
  for (const Entry& entry : instance.entries)
    if (entry.rank == instance.root) return &entry;
  return nullptr;
}

void CollectiveWaits::wait_in(WaitKind kind, const Entry& entry, const Entry& cause) {
  const double wait = std::min(cause.start_ns, entry.end_ns) - entry.start_ns;
  if (cause.rank != entry.rank) ledger_.add(kind, entry.rank, cause.rank, entry.origin, wait);
}

void CollectiveWaits::wait_for_last(WaitKind kind, const Instance& instance) {
  const Entry& last = last_of(instance);
  for (const Entry& entry : instance.entries) {
    ledger_.check(last.start_ns, entry.start_ns, entry.end_ns);
    wait_in(kind, entry, last);
  }
}

void CollectiveWaits::wait_of_root(const Instance& instance) {
  const Entry* root = root_of(instance);
  if (root == nullptr) return;
  const Entry* last = nullptr;
  for (const Entry& entry : instance.entries)
    if (&entry != root && (last == nullptr || entry.start_ns > last->start_ns)) last = &entry;
  if (last == nullptr) return;
  ledger_.check(last->start_ns, root->start_ns, root->end_ns);
  wait_in(WaitKind::early_reduce, *root, *last);
}

void CollectiveWaits::wait_for_root(const Instance& instance) {
  const Entry* root = root_of(instance);
  if (root == nullptr) return;
  for (const Entry& entry : instance.entries) {
    ledger_.check(root->start_ns, entry.start_ns, entry.end_ns);
    wait_in(WaitKind::late_broadcast, entry, *root);
  }
}

void CollectiveWaits::wait_for_lower(const WaitCommunicator& comm, const Instance& instance) {
  std::map<int, int> rank_of;  // in the communicator, by world rank
  for (std::size_t i = 0; i < comm.order.size(); ++i) rank_of[comm.order[i]] = static_cast<int>(i);
  const auto position = [&](const Entry& entry) { return comm.order.empty() ? entry.rank : rank_of[entry.rank]; };
  std::vector<Entry> entries = instance.entries;
  std::sort(entries.begin(), entries.end(),
            [&](const Entry& a, const Entry& b) { return position(a) < position(b); });
  const Entry* last = &entries.front();
  for (const Entry& entry : entries) {
    wait_in(WaitKind::early_scan, entry, *last);
    if (entry.start_ns > last->start_ns) last = &entry;
  }
}

void CollectiveWaits::note_arrivals(int comm, const Instance& instance) {
  ArrivalSum& sum = arrivals_[{instance.procedure, comm}];
  const Entry& last = last_of(instance);
  double mean = 0;
  for (const Entry& entry : instance.entries)
    mean += (entry.start_ns - last.start_ns) / static_cast<double>(instance.entries.size());
  ++sum.count;
  sum.spread.add(std::max(0.0, -mean));
  ++sum.last[last.rank];
}

}  // namespace corewise::profile
