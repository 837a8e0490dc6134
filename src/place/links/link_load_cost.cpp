// Link load cost: incremental loads. See link_load_cost.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/links/link_load_cost.hpp"

#include <algorithm>
#include <numeric>

#include "base/index.hpp"

namespace corewise::place {

LinkLoadCost::LinkLoadCost(const RoutedShares& shares, const Workload& work)
    : shares_(shares.merged()), phases_(work.phases.size()), weights_(work.weights), exchanges_(index(work.ranks)) {
  for (std::size_t phase = 0; phase < phases_; ++phase) {
    for (const Traffic& traffic : work.phases[phase]) {
      const Exchange exchange{traffic.from, traffic.to, traffic.bytes, phase * index(shares_.links())};
      exchanges_[index(traffic.from)].push_back(exchange);
      exchanges_[index(traffic.to)].push_back(exchange);
    }
  }
  std::vector<int> identity(index(work.ranks));
  std::iota(identity.begin(), identity.end(), 0);
  assign(identity);
}

void LinkLoadCost::assign(Assignment unit_of_rank) {
  unit_of_rank_.assign(unit_of_rank.begin(), unit_of_rank.end());
  rank_on_unit_.assign(index(shares_.units()), -1);
  load_parts_.assign(phases_ * index(shares_.links()), 0);
  hop_bytes_ = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    rank_on_unit_[index(unit_of_rank_[index(rank)])] = rank;
    for (const Exchange& exchange : exchanges_[index(rank)]) {
      if (exchange.from == rank) count(exchange, true);
    }
  }
}

// Unsigned wrap-around makes subtraction exact too: what was added is taken out again.
void LinkLoadCost::count(const Exchange& exchange, bool add) {
  const int from = unit_of_rank_[index(exchange.from)];
  const int to = unit_of_rank_[index(exchange.to)];
  const std::uint64_t bytes = add ? exchange.bytes : 0 - exchange.bytes;
  hop_bytes_ += bytes * static_cast<std::uint64_t>(shares_.hops(from, to));
  std::uint64_t* load = load_parts_.data() + exchange.phase_start;
  for (const Share& share : shares_.shares(from, to)) load[share.link] += bytes * share.parts;
}

void LinkLoadCost::count_all(int rank, int except, bool add) {
  for (const Exchange& exchange : exchanges_[index(rank)]) {
    if (exchange.from != except && exchange.to != except) count(exchange, add);
  }
}

void LinkLoadCost::relocate(int rank, machine::UnitId unit) {
  const int left = unit_of_rank_[index(rank)];
  if (left == unit) return;
  const int other = rank_on_unit_[index(unit)];
  count_all(rank, -1, false);
  if (other >= 0) count_all(other, rank, false);
  unit_of_rank_[index(rank)] = unit;
  rank_on_unit_[index(unit)] = rank;
  rank_on_unit_[index(left)] = other;
  if (other >= 0) unit_of_rank_[index(other)] = left;
  count_all(rank, -1, true);
  if (other >= 0) count_all(other, rank, true);
}

Score LinkLoadCost::score() {
  const std::uint64_t* load = load_parts_.data();
  double sum_ns = 0;
  for (std::size_t phase = 0; phase < phases_; ++phase, load += shares_.links()) {
    double most_ns = 0;
    if (shares_.has_uniform_bandwidth() && shares_.links() > 0) {
      most_ns = shares_.time_ns(*std::max_element(load, load + shares_.links()), 0);
    } else {
      for (int link = 0; link < shares_.links(); ++link)
        most_ns = std::max(most_ns, shares_.time_ns(load[link], link));
    }
    sum_ns += weights_.empty() ? most_ns : weights_[phase] * most_ns;
  }
  return {sum_ns, static_cast<double>(hop_bytes_)};
}

double LinkLoadCost::guide() {
  const std::uint64_t* load = load_parts_.data();
  double sum = 0;
  for (std::size_t phase = 0; phase < phases_; ++phase, load += shares_.links()) {
    const double weight = weights_.empty() ? 1.0 : weights_[phase];
    for (int link = 0; link < shares_.links(); ++link) {
      const double time_ns = shares_.time_ns(load[link], link);
      sum += weight * time_ns * time_ns;
    }
  }
  return sum;
}

}  // namespace corewise::place
