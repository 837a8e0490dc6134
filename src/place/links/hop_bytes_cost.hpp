// Hop-bytes cost: the link loads with their scores exchanged, hop-bytes first and the bottleneck to choose among
// equals. Owns no load of its own.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "place/links/link_load_cost.hpp"

namespace corewise::place {

class HopBytesCost final : public IncrementalCost {
 public:
  /// Requires check_fits(shares, work).
  HopBytesCost(const RoutedShares& shares, const Workload& work) : loads_(shares, work) {}

  [[nodiscard]] int ranks() const override { return loads_.ranks(); }
  [[nodiscard]] int units() const override { return loads_.units(); }
  void assign(Assignment unit_of_rank) override { loads_.assign(unit_of_rank); }
  [[nodiscard]] Assignment assignment() const override { return loads_.assignment(); }
  void relocate(int rank, machine::UnitId unit) override { loads_.relocate(rank, unit); }
  [[nodiscard]] Score score() override {
    const Score score = loads_.score();
    return {score.secondary, score.primary};
  }

 private:
  LinkLoadCost loads_;
};

}  // namespace corewise::place
