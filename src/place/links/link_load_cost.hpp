// Link load cost: bottleneck and hop-bytes of a current placement, kept up to date move by move. Owns the loads.
//
// Invariant: loads are the exact integers that evaluate() would count for the current placement, whatever the
// moves that led there; a move touches only the links of the messages of the ranks that moved.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "place/cost.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

class LinkLoadCost final : public IncrementalCost {
 public:
  /// Requires check_fits(shares, work). Starts with rank r on unit r. Merges the links itself.
  LinkLoadCost(const RoutedShares& shares, const Workload& work);

  [[nodiscard]] int ranks() const override { return static_cast<int>(unit_of_rank_.size()); }
  [[nodiscard]] int units() const override { return shares_.units(); }
  void assign(Assignment unit_of_rank) override;
  [[nodiscard]] Assignment assignment() const override { return unit_of_rank_; }
  void relocate(int rank, machine::UnitId unit) override;
  [[nodiscard]] Score score() override;
  /// Sum over links and phases of the squared load time: falls when load spreads.
  [[nodiscard]] double guide() override;

 private:
  struct Exchange {
    int from;
    int to;
    std::uint64_t bytes;
    std::size_t phase_start;  ///< index of the phase's first load
  };

  void count(const Exchange& exchange, bool add);
  void count_all(int rank, int except, bool add);

  RoutedShares shares_;
  std::size_t phases_;
  std::vector<double> weights_;  ///< per phase; empty: all 1
  std::vector<int> unit_of_rank_;
  std::vector<int> rank_on_unit_;                 ///< -1: empty
  std::vector<std::vector<Exchange>> exchanges_;  ///< per rank, both directions
  std::vector<std::uint64_t> load_parts_;         ///< [phase][link]
  std::uint64_t hop_bytes_ = 0;
};

}  // namespace corewise::place
