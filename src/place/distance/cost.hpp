// Distance cost: the weighted distance J (distance.hpp) as a cost that follows single moves. A move costs time in
// proportion to the peers of the ranks that move.
//
// Contract: sums are kept as integers, so equal placements have equal scores, bit for bit. Distances are rounded to
// a power of two that keeps the largest possible J below 2^61: whole distances stay exact unless bytes times
// distance exceeds that. The secondary score is 0. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "place/cost.hpp"
#include "place/distance/distance.hpp"

namespace corewise::place {

class DistanceCost final : public IncrementalCost {
 public:
  /// Requires checked distances and 1 <= traffic.ranks <= distances.units. Keeps a reference to `traffic`.
  DistanceCost(const PairTraffic& traffic, const Distances& distances);

  [[nodiscard]] int ranks() const override { return traffic_.ranks; }
  [[nodiscard]] int units() const override { return units_; }
  void assign(Assignment unit_of_rank) override;
  [[nodiscard]] Assignment assignment() const override { return unit_of_rank_; }
  void relocate(int rank, machine::UnitId unit) override;
  [[nodiscard]] Score score() override { return {static_cast<double>(sum_) * unit_of_sum_, 0}; }

 private:
  [[nodiscard]] std::int64_t distance(int a, int b) const {
    return distance_[static_cast<std::size_t>(a) * static_cast<std::size_t>(units_) + static_cast<std::size_t>(b)];
  }
  [[nodiscard]] std::int64_t terms(int rank) const;
  void put(int rank, machine::UnitId unit);

  const PairTraffic& traffic_;
  int units_;
  std::vector<std::int64_t> distance_;
  double unit_of_sum_ = 1;
  std::vector<machine::UnitId> unit_of_rank_;
  std::vector<int> rank_at_;  ///< -1 where empty
  std::int64_t sum_ = 0;
};

}  // namespace corewise::place
