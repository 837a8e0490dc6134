// References: identity, random and greedy placements. See references.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/references.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace corewise::place {

namespace {

/// Least value that at least `fraction` of the sorted sample do not exceed.
double quantile(const std::vector<double>& sorted, double fraction) {
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

/// What a rank exchanges with another, in one direction.
struct Peer {
  int rank;
  bool outgoing;
  std::uint64_t bytes;
};

std::vector<std::vector<Peer>> peers_of(const Workload& work) {
  std::vector<std::vector<Peer>> peers(index(work.ranks));
  for (const auto& phase : work.phases) {
    for (const Traffic& traffic : phase) {
      peers[index(traffic.from)].push_back({traffic.to, true, traffic.bytes});
      peers[index(traffic.to)].push_back({traffic.from, false, traffic.bytes});
    }
  }
  return peers;
}

std::vector<int> in_order(const std::vector<std::vector<Peer>>& peers) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> weight(peers.size());  // with those before, with all
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    for (const Peer& peer : peers[rank]) weight[rank].second += peer.bytes;
  }
  std::vector<char> taken(peers.size(), 0);
  std::vector<int> order;
  while (order.size() < peers.size()) {
    std::size_t chosen = peers.size();
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
      if (!taken[rank] && (chosen == peers.size() || weight[rank] > weight[chosen])) chosen = rank;
    }
    taken[chosen] = 1;
    order.push_back(static_cast<int>(chosen));
    for (const Peer& peer : peers[chosen]) weight[index(peer.rank)].first += peer.bytes;
  }
  return order;
}

/// Of `unit` to all others.
std::uint64_t hops_to_all(const RoutedShares& shares, int unit) {
  std::uint64_t sum = 0;
  for (int other = 0; other < shares.units(); ++other) sum += static_cast<std::uint64_t>(shares.hops(unit, other));
  return sum;
}

/// Of a rank's messages with those already placed, if it were on `unit`.
std::uint64_t hop_bytes_on(const RoutedShares& shares, const std::vector<Peer>& peers,
                           const std::vector<int>& unit_of_rank, int unit) {
  std::uint64_t sum = 0;
  for (const Peer& peer : peers) {
    const int peer_unit = unit_of_rank[index(peer.rank)];
    if (peer_unit < 0) continue;
    const int hops = peer.outgoing ? shares.hops(unit, peer_unit) : shares.hops(peer_unit, unit);
    sum += peer.bytes * static_cast<std::uint64_t>(hops);
  }
  return sum;
}

/// The free unit where `cost` is least.
template <class Cost>
int cheapest(const std::vector<char>& used, const Cost& cost) {
  int chosen = -1;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int unit = 0; unit < static_cast<int>(used.size()); ++unit) {
    if (used[index(unit)]) continue;
    const std::uint64_t sum = cost(unit);
    if (chosen >= 0 && sum >= least) continue;
    chosen = unit;
    least = sum;
  }
  return chosen;
}

}  // namespace

std::vector<int> ranks_by_traffic(const Workload& work) {
  return in_order(peers_of(work));
}

machine::Placement random_placement(int ranks, int units, Rng& rng) {
  std::vector<int> order(index(units));
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(std::span(order));
  order.resize(index(ranks));
  return {order};
}

machine::Placement greedy_placement(const RoutedShares& shares, const Workload& work, GreedyBegin begin) {
  const auto peers = peers_of(work);
  std::vector<int> unit_of_rank(index(work.ranks), -1);
  std::vector<char> used(index(shares.units()), 0);
  bool first = true;
  for (const int rank : in_order(peers)) {
    const bool middle = first && begin == GreedyBegin::middle;
    const int unit = cheapest(used, [&](int at) {
      return middle ? hops_to_all(shares, at) : hop_bytes_on(shares, peers[index(rank)], unit_of_rank, at);
    });
    unit_of_rank[index(rank)] = unit;
    used[index(unit)] = 1;
    first = false;
  }
  return {unit_of_rank};
}

RandomReference random_reference(const RoutedShares& shares, const Workload& work, int samples,
                                 std::uint64_t seed) {
  Rng rng(seed);
  RandomReference reference;
  reference.samples = samples;
  std::vector<double> times_ns;
  for (int k = 0; k < samples; ++k) {
    const Evaluation sample =
        evaluate(shares, work, random_placement(work.ranks, shares.units(), rng).unit_of_rank);
    times_ns.push_back(sample.bottleneck_ns);
    reference.mean_ns += sample.bottleneck_ns / samples;
    reference.mean_hop_bytes += static_cast<double>(sample.hop_bytes) / samples;
  }
  std::sort(times_ns.begin(), times_ns.end());
  reference.least_ns = times_ns.front();
  reference.p10_ns = quantile(times_ns, 0.1);
  reference.median_ns = quantile(times_ns, 0.5);
  reference.p90_ns = quantile(times_ns, 0.9);
  reference.most_ns = times_ns.back();
  return reference;
}

}  // namespace corewise::place
