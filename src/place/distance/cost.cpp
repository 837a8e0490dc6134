// Distance cost: integers, and the terms that a move changes. See cost.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/cost.hpp"

#include <algorithm>
#include <cmath>

namespace corewise::place {

DistanceCost::DistanceCost(const PairTraffic& traffic, const Distances& distances)
    : traffic_(traffic), units_(distances.units), rank_at_(static_cast<std::size_t>(distances.units), -1) {
  double bytes = 0;
  for (const PairTraffic::Peer& peer : traffic.peers) bytes += static_cast<double>(peer.bytes);
  const double farthest = *std::max_element(distances.at.begin(), distances.at.end());
  // frexp: bytes * farthest < 2^exponent.
  int exponent = 0;
  std::frexp(std::max(1.0, bytes) * farthest, &exponent);
  const int shift = std::min(40, 60 - exponent);
  unit_of_sum_ = std::ldexp(1.0, -shift);
  for (const double value : distances.at) {
    distance_.push_back(static_cast<std::int64_t>(std::llround(std::ldexp(value, shift))));
  }
}

void DistanceCost::assign(Assignment unit_of_rank) {
  unit_of_rank_.assign(unit_of_rank.begin(), unit_of_rank.end());
  std::fill(rank_at_.begin(), rank_at_.end(), -1);
  std::int64_t twice = 0;
  for (int rank = 0; rank < traffic_.ranks; ++rank) {
    rank_at_[static_cast<std::size_t>(unit_of_rank[static_cast<std::size_t>(rank)])] = rank;
    twice += terms(rank);
  }
  sum_ = twice / 2;
}

std::int64_t DistanceCost::terms(int rank) const {
  const int here = unit_of_rank_[static_cast<std::size_t>(rank)];
  std::int64_t sum = 0;
  for (const PairTraffic::Peer& peer : traffic_.peers_of(rank)) {
    sum += peer.bytes * distance(here, unit_of_rank_[static_cast<std::size_t>(peer.rank)]);
  }
  return sum;
}

/// The rank alone; the sum follows.
void DistanceCost::put(int rank, machine::UnitId unit) {
  sum_ -= terms(rank);
  unit_of_rank_[static_cast<std::size_t>(rank)] = unit;
  sum_ += terms(rank);
  rank_at_[static_cast<std::size_t>(unit)] = rank;
}

void DistanceCost::relocate(int rank, machine::UnitId unit) {
  const machine::UnitId left = unit_of_rank_[static_cast<std::size_t>(rank)];
  if (left == unit) return;
  const int other = rank_at_[static_cast<std::size_t>(unit)];
  rank_at_[static_cast<std::size_t>(left)] = -1;
  put(rank, unit);
  if (other >= 0) put(other, left);
}

}  // namespace corewise::place
