// Matrices out of a world's flows and spreads.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <tuple>
#include <utility>

#include "profile/profile.hpp"

namespace corewise::profile {
namespace {

using pattern::Message;

/// A communicator or a phase; -1 asks for all.
bool wanted(int found, int asked) {
  return asked == -1 || found == asked;
}
static_assert(kNoComm == -1 && kAnyPhase == -1);

/// Sorts and sums what belongs to one pair.
std::vector<PairTraffic> one_per_pair(std::vector<PairTraffic> entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const PairTraffic& a, const PairTraffic& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  std::vector<PairTraffic> merged;
  for (const PairTraffic& entry : entries) {
    if (merged.empty() || merged.back().from != entry.from || merged.back().to != entry.to) {
      merged.push_back(entry);
      continue;
    }
    merged.back().bytes += entry.bytes;
    merged.back().count += entry.count;
    merged.back().time_ns += entry.time_ns;
  }
  return merged;
}

/// Calls `visit` with the world rank of every other member, or of every member of the group opposite.
template <class Visit>
void for_each_partner(const World& world, const Communicator& comm, int rank, Visit visit) {
  if (comm.identity) {
    for (int other = 0; other < comm.size; ++other)
      if (other != rank) visit(other);
    return;
  }
  const bool in_first = std::find(comm.ranks.begin(), comm.ranks.end(), rank) != comm.ranks.end();
  const auto& group = comm.remote_size > 0 && in_first ? comm.remote_ranks : comm.ranks;
  for (const int other : group)
    if (other != rank && other >= 0 && other < world.size) visit(other);
}

/// A reduction's contribution c over P members moves 2c/P to each partner; between groups c over the group
/// opposite.
std::uint64_t reduced_share(std::uint64_t bytes, const Communicator& comm, int partners) {
  const auto shares = static_cast<std::uint64_t>(comm.remote_size > 0 ? partners : partners + 1);
  const std::uint64_t moved = comm.remote_size > 0 ? bytes : 2 * bytes;
  return (moved + shares / 2) / shares;
}

void lay_out(const World& world, const Spread& spread, std::vector<PairTraffic>& entries) {
  if (spread.comm < 0 || spread.comm >= static_cast<int>(world.communicators.size())) return;
  const Communicator& comm = world.communicators[static_cast<std::size_t>(spread.comm)];
  int partners = 0;
  for_each_partner(world, comm, spread.rank, [&](int) { ++partners; });
  if (partners == 0) return;
  const std::uint64_t reduced = reduced_share(spread.reduced_bytes, comm, partners);
  for_each_partner(world, comm, spread.rank, [&](int other) {
    const std::uint64_t out = spread.to_each_count + spread.reduced_count;
    if (out > 0) entries.push_back({spread.rank, other, spread.to_each_bytes + reduced, out});
    if (spread.from_each_count > 0)
      entries.push_back({other, spread.rank, spread.from_each_bytes, spread.from_each_count});
  });
}

/// Two sorted matrices in step; calls `visit(pair of a or nullptr, pair of b or nullptr)`.
template <class Visit>
void in_step(const std::vector<Message>& a, const std::vector<Message>& b, Visit visit) {
  auto left = a.begin();
  auto right = b.begin();
  const auto place = [](const Message& entry) { return std::pair(entry.from, entry.to); };
  while (left != a.end() || right != b.end()) {
    const bool has_left = left != a.end() && (right == b.end() || place(*left) <= place(*right));
    const bool has_right = right != b.end() && (left == a.end() || place(*right) <= place(*left));
    visit(has_left ? &*left : nullptr, has_right ? &*right : nullptr);
    if (has_left) ++left;
    if (has_right) ++right;
  }
}

}  // namespace

std::vector<PairTraffic> pairs(const World& world, Traffic kind, int comm, int phase) {
  std::vector<PairTraffic> entries;
  for (const Flow& flow : world.flows)
    if (flow.kind == kind && wanted(flow.comm, comm) && wanted(flow.phase, phase))
      entries.push_back({flow.from, flow.to, flow.bytes, flow.count, flow.time_ns});
  if (kind == Traffic::collective)
    for (const Spread& spread : world.spreads)
      if (wanted(spread.comm, comm) && wanted(spread.phase, phase)) lay_out(world, spread, entries);
  return one_per_pair(std::move(entries));
}

pattern::Matrix matrix(const World& world, Traffic kind, int comm, int phase) {
  std::vector<Message> entries;
  for (const PairTraffic& pair : pairs(world, kind, comm, phase))
    entries.push_back({pair.from, pair.to, pair.bytes, pair.count});
  return {world.size, std::move(entries)};
}

pattern::Pattern to_pattern(const World& world, std::string name) {
  return {std::move(name), world.size, {{"all", matrix(world, Traffic::sent).entries}}};
}

pattern::Pattern to_phases(const World& world, std::string name) {
  pattern::Pattern found{std::move(name), world.size, {}};
  for (int phase = 0; phase < static_cast<int>(world.phases.size()); ++phase) {
    std::vector<Message> sent = matrix(world, Traffic::sent, kNoComm, phase).entries;
    if (!sent.empty()) found.phases.push_back({world.phases[static_cast<std::size_t>(phase)], std::move(sent)});
  }
  return found;
}

std::vector<PairDifference> compare_sent_and_received(const World& world) {
  std::vector<PairDifference> differences;
  in_step(matrix(world, Traffic::sent).entries, matrix(world, Traffic::received).entries,
          [&](const Message* sent, const Message* received) {
            const Message& known = sent != nullptr ? *sent : *received;
            PairDifference pair{known.from, known.to};
            if (sent != nullptr) std::tie(pair.sent_bytes, pair.sent_count) = std::tie(sent->bytes, sent->count);
            if (received != nullptr)
              std::tie(pair.received_bytes, pair.received_count) = std::tie(received->bytes, received->count);
            if (pair.sent_bytes != pair.received_bytes || pair.sent_count != pair.received_count)
              differences.push_back(pair);
          });
  return differences;
}

}  // namespace corewise::profile
