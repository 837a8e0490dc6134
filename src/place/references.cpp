// References: identity, random and greedy placements. See references.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/references.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace corewise::place {

namespace {

std::size_t index(int value) {
  return static_cast<std::size_t>(value);
}

/// Least value that at least `fraction` of the sorted sample do not exceed.
double quantile(const std::vector<double>& sorted, double fraction) {
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

class Greedy {
 public:
  Greedy(const RoutedShares& shares, const Workload& work)
      : shares_(shares),
        peers_(index(work.ranks)),
        to_placed_(index(work.ranks), 0),
        in_all_(index(work.ranks), 0),
        unit_of_rank_(index(work.ranks), -1),
        used_(index(shares.units()), 0) {
    for (const auto& phase : work.phases) {
      for (const Traffic& traffic : phase) {
        peers_[index(traffic.from)].push_back({traffic.to, true, traffic.bytes});
        peers_[index(traffic.to)].push_back({traffic.from, false, traffic.bytes});
        in_all_[index(traffic.from)] += traffic.bytes;
        in_all_[index(traffic.to)] += traffic.bytes;
      }
    }
  }

  machine::Placement run() {
    for (std::size_t k = 0; k < unit_of_rank_.size(); ++k) {
      const int rank = next_rank();
      const int unit = nearest_unit(rank);
      unit_of_rank_[index(rank)] = unit;
      used_[index(unit)] = 1;
      for (const Peer& peer : peers_[index(rank)]) to_placed_[index(peer.rank)] += peer.bytes;
    }
    return {unit_of_rank_};
  }

 private:
  struct Peer {
    int rank;
    bool outgoing;
    std::uint64_t bytes;
  };

  int next_rank() const {
    int chosen = -1;
    for (int rank = 0; rank < static_cast<int>(unit_of_rank_.size()); ++rank) {
      if (unit_of_rank_[index(rank)] >= 0) continue;
      if (chosen < 0 || std::pair(to_placed_[index(rank)], in_all_[index(rank)]) >
                            std::pair(to_placed_[index(chosen)], in_all_[index(chosen)])) {
        chosen = rank;
      }
    }
    return chosen;
  }

  std::uint64_t hop_bytes_on(int rank, int unit) const {
    std::uint64_t sum = 0;
    for (const Peer& peer : peers_[index(rank)]) {
      const int peer_unit = unit_of_rank_[index(peer.rank)];
      if (peer_unit < 0) continue;
      const int hops = peer.outgoing ? shares_.hops(unit, peer_unit) : shares_.hops(peer_unit, unit);
      sum += peer.bytes * static_cast<std::uint64_t>(hops);
    }
    return sum;
  }

  int nearest_unit(int rank) const {
    int chosen = -1;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int unit = 0; unit < shares_.units(); ++unit) {
      if (used_[index(unit)]) continue;
      const std::uint64_t sum = hop_bytes_on(rank, unit);
      if (chosen >= 0 && sum >= least) continue;
      chosen = unit;
      least = sum;
    }
    return chosen;
  }

  const RoutedShares& shares_;
  std::vector<std::vector<Peer>> peers_;
  std::vector<std::uint64_t> to_placed_;
  std::vector<std::uint64_t> in_all_;
  std::vector<int> unit_of_rank_;
  std::vector<char> used_;
};

}  // namespace

machine::Placement random_placement(int ranks, int units, Rng& rng) {
  std::vector<int> order(index(units));
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(std::span(order));
  order.resize(index(ranks));
  return {order};
}

machine::Placement greedy_placement(const RoutedShares& shares, const Workload& work) {
  return Greedy(shares, work).run();
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
