// Pair annealing: tables, proposals, cooling. See pair_annealing.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/pair_annealing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "base/index.hpp"

namespace corewise::place {

namespace {

constexpr std::uint64_t steps = 256;
/// The last temperature over the first.
constexpr double cooled = 0.05;
/// One move in so many goes anywhere, the others near a peer.
constexpr std::uint64_t anywhere_every = 8;
/// Two ranks are so far from each other as bytes between them are few: an eighth of the bytes, twice as far.
constexpr double length_power = 1.0 / 3.0;
/// Sums that differ by less are equal but for rounding.
constexpr double equal = 1e-9;
constexpr double unreachable = std::numeric_limits<double>::infinity();

/// Bytes by weight that a rank sends to a peer, and gets from it.
using BytesOfPeers = std::vector<std::map<int, std::pair<double, double>>>;

BytesOfPeers exchanges_of(const Workload& work) {
  BytesOfPeers of_rank(index(work.ranks));
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    for (const Traffic& each : work.phases[phase]) {
      const double bytes = work.weight(phase) * static_cast<double>(each.bytes);
      of_rank[index(each.from)][each.to].first += bytes;
      of_rank[index(each.to)][each.from].second += bytes;
    }
  }
  return of_rank;
}

/// ns per byte from unit to unit, on all links of the way together.
std::vector<double> work_table(const RoutedShares& shares) {
  std::vector<double> table;
  for (int from = 0; from < shares.units(); ++from) {
    for (int to = 0; to < shares.units(); ++to) {
      double ns = 0;
      for (const Share& share : shares.shares(from, to)) ns += shares.time_ns(share.parts, share.link);
      table.push_back(ns);
    }
  }
  return table;
}

double most_bytes(const BytesOfPeers& exchanges) {
  double most = 0;
  for (const auto& of_rank : exchanges) {
    for (const auto& [peer, bytes] : of_rank) most = std::max(most, bytes.first + bytes.second);
  }
  return most;
}

/// From one rank to every other, along messages; heavy ones are short.
std::vector<double> lengths_from(int rank, const BytesOfPeers& exchanges, double most) {
  std::vector<double> length(exchanges.size(), unreachable);
  using Reached = std::pair<double, int>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  queue.emplace(length[index(rank)] = 0, rank);
  while (!queue.empty()) {
    const auto [here, at] = queue.top();
    queue.pop();
    if (here > length[index(at)]) continue;
    for (const auto& [peer, bytes] : exchanges[index(at)]) {
      const double there = here + std::pow(most / (bytes.first + bytes.second), length_power);
      if (there >= length[index(peer)]) continue;
      length[index(peer)] = there;
      queue.emplace(there, peer);
    }
  }
  return length;
}

/// One of those with the least value, all with the same chance.
class Drawn {
 public:
  explicit Drawn(Rng& rng) : rng_(rng) {}

  void offer(int candidate, double value) {
    const double slack = equal * std::abs(least_);
    if (chosen_ >= 0 && value > least_ + slack) return;
    equals_ = chosen_ >= 0 && value >= least_ - slack ? equals_ + 1 : 1;
    if (equals_ > 1 && rng_.below(equals_) > 0) return;
    chosen_ = candidate;
    least_ = value;
  }
  [[nodiscard]] int chosen() const { return chosen_; }

 private:
  Rng& rng_;
  int chosen_ = -1;
  double least_ = 0;
  std::uint64_t equals_ = 0;
};

/// Mean of what is neither zero nor unreachable.
double mean_length(const std::vector<std::vector<double>>& lengths) {
  double sum = 0;
  double count = 0;
  for (const auto& row : lengths) {
    for (const double length : row) {
      if (length <= 0 || length == unreachable) continue;
      sum += length;
      ++count;
    }
  }
  return count > 0 ? sum / count : 1;
}

}  // namespace

PairAnnealing::PairAnnealing(int ranks, int units, const Neighbourhood& near)
    : near_(near), units_(index(units)), constant_(index(ranks), 0), unit_of_rank_(index(ranks)) {
  std::iota(unit_of_rank_.begin(), unit_of_rank_.end(), 0);
}

PairAnnealing PairAnnealing::work_of(const RoutedShares& shares, const Workload& work, const Neighbourhood& near) {
  PairAnnealing made(work.ranks, shares.units(), near);
  const std::vector<double> one_way = work_table(shares);
  for (std::size_t from = 0; from < made.units_; ++from) {
    for (std::size_t to = 0; to < made.units_; ++to) {
      made.table_.push_back(Two{one_way[from * made.units_ + to], one_way[to * made.units_ + from]});
    }
  }
  for (const auto& of_rank : exchanges_of(work)) {
    made.begin_.push_back(made.peers_.size());
    std::vector<int>& aims = made.near_ranks_.emplace_back();
    for (const auto& [peer, bytes] : of_rank) {
      made.peers_.push_back(peer);
      made.weights_.push_back(Two{bytes.first, bytes.second});
      aims.push_back(peer);
    }
  }
  made.begin_.push_back(made.peers_.size());
  made.assign(std::vector<int>(made.unit_of_rank_));
  return made;
}

PairAnnealing PairAnnealing::stress_of(const RoutedShares& shares, const Workload& work,
                                       const Neighbourhood& near) {
  PairAnnealing made(work.ranks, shares.units(), near);
  const BytesOfPeers exchanges = exchanges_of(work);
  const double most = most_bytes(exchanges);
  std::vector<std::vector<double>> lengths;
  for (int rank = 0; rank < work.ranks; ++rank) lengths.push_back(lengths_from(rank, exchanges, most));
  const std::vector<double> one_way = work_table(shares);
  std::vector<std::vector<double>> distances(1, one_way);
  const double scale = mean_length(lengths) / mean_length(distances);
  for (std::size_t from = 0; from < made.units_; ++from) {
    for (std::size_t to = 0; to < made.units_; ++to) {
      const double distance = scale * (one_way[from * made.units_ + to] + one_way[to * made.units_ + from]) / 2;
      made.table_.push_back(Two{distance, distance * distance});
    }
  }
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    made.begin_.push_back(made.peers_.size());
    std::vector<int>& aims = made.near_ranks_.emplace_back();
    for (const auto& [peer, bytes] : exchanges[rank]) aims.push_back(peer);
    for (std::size_t peer = 0; peer < lengths.size(); ++peer) {
      const double length = lengths[rank][peer];
      if (peer == rank || length == unreachable) continue;
      made.peers_.push_back(static_cast<int>(peer));
      made.weights_.push_back(Two{-2 / length, 1 / (length * length)});
      made.constant_[rank] += 1;
    }
  }
  made.begin_.push_back(made.peers_.size());
  made.assign(std::vector<int>(made.unit_of_rank_));
  return made;
}

void PairAnnealing::assign(Assignment unit_of_rank) {
  unit_of_rank_.assign(unit_of_rank.begin(), unit_of_rank.end());
  rank_on_unit_.assign(units_, -1);
  double twice = 0;
  for (std::size_t rank = 0; rank < unit_of_rank_.size(); ++rank) {
    const int unit = unit_of_rank_[rank];
    rank_on_unit_[index(unit)] = static_cast<int>(rank);
    twice += constant_[rank];
    for (std::size_t p = begin_[rank]; p < begin_[rank + 1]; ++p) {
      twice += added(weights_[p] * row(unit)[unit_of_rank_[index(peers_[p])]]);
    }
  }
  sum_ = twice / 2;
}

void PairAnnealing::keep(std::span<const int> ranks) {
  kept_.assign(ranks.empty() ? 0 : unit_of_rank_.size(), 0);
  for (const int rank : ranks) kept_[index(rank)] = 1;
}

machine::UnitId PairAnnealing::least_added(int rank, Rng& rng) const {
  std::vector<Two> sums(units_, Two{});
  for (std::size_t p = begin_[index(rank)]; p < begin_[index(rank) + 1]; ++p) {
    const int peer = unit_of_rank_[index(peers_[p])];
    if (peer < 0) continue;
    for (std::size_t unit = 0; unit < units_; ++unit) sums[unit] += weights_[p] * row(peer)[unit];
  }
  Drawn least(rng);
  for (std::size_t unit = 0; unit < units_; ++unit) {
    const bool is_free = rank_on_unit_[unit] < 0 && near_.limits.is_open(static_cast<int>(unit));
    if (is_free) least.offer(static_cast<int>(unit), added(sums[unit]));
  }
  return least.chosen();
}

void PairAnnealing::grow(int rank, machine::UnitId unit, Rng& rng) {
  std::fill(unit_of_rank_.begin(), unit_of_rank_.end(), -1);
  rank_on_unit_.assign(units_, -1);
  std::vector<double> weight(unit_of_rank_.size(), 0);
  const auto put = [&] {
    unit_of_rank_[index(rank)] = unit;
    rank_on_unit_[index(unit)] = rank;
    for (std::size_t p = begin_[index(rank)]; p < begin_[index(rank) + 1]; ++p) {
      weight[index(peers_[p])] += weights_[p][1];
    }
  };
  const std::pair first(rank, unit);
  std::size_t placed = 0;
  for (const auto& [fixed, there] : near_.limits.rules().fixed) {
    std::tie(rank, unit) = std::pair(fixed, there);
    put();
    ++placed;
  }
  std::tie(rank, unit) = first;
  for (; placed < unit_of_rank_.size(); ++placed) {
    if (placed > 0) {
      Drawn heaviest(rng);
      for (std::size_t other = 0; other < weight.size(); ++other) {
        if (unit_of_rank_[other] < 0) heaviest.offer(static_cast<int>(other), -weight[other]);
      }
      rank = heaviest.chosen();
      unit = least_added(rank, rng);
    }
    put();
  }
  assign(near_.limits.repaired({unit_of_rank_}).unit_of_rank);
}

std::pair<int, machine::UnitId> PairAnnealing::alike(double place) const {
  std::vector<std::pair<double, int>> ranks;
  for (std::size_t rank = 0; rank < unit_of_rank_.size(); ++rank) {
    double sum = 0;
    for (std::size_t p = begin_[rank]; p < begin_[rank + 1]; ++p) sum -= 2 / weights_[p][0];
    ranks.emplace_back(sum, static_cast<int>(rank));
  }
  std::vector<std::pair<double, int>> units;
  for (std::size_t unit = 0; unit < units_; ++unit) {
    double sum = 0;
    for (std::size_t other = 0; other < units_; ++other) sum += row(static_cast<int>(unit))[other][0];
    units.emplace_back(sum, static_cast<int>(unit));
  }
  std::sort(ranks.begin(), ranks.end());
  std::sort(units.begin(), units.end());
  const auto at = [place](const auto& sorted) {
    return sorted[static_cast<std::size_t>(place * static_cast<double>(sorted.size() - 1))].second;
  };
  return {at(ranks), at(units)};
}

PairAnnealing::Moved PairAnnealing::moved(int rank, machine::UnitId unit, int except) const {
  const Two* there = row(unit);
  const Two* here = row(unit_of_rank_[index(rank)]);
  Two sum{};
  std::uint32_t pair = none;
  for (std::size_t p = begin_[index(rank)]; p < begin_[index(rank) + 1]; ++p) {
    if (peers_[p] == except) {
      pair = static_cast<std::uint32_t>(p);
      continue;
    }
    const int peer = unit_of_rank_[index(peers_[p])];
    sum += weights_[p] * (there[peer] - here[peer]);
  }
  return {added(sum), pair};
}

double PairAnnealing::difference(const Proposal& proposal) const {
  const int other = rank_on_unit_[index(proposal.unit)];
  const int left = unit_of_rank_[index(proposal.rank)];
  if (has_costs()) {
    const std::uint32_t pair = other < 0 ? none : costs_->pair(proposal.rank, other);
    return costs_->more(proposal.rank, left, other, proposal.unit) + turned(pair, left, proposal.unit);
  }
  const Moved one = moved(proposal.rank, proposal.unit, other);
  const double sum = other < 0 ? one.sum : one.sum + moved(other, left, proposal.rank).sum;
  return sum + turned(one.pair, left, proposal.unit);
}

void PairAnnealing::store_costs() {
  if (!costs_) {
    std::vector<PairCosts::Aspect> aspects(2);
    for (int k = 0; k < 2; ++k) {
      for (std::size_t at = 0; at < table_.size(); ++at) {
        const std::size_t peer = at / units_;
        aspects[index(k)].table.push_back(table_[at % units_ * units_ + peer][k]);
      }
      for (const Two& weight : weights_) aspects[index(k)].weights.push_back(weight[k]);
    }
    costs_.emplace(static_cast<int>(units_), begin_, peers_, std::move(aspects));
  }
  costs_->store(unit_of_rank_);
}

PairAnnealing::Proposal PairAnnealing::draw(Rng& rng) const {
  const Proposal drawn = draw_any(rng);
  const int here = unit_of_rank_[index(drawn.rank)];
  if (is_kept(drawn.rank) || is_kept(rank_on_unit_[index(drawn.unit)])) return {drawn.rank, here};
  const auto rank_on = [this](machine::UnitId at) { return rank_on_unit_[index(at)]; };
  return near_.limits.allows(drawn.rank, here, drawn.unit, rank_on) ? drawn : Proposal{drawn.rank, here};
}

PairAnnealing::Proposal PairAnnealing::draw_any(Rng& rng) const {
  const int rank = static_cast<int>(rng.fast_below(unit_of_rank_.size()));
  const std::vector<int>& aims = near_ranks_[index(rank)];
  if (aims.empty() || rng.fast_below(anywhere_every) == 0) return {rank, static_cast<int>(rng.fast_below(units_))};
  const int there = unit_of_rank_[index(aims[rng.fast_below(aims.size())])];
  const auto& near = near_.aims(there, true, rng);
  return {rank, near.empty() ? there : near[rng.fast_below(near.size())]};
}

void PairAnnealing::carry_out(const Proposal& proposal) {
  const int left = unit_of_rank_[index(proposal.rank)];
  const int other = rank_on_unit_[index(proposal.unit)];
  unit_of_rank_[index(proposal.rank)] = proposal.unit;
  rank_on_unit_[index(proposal.unit)] = proposal.rank;
  rank_on_unit_[index(left)] = other;
  if (other >= 0) unit_of_rank_[index(other)] = left;
  if (!has_costs()) return;
  costs_->moved(proposal.rank, left, proposal.unit);
  if (other >= 0) costs_->moved(other, proposal.unit, left);
}

std::uint64_t PairAnnealing::cool(std::uint64_t proposals, double hot, Rng& rng,
                                  const std::function<bool()>& should_stop) {
  std::vector<int> best = unit_of_rank_;
  double least = sum_;
  std::uint64_t done = 0;
  Acceptance acceptance;
  const std::uint64_t each = std::max<std::uint64_t>(1, proposals / steps);
  const double factor = std::pow(cooled, 1.0 / steps);
  for (std::uint64_t step = 0; step < steps && units_ > 1; ++step, hot *= factor) {
    if (should_stop && should_stop()) break;
    const double temperature = hot * std::max(sum_, 0.0) / static_cast<double>(unit_of_rank_.size());
    Acceptance in_step;
    for (std::uint64_t k = 0; k < each; ++k, ++done) {
      const Proposal proposal = draw(rng);
      if (near_.are_alike(unit_of_rank_[index(proposal.rank)], proposal.unit)) continue;
      ++in_step.looked_at;
      const double more = difference(proposal);
      if (more > 0 && exponential_is_less(more / temperature, rng)) continue;
      carry_out(proposal);
      ++in_step.accepted;
      sum_ += more;
      if (sum_ >= least) continue;
      least = sum_;
      best = unit_of_rank_;
    }
    if (!has_costs() && PairCosts::are_worth_storing(units_, in_step)) store_costs();
    acceptance.accepted += in_step.accepted;
    acceptance.looked_at += in_step.looked_at;
    if ((step + 1) % (steps / 16) == 0 && acceptance.is_frozen()) break;
  }
  if (costs_) costs_->drop();
  assign(best);
  return done;
}

}  // namespace corewise::place
