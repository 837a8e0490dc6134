// Smooth loads: loads, powers, proposals. See smooth_loads.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/smooth_loads.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/index.hpp"

namespace corewise::place {

namespace {

/// Sums of terms that come and go collect rounding errors: after so many changes they are added up anew.
constexpr int most_accepted = 1024;

}  // namespace

SmoothLoads::SmoothLoads(const RoutedShares& shares, const Workload& work)
    : shares_(shares),
      links_(std::max<std::size_t>(1, index(shares.links()))),
      unit_of_rank_(index(work.ranks)),
      moving_(index(work.ranks), 0) {
  std::vector<std::vector<Exchange>> of_rank(index(work.ranks));
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    weights_.push_back(work.weight(phase));
    for (int link = 0; link < shares.links(); ++link) ns_per_part_.push_back(shares.time_ns(1, link));
    ns_per_part_.resize(weights_.size() * links_, 0);
    for (const Traffic& each : work.phases[phase]) {
      of_rank[index(each.from)].push_back({each.to, true, static_cast<std::uint32_t>(phase), each.bytes});
      of_rank[index(each.to)].push_back({each.from, false, static_cast<std::uint32_t>(phase), each.bytes});
    }
  }
  for (const auto& list : of_rank) {
    first_.push_back(exchanges_.size());
    exchanges_.insert(exchanges_.end(), list.begin(), list.end());
    std::vector<int> peers;
    for (const Exchange& each : list) peers.push_back(each.peer);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    first_peer_.push_back(peers_.size());
    peers_.insert(peers_.end(), peers.begin(), peers.end());
  }
  first_.push_back(exchanges_.size());
  first_peer_.push_back(peers_.size());
  const std::size_t loads = work.phases.size() * links_;
  difference_.assign(loads, 0);
  touched_.assign(loads, 0);
  next_sum_.assign(work.phases.size(), 0);
  std::iota(unit_of_rank_.begin(), unit_of_rank_.end(), 0);
  assign(std::vector<int>(unit_of_rank_));
}

std::span<const int> SmoothLoads::peers_of(int rank) const {
  const std::size_t at = first_peer_[index(rank)];
  return {peers_.data() + at, first_peer_[index(rank) + 1] - at};
}

std::span<const Share> SmoothLoads::shares_of(int rank, const Exchange& exchange,
                                              const std::vector<int>& unit_of_rank) const {
  const int here = unit_of_rank[index(rank)];
  const int there = unit_of_rank[index(exchange.peer)];
  return exchange.outgoing ? shares_.shares(here, there) : shares_.shares(there, here);
}

void SmoothLoads::assign(Assignment unit_of_rank) {
  unit_of_rank_.assign(unit_of_rank.begin(), unit_of_rank.end());
  rank_on_unit_.assign(index(units()), -1);
  load_.assign(difference_.size(), 0);
  for (int rank = 0; rank < ranks(); ++rank) {
    rank_on_unit_[index(unit_of_rank_[index(rank)])] = rank;
    for (std::size_t e = first_[index(rank)]; e < first_[index(rank) + 1]; ++e) {
      const Exchange& exchange = exchanges_[e];
      if (!exchange.outgoing) continue;
      std::uint64_t* load = load_.data() + exchange.phase * links_;
      for (const Share& share : shares_of(rank, exchange, unit_of_rank_))
        load[share.link] += exchange.bytes * share.parts;
    }
  }
  next_unit_of_rank_ = unit_of_rank_;
  settle_smooth();
}

void SmoothLoads::set_power(int doublings) {
  doublings_ = doublings;
  settle_smooth();
}

double SmoothLoads::power_of(double time_ns) const {
  for (int k = 0; k < doublings_; ++k) time_ns *= time_ns;
  return time_ns;
}

double SmoothLoads::root_of(double sum) const {
  sum = std::max(sum, 0.0);
  for (int k = 0; k < doublings_; ++k) sum = std::sqrt(sum);
  return sum;
}

void SmoothLoads::settle_smooth() {
  term_.resize(load_.size());
  sum_.assign(weights_.size(), 0);
  smooth_ = 0;
  for (std::size_t phase = 0; phase < sum_.size(); ++phase) {
    for (std::size_t at = phase * links_; at < (phase + 1) * links_; ++at) {
      term_[at] = power_of(time_of(at, load_[at]));
      sum_[phase] += term_[at];
    }
    smooth_ += weights_[phase] * root_of(sum_[phase]);
  }
  accepted_ = 0;
}

double SmoothLoads::bottleneck_ns() const {
  double sum = 0;
  for (std::size_t phase = 0; phase < weights_.size(); ++phase) {
    double most = 0;
    for (std::size_t link = 0; link < links_; ++link) {
      most = std::max(most, time_of(phase * links_ + link, load_[phase * links_ + link]));
    }
    sum += weights_[phase] * most;
  }
  return sum;
}

void SmoothLoads::count(std::span<const Share> shares, std::uint32_t phase, std::uint64_t bytes) {
  const std::size_t start = phase * links_;
  for (const Share& share : shares) {
    const std::size_t at = start + index(share.link);
    if (!touched_[at]) {
      touched_[at] = 1;
      changes_.push_back({static_cast<std::uint32_t>(at), phase});
    }
    difference_[at] += bytes * share.parts;
  }
}

void SmoothLoads::count_moved(int rank) {
  for (std::size_t e = first_[index(rank)]; e < first_[index(rank) + 1]; ++e) {
    const Exchange& exchange = exchanges_[e];
    // Between two ranks that both move, the sender's entry stands for the message.
    if (!exchange.outgoing && moving_[index(exchange.peer)]) continue;
    count(shares_of(rank, exchange, unit_of_rank_), exchange.phase, 0 - exchange.bytes);
    count(shares_of(rank, exchange, next_unit_of_rank_), exchange.phase, exchange.bytes);
  }
}

double SmoothLoads::propose(std::span<const Relocation> moves) {
  for (const Change& change : changes_) {
    difference_[change.at] = 0;
    touched_[change.at] = 0;
  }
  changes_.clear();
  for (const Relocation& move : moves_) next_unit_of_rank_[index(move.rank)] = unit_of_rank_[index(move.rank)];
  moves_.assign(moves.begin(), moves.end());
  for (const Relocation& move : moves) {
    moving_[index(move.rank)] = 1;
    next_unit_of_rank_[index(move.rank)] = move.unit;
  }
  for (const Relocation& move : moves) count_moved(move.rank);
  for (const Relocation& move : moves) moving_[index(move.rank)] = 0;
  for (const std::uint32_t phase : next_phases_) next_sum_[phase] = 0;
  next_phases_.clear();
  std::size_t kept = 0;
  for (const Change& change : changes_) {
    if (difference_[change.at] == 0) {
      touched_[change.at] = 0;
      continue;
    }
    changes_[kept++] = change;
    if (next_phases_.empty() || next_phases_.back() != change.phase) next_phases_.push_back(change.phase);
    next_sum_[change.phase] +=
        power_of(time_of(change.at, load_[change.at] + difference_[change.at])) - term_[change.at];
  }
  changes_.resize(kept);
  std::sort(next_phases_.begin(), next_phases_.end());
  next_phases_.erase(std::unique(next_phases_.begin(), next_phases_.end()), next_phases_.end());
  next_smooth_ = smooth_;
  for (const std::uint32_t phase : next_phases_) {
    next_smooth_ += weights_[phase] * (root_of(sum_[phase] + next_sum_[phase]) - root_of(sum_[phase]));
  }
  return next_smooth_;
}

bool SmoothLoads::proposal_is_flatter() {
  double difference_ns = 0;
  for (const std::uint32_t phase : next_phases_) {
    double before = 0;
    double after = 0;
    for (std::size_t at = phase * links_; at < (phase + 1) * links_; ++at) {
      before = std::max(before, time_of(at, load_[at]));
      after = std::max(after, time_of(at, load_[at] + difference_[at]));
    }
    difference_ns += weights_[phase] * (after - before);
  }
  if (difference_ns != 0) return difference_ns < 0;
  before_.clear();
  after_.clear();
  for (const Change& change : changes_) {
    before_.push_back(weights_[change.phase] * time_of(change.at, load_[change.at]));
    after_.push_back(weights_[change.phase] * time_of(change.at, load_[change.at] + difference_[change.at]));
  }
  std::sort(before_.begin(), before_.end(), std::greater<>());
  std::sort(after_.begin(), after_.end(), std::greater<>());
  return after_ < before_;
}

void SmoothLoads::accept() {
  for (const Relocation& move : moves_) {
    const int left = unit_of_rank_[index(move.rank)];
    if (rank_on_unit_[index(left)] == move.rank) rank_on_unit_[index(left)] = -1;
    unit_of_rank_[index(move.rank)] = move.unit;
    rank_on_unit_[index(move.unit)] = move.rank;
  }
  for (const Change& change : changes_) {
    load_[change.at] += difference_[change.at];
    term_[change.at] = power_of(time_of(change.at, load_[change.at]));
    difference_[change.at] = 0;
    touched_[change.at] = 0;
  }
  changes_.clear();
  moves_.clear();
  for (const std::uint32_t phase : next_phases_) sum_[phase] += next_sum_[phase];
  smooth_ = next_smooth_;
  if (++accepted_ >= most_accepted) settle_smooth();
}

std::int64_t SmoothLoads::slowest() const {
  std::int64_t found = -1;
  double most = 0;
  for (std::size_t at = 0; at < load_.size(); ++at) {
    const double time_ns = weights_[at / links_] * time_of(at, load_[at]);
    if (time_ns <= most) continue;
    most = time_ns;
    found = static_cast<std::int64_t>(at);
  }
  return found;
}

bool SmoothLoads::loads(int rank, std::int64_t place) const {
  const auto phase = static_cast<std::uint32_t>(static_cast<std::size_t>(place) / links_);
  const int link = static_cast<int>(static_cast<std::size_t>(place) % links_);
  for (std::size_t e = first_[index(rank)]; e < first_[index(rank) + 1]; ++e) {
    if (exchanges_[e].phase != phase) continue;
    for (const Share& share : shares_of(rank, exchanges_[e], unit_of_rank_)) {
      if (share.link == link) return true;
    }
  }
  return false;
}

}  // namespace corewise::place
