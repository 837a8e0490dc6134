// Work annealing: tables, proposals, cooling. See work_annealing.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/work_annealing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace corewise::place {

namespace {

constexpr std::uint64_t steps = 256;
/// The last temperature over the first.
constexpr double cooled = 0.05;

std::size_t index(int value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

WorkAnnealing::WorkAnnealing(const RoutedShares& shares, const Workload& work, const Neighbourhood& near)
    : near_(near),
      units_(index(shares.units())),
      out_(units_ * units_, 0),
      in_(units_ * units_, 0),
      unit_of_rank_(index(work.ranks)) {
  for (int from = 0; from < shares.units(); ++from) {
    for (int to = 0; to < shares.units(); ++to) {
      double ns = 0;
      for (const Share& share : shares.shares(from, to)) ns += shares.time_ns(share.parts, share.link);
      out_[index(from) * units_ + index(to)] = in_[index(to) * units_ + index(from)] = ns;
    }
  }
  std::vector<std::map<int, std::pair<double, double>>> peers(index(work.ranks));
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    for (const Traffic& each : work.phases[phase]) {
      const double bytes = work.weight(phase) * static_cast<double>(each.bytes);
      peers[index(each.from)][each.to].first += bytes;
      peers[index(each.to)][each.from].second += bytes;
    }
  }
  for (const auto& of_rank : peers) {
    first_.push_back(exchanges_.size());
    for (const auto& [peer, bytes] : of_rank) exchanges_.push_back({peer, bytes.first, bytes.second});
  }
  first_.push_back(exchanges_.size());
  std::vector<int> identity(unit_of_rank_.size());
  std::iota(identity.begin(), identity.end(), 0);
  assign(identity);
}

void WorkAnnealing::assign(Assignment unit_of_rank) {
  unit_of_rank_.assign(unit_of_rank.begin(), unit_of_rank.end());
  rank_on_unit_.assign(units_, -1);
  work_ns_ = 0;
  for (std::size_t rank = 0; rank < unit_of_rank_.size(); ++rank) {
    const int unit = unit_of_rank_[rank];
    rank_on_unit_[index(unit)] = static_cast<int>(rank);
    const double* out = row(out_, unit);
    for (std::size_t e = first_[rank]; e < first_[rank + 1]; ++e) {
      work_ns_ += exchanges_[e].out * out[unit_of_rank_[index(exchanges_[e].peer)]];
    }
  }
}

double WorkAnnealing::moved(int rank, machine::UnitId unit, int except) const {
  const int left = unit_of_rank_[index(rank)];
  const double* out_there = row(out_, unit);
  const double* out_here = row(out_, left);
  const double* in_there = row(in_, unit);
  const double* in_here = row(in_, left);
  double sum = 0;
  for (std::size_t e = first_[index(rank)]; e < first_[index(rank) + 1]; ++e) {
    const Exchange& each = exchanges_[e];
    if (each.peer == except) continue;
    const int peer = unit_of_rank_[index(each.peer)];
    sum += each.out * (out_there[peer] - out_here[peer]) + each.in * (in_there[peer] - in_here[peer]);
  }
  return sum;
}

double WorkAnnealing::difference(const Proposal& proposal) const {
  const int other = rank_on_unit_[index(proposal.unit)];
  double sum = moved(proposal.rank, proposal.unit, other);
  if (other < 0) return sum;
  const int left = unit_of_rank_[index(proposal.rank)];
  sum += moved(other, left, proposal.rank);
  // Between the two the ways change places.
  for (std::size_t e = first_[index(proposal.rank)]; e < first_[index(proposal.rank) + 1]; ++e) {
    if (exchanges_[e].peer != other) continue;
    const double there = row(out_, left)[proposal.unit];
    const double back = row(in_, left)[proposal.unit];
    sum += (exchanges_[e].out - exchanges_[e].in) * (back - there);
  }
  return sum;
}

WorkAnnealing::Proposal WorkAnnealing::draw(Rng& rng) const {
  const int rank = static_cast<int>(rng.below(unit_of_rank_.size()));
  const std::size_t peers = first_[index(rank) + 1] - first_[index(rank)];
  if (peers == 0 || rng.below(2) == 0) return {rank, static_cast<int>(rng.below(units_))};
  const int peer = exchanges_[first_[index(rank)] + rng.below(peers)].peer;
  const auto& near = near_.near[index(unit_of_rank_[index(peer)])];
  return {rank, near[rng.below(near.size())]};
}

void WorkAnnealing::carry_out(const Proposal& proposal) {
  const int left = unit_of_rank_[index(proposal.rank)];
  const int other = rank_on_unit_[index(proposal.unit)];
  unit_of_rank_[index(proposal.rank)] = proposal.unit;
  rank_on_unit_[index(proposal.unit)] = proposal.rank;
  rank_on_unit_[index(left)] = other;
  if (other >= 0) unit_of_rank_[index(other)] = left;
}

std::uint64_t WorkAnnealing::cool(std::uint64_t proposals, double hot, Rng& rng,
                                  const std::function<bool()>& should_stop) {
  std::vector<int> best = unit_of_rank_;
  double least = work_ns_;
  std::uint64_t done = 0;
  const std::uint64_t each = std::max<std::uint64_t>(1, proposals / steps);
  const double factor = std::pow(cooled, 1.0 / steps);
  for (std::uint64_t step = 0; step < steps && units_ > 1; ++step, hot *= factor) {
    if (should_stop && should_stop()) break;
    const double temperature = hot * work_ns_ / static_cast<double>(unit_of_rank_.size());
    for (std::uint64_t k = 0; k < each; ++k, ++done) {
      const Proposal proposal = draw(rng);
      if (unit_of_rank_[index(proposal.rank)] == proposal.unit) continue;
      const double more = difference(proposal);
      if (more > 0 && more > -std::log(1 - rng.uniform()) * temperature) continue;
      carry_out(proposal);
      work_ns_ += more;
      if (work_ns_ >= least) continue;
      least = work_ns_;
      best = unit_of_rank_;
    }
  }
  assign(best);
  return done;
}

}  // namespace corewise::place
