// Multilevel swaps: descent and annealing. See multilevel_swaps.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/multilevel_swaps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace corewise::place {

TreeSwaps::TreeSwaps(const PairTraffic& traffic, const Tree& tree, std::vector<int> position_of_vertex)
    : traffic_(traffic), tree_(tree), position_(std::move(position_of_vertex)), vertex_at_(position_.size()) {
  for (std::size_t v = 0; v < position_.size(); ++v)
    vertex_at_[static_cast<std::size_t>(position_[v])] = static_cast<int>(v);
  index_groups();
  least_gain_ = cost() * 1e-13;
}

void TreeSwaps::index_groups() {
  group_of_.assign(position_.size(), 0);
  seen_.assign(tree_.nodes().size(), 0);
  for (std::size_t node = 0; node < tree_.nodes().size(); ++node) {
    const Tree::Node& group = tree_.nodes()[node];
    if (group.level != 1) continue;
    std::fill_n(group_of_.begin() + group.first_unit, group.units, static_cast<int>(node));
  }
}

void TreeSwaps::take(TreeSwaps other) {
  position_ = std::move(other.position_);
  vertex_at_ = std::move(other.vertex_at_);
}

double TreeSwaps::cost() const {
  double twice = 0;
  for (int rank = 0; rank < traffic_.ranks; ++rank) twice += terms(rank, position_[static_cast<std::size_t>(rank)]);
  return twice / 2;
}

double TreeSwaps::terms(int vertex, int position) const {
  if (vertex >= traffic_.ranks) return 0;
  double sum = 0;
  for (const PairTraffic::Peer& peer : traffic_.peers_of(vertex)) {
    sum +=
        static_cast<double>(peer.bytes) * tree_.distance(position, position_[static_cast<std::size_t>(peer.rank)]);
  }
  return sum;
}

double TreeSwaps::swap_gain(int vertex, int other) const {
  const int here = position_[static_cast<std::size_t>(vertex)];
  const int there = position_[static_cast<std::size_t>(other)];
  double gain = terms(vertex, here) - terms(vertex, there) + terms(other, there) - terms(other, here);
  if (vertex < traffic_.ranks && other < traffic_.ranks) {
    // Their own distance stays: the sums above count it as gone.
    const auto peers = traffic_.peers_of(vertex);
    const auto found = std::lower_bound(peers.begin(), peers.end(), other,
                                        [](const PairTraffic::Peer& peer, int rank) { return peer.rank < rank; });
    if (found != peers.end() && found->rank == other) {
      gain -= 2 * static_cast<double>(found->bytes) * tree_.distance(here, there);
    }
  }
  return gain;
}

void TreeSwaps::swap(int vertex, int other) {
  std::swap(position_[static_cast<std::size_t>(vertex)], position_[static_cast<std::size_t>(other)]);
  vertex_at_[static_cast<std::size_t>(position_[static_cast<std::size_t>(vertex)])] = vertex;
  vertex_at_[static_cast<std::size_t>(position_[static_cast<std::size_t>(other)])] = other;
}

/// The best swap into a group of one of the vertex's peers; only groups where the vertex itself gains.
bool TreeSwaps::improve(int vertex) {
  const int here = position_[static_cast<std::size_t>(vertex)];
  const double now = terms(vertex, here);
  ++mark_;
  seen_[static_cast<std::size_t>(group_of_[static_cast<std::size_t>(here)])] = mark_;
  int best = -1;
  double best_gain = least_gain_;
  for (const PairTraffic::Peer& peer : traffic_.peers_of(vertex)) {
    const int beside = position_[static_cast<std::size_t>(peer.rank)];
    const int group = group_of_[static_cast<std::size_t>(beside)];
    if (std::exchange(seen_[static_cast<std::size_t>(group)], mark_) == mark_) continue;
    // On any unit of the group but the peer's own; on that one the peer goes away, which is no better.
    if (terms(vertex, beside) + static_cast<double>(peer.bytes) * tree_.level_distance(1) >= now) continue;
    const Tree::Node& node = tree_.nodes()[static_cast<std::size_t>(group)];
    for (int at = node.first_unit; at < node.first_unit + node.units; ++at) {
      const int other = vertex_at_[static_cast<std::size_t>(at)];
      const double gain = swap_gain(vertex, other);
      if (gain > best_gain) {
        best = other;
        best_gain = gain;
      }
    }
  }
  if (best < 0) return false;
  swap(vertex, best);
  return true;
}

void TreeSwaps::descend() {
  bool any = true;
  while (any) {
    any = false;
    for (int vertex = 0; vertex < traffic_.ranks; ++vertex) {
      if (improve(vertex)) any = true;
    }
  }
}

void TreeSwaps::anneal(std::uint64_t proposals, Rng& rng) {
  if (traffic_.peers.empty() || position_.size() < 2) return;
  double now = cost();
  double best = now;
  std::vector<int> best_position = position_;
  // From a small share of a vertex's mean cost down to nothing much: the mapping is good, only its edges melt.
  const double hot = 0.25 * now / static_cast<double>(traffic_.ranks);
  const double cold = 0.002 * hot;
  const double cooling =
      std::pow(cold / hot, 1.0 / static_cast<double>(std::max<std::uint64_t>(1, proposals / 256)));
  double temperature = hot;
  for (std::uint64_t step = 0; step < proposals; ++step) {
    if (step % 256 == 255) temperature *= cooling;
    const int vertex = static_cast<int>(rng.below(static_cast<std::uint64_t>(traffic_.ranks)));
    const auto peers = traffic_.peers_of(vertex);
    if (peers.empty()) continue;
    // A unit of the group in which a random peer lives.
    const PairTraffic::Peer& peer = peers[static_cast<std::size_t>(rng.below(peers.size()))];
    const int group = group_of_[static_cast<std::size_t>(position_[static_cast<std::size_t>(peer.rank)])];
    const Tree::Node& node = tree_.nodes()[static_cast<std::size_t>(group)];
    const int at = node.first_unit + static_cast<int>(rng.below(static_cast<std::uint64_t>(node.units)));
    const int other = vertex_at_[static_cast<std::size_t>(at)];
    if (other == vertex ||
        group_of_[static_cast<std::size_t>(position_[static_cast<std::size_t>(vertex)])] == group)
      continue;
    const double gain = swap_gain(vertex, other);
    if (gain < 0 && !(rng.uniform() < std::exp(gain / temperature))) continue;
    swap(vertex, other);
    now -= gain;
    if (now < best - least_gain_) {
      best = now;
      best_position = position_;
    }
  }
  position_ = std::move(best_position);
  for (std::size_t v = 0; v < position_.size(); ++v)
    vertex_at_[static_cast<std::size_t>(position_[v])] = static_cast<int>(v);
  descend();
}

}  // namespace corewise::place
