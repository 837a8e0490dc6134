// Smooth loads: link loads of a current placement under one number that moves can be compared by, and what any
// exchange of ranks would do to it. Owns the loads.
//
// The number is, summed over the phases, weight times the power mean norm (sum over links of t^p)^(1/p), t the time
// of a link. With p = 1 it is the work of all links together, a kind of hop-bytes that counts slow links more; the
// larger p, the nearer to the bottleneck, but never blind to the links below the worst one. Beside it stands the
// exact order that ends every search: bottleneck first, then all loads compared from the largest down.
//
// Invariant: loads are the exact integers that evaluate() would count, whatever the moves that led there. The same
// moves give the same numbers to the last bit.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "place/cost.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

/// A rank and the unit that it goes to.
struct Relocation {
  int rank = 0;
  machine::UnitId unit = 0;
};

class SmoothLoads {
 public:
  /// `shares`: merged, outlives this. Requires check_fits. Starts with rank r on unit r and power 8.
  SmoothLoads(const RoutedShares& shares, const Workload& work);

  [[nodiscard]] int ranks() const { return static_cast<int>(unit_of_rank_.size()); }
  [[nodiscard]] int units() const { return shares_.units(); }
  [[nodiscard]] Assignment assignment() const { return unit_of_rank_; }
  /// -1: nobody.
  [[nodiscard]] int rank_on(machine::UnitId unit) const { return rank_on_unit_[static_cast<std::size_t>(unit)]; }
  /// Ranks that this one exchanges messages with, each once.
  [[nodiscard]] std::span<const int> peers_of(int rank) const;

  void assign(Assignment unit_of_rank);
  /// p = 2^doublings, 0 to 5.
  void set_power(int doublings);

  [[nodiscard]] double smooth() const { return smooth_; }
  /// The sum over the phases of weight times the time of the slowest link, ns.
  [[nodiscard]] double bottleneck_ns() const;

  /// What smooth() would be after these relocations: of different ranks, to units that they leave among themselves
  /// or that are free. Nothing is changed until accept().
  double propose(std::span<const Relocation> moves);
  /// Whether the loads after the proposed relocations are less: the bottleneck, then all loads from the largest
  /// down.
  [[nodiscard]] bool proposal_is_flatter();
  /// Carries out what was proposed last.
  void accept();

  /// The phase and link that take longest, each phase counted with its weight; -1 where nothing is carried.
  [[nodiscard]] std::int64_t slowest() const;
  /// Whether messages of a rank load that link in that phase, as numbered by slowest().
  [[nodiscard]] bool loads(int rank, std::int64_t place) const;

 private:
  struct Exchange {
    int peer;
    bool outgoing;
    std::uint32_t phase;
    std::uint64_t bytes;
  };
  struct Change {
    std::uint32_t at;  ///< [phase][link]
    std::uint32_t phase;
  };

  [[nodiscard]] std::span<const Share> shares_of(int rank, const Exchange& exchange,
                                                 const std::vector<int>& unit_of_rank) const;
  void count(std::span<const Share> shares, std::uint32_t phase, std::uint64_t bytes);
  void count_moved(int rank);
  void settle_smooth();
  [[nodiscard]] double power_of(double time_ns) const;
  [[nodiscard]] double root_of(double sum) const;
  [[nodiscard]] double time_of(std::size_t at, std::uint64_t load) const {
    return static_cast<double>(load) * ns_per_part_[at];
  }

  const RoutedShares& shares_;
  std::size_t links_;
  std::vector<double> weights_;
  std::vector<double> ns_per_part_;  ///< [phase][link]
  int doublings_ = 3;
  std::vector<std::size_t> first_;  ///< per rank into exchanges_, one more at the end
  std::vector<Exchange> exchanges_;
  std::vector<std::size_t> first_peer_;
  std::vector<int> peers_;
  std::vector<int> unit_of_rank_;
  std::vector<int> rank_on_unit_;
  std::vector<std::uint64_t> load_;  ///< [phase][link]
  std::vector<double> term_;         ///< time to the power, of every load
  std::vector<double> sum_;          ///< of the terms of a phase
  double smooth_ = 0;
  // Of the proposal.
  std::vector<int> next_unit_of_rank_;
  std::vector<char> moving_;
  std::vector<Relocation> moves_;
  std::vector<std::uint64_t> difference_;  ///< of a load; unsigned wrap-around makes it exact
  std::vector<char> touched_;
  std::vector<Change> changes_;
  std::vector<double> next_sum_;
  std::vector<std::uint32_t> next_phases_;
  std::vector<double> before_, after_;
  double next_smooth_ = 0;
  int accepted_ = 0;
};

}  // namespace corewise::place
