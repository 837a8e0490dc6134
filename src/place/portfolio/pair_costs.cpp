// Pair costs: stored sums. See pair_costs.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/pair_costs.hpp"

#include <algorithm>
#include <utility>

#include "base/index.hpp"

namespace corewise::place {

PairCosts::PairCosts(int units, std::vector<std::size_t> begin, std::vector<int> peers, std::vector<Aspect> aspects)
    : units_(index(units)),
      ranks_(begin.size() - 1),
      begin_(std::move(begin)),
      peers_(std::move(peers)),
      aspects_(std::move(aspects)),
      changes_(2, std::vector<double>(units_)) {
  if (aspects_.front().table != aspects_.back().table) return;
  for (; aspects_.size() > 1; aspects_.pop_back()) {
    for (std::size_t p = 0; p < peers_.size(); ++p) aspects_.front().weights[p] += aspects_.back().weights[p];
  }
}

void PairCosts::store(Assignment unit_of_rank) {
  if (pair_at_.empty()) {
    pair_at_.assign(ranks_ * ranks_, none);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      for (std::size_t p = begin_[rank]; p < begin_[rank + 1]; ++p) {
        pair_at_[rank * ranks_ + index(peers_[p])] = static_cast<std::uint32_t>(p);
      }
    }
  }
  costs_.assign(ranks_ * units_, 0);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    for (std::size_t k = 0; k < aspects_.size(); ++k) {
      std::copy_n(aspects_[k].row(unit_of_rank[rank], units_), units_, changes_[k].data());
    }
    change_peers(static_cast<int>(rank));
  }
}

void PairCosts::moved(int rank, machine::UnitId from, machine::UnitId to) {
  for (std::size_t k = 0; k < aspects_.size(); ++k) {
    const double* const left = aspects_[k].row(from, units_);
    const double* const taken = aspects_[k].row(to, units_);
    for (std::size_t unit = 0; unit < units_; ++unit) changes_[k][unit] = taken[unit] - left[unit];
  }
  change_peers(rank);
}

void PairCosts::change_peers(int rank) {
  const double* const first = changes_.front().data();
  const double* const second = changes_.back().data();
  for (std::size_t p = begin_[index(rank)]; p < begin_[index(rank) + 1]; ++p) {
    const std::size_t pair_of_peer = pair(peers_[p], rank);
    double* const costs = costs_.data() + index(peers_[p]) * units_;
    const double one = aspects_.front().weights[pair_of_peer];
    if (aspects_.size() == 1) {
      for (std::size_t unit = 0; unit < units_; ++unit) costs[unit] += one * first[unit];
      continue;
    }
    const double other = aspects_.back().weights[pair_of_peer];
    for (std::size_t unit = 0; unit < units_; ++unit) costs[unit] += one * first[unit] + other * second[unit];
  }
}

/// Each was taken to go where the other still is.
double PairCosts::of_the_pair(int rank, machine::UnitId left, int other, machine::UnitId unit) const {
  const std::uint32_t one = pair(rank, other);
  if (one == none) return 0;
  const std::uint32_t two = pair(other, rank);
  double sum = 0;
  for (const Aspect& aspect : aspects_) {
    const double* const here = aspect.row(left, units_);
    const double* const there = aspect.row(unit, units_);
    sum += aspect.weights[one] * (there[unit] - there[left]) + aspect.weights[two] * (here[left] - here[unit]);
  }
  return sum;
}

}  // namespace corewise::place
