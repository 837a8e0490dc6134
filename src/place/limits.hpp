// Limits: which placements a search may choose from. Owns three rules: ranks that are told where to run, units that
// must stay without a rank, and hardware threads of a core, which two ranks share only where no core is left idle
// (both would compute at half the speed, which no cost of links shows).
//
// The third rule says how many ranks a core gets: as evenly as the fixed ranks and the threads of each core let it,
// so a move to an unused unit may not make the ranks of the cores less even. Where threads may be shared freely
// every unit is a core of its own, and all three rules are one: ranks of a core between a least and a most number.
//
// Contract: immutable. Without any rule everything is allowed, and asking costs one branch.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"

namespace corewise::place {

/// What a user may ask for.
struct LimitRules {
  std::vector<std::pair<int, machine::UnitId>> fixed = {};  ///< rank, and where it runs
  std::vector<machine::UnitId> kept_free = {};              ///< units without a rank
  bool share_cores = false;                                 ///< two ranks on one core while another one idles
};

class Limits {
 public:
  /// No rule.
  Limits() = default;
  /// Refuses ranks and units that do not exist or stand twice, a rank on a unit that is kept free, and too few
  /// units.
  static Result<Limits> of(const machine::Machine& machine, int ranks, const LimitRules& rules);

  /// Whether there is any rule.
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(unit_of_fixed_.size()); }
  [[nodiscard]] int units() const { return static_cast<int>(open_.size()); }
  [[nodiscard]] bool is_fixed(int rank) const { return any_ && unit_of_fixed_[index(rank)] >= 0; }
  /// Where a fixed rank runs.
  [[nodiscard]] machine::UnitId unit_of(int rank) const { return unit_of_fixed_[index(rank)]; }
  /// Whether a rank that is not fixed may have the unit.
  [[nodiscard]] bool is_open(machine::UnitId unit) const { return !any_ || open_[index(unit)] != 0; }
  /// Whether there is more than one placement.
  [[nodiscard]] bool leaves_a_choice() const;

  /// Whether the rank on `left` may go to `unit`; a rank there takes `left`. `rank_on(unit)`: negative where
  /// nobody. Requires an allowed placement before.
  template <class RankOn>
  [[nodiscard]] bool allows(int rank, machine::UnitId left, machine::UnitId unit, const RankOn& rank_on) const {
    if (!any_ || left == unit) return true;
    if (is_fixed(rank) || !is_open(unit)) return false;
    const int from = core_[index(left)];
    const int to = core_[index(unit)];
    if (rank_on(unit) >= 0 || from == to) return true;
    return ranks_on(from, rank_on) > cores_[index(from)].least && ranks_on(to, rank_on) < cores_[index(to)].most;
  }
  /// A whole placement.
  [[nodiscard]] bool hold(std::span<const machine::UnitId> unit_of_rank) const;
  /// The same placement where it is allowed; else ranks that may not stay take units that are left, lowest first.
  /// A rank whose unit is a fixed one's takes what that one had.
  [[nodiscard]] machine::Placement repaired(const machine::Placement& placement) const;
  /// Ranks in ascending order on the lowest units that they may have.
  [[nodiscard]] machine::Placement in_order() const;
  /// Calls `visit` for every allowed placement until it answers false; whether it never did.
  bool for_each(const std::function<bool(std::span<const machine::UnitId>)>& visit) const;
  /// Whether a symmetry of the machine takes allowed placements to allowed ones, fixed ranks staying where they
  /// are.
  [[nodiscard]] bool kept_by(std::span<const machine::UnitId> image) const;

  [[nodiscard]] const LimitRules& rules() const { return rules_; }
  /// Cores of several units that the third rule is about; none where threads may be shared.
  [[nodiscard]] std::vector<std::vector<machine::UnitId>> cores() const;

  /// Ranks put on units one by one; fixed ranks first.
  class Filling {
   public:
    explicit Filling(const Limits& limits) : limits_(limits), ranks_on_(limits.cores_.size(), 0) {}
    void put(machine::UnitId unit) { count(unit, 1); }
    void take(machine::UnitId unit) { count(unit, -1); }
    /// Whether one more rank on the unit's core still leads to an allowed placement.
    [[nodiscard]] bool has_room(machine::UnitId unit) const;

   private:
    void count(machine::UnitId unit, int change);

    const Limits& limits_;
    std::vector<int> ranks_on_;
    int above_least_ = 0;
  };

 private:
  struct Core {
    std::vector<machine::UnitId> units;
    int least = 0;  ///< ranks in every allowed placement
    int most = 0;   ///< the same, or one more
  };

  static std::size_t index(int value) { return static_cast<std::size_t>(value); }
  template <class RankOn>
  [[nodiscard]] int ranks_on(int core, const RankOn& rank_on) const {
    int count = 0;
    for (const machine::UnitId unit : cores_[index(core)].units) count += rank_on(unit) >= 0 ? 1 : 0;
    return count;
  }
  /// Ranks stay where the placement has them and the limits let them; -1: nowhere.
  [[nodiscard]] machine::Placement filled(const machine::Placement& placement) const;
  Status take_rules(int units);
  Status spread();

  bool any_ = false;
  LimitRules rules_;
  std::vector<machine::UnitId> unit_of_fixed_;  ///< per rank; -1: not fixed
  std::vector<char> open_;                      ///< per unit
  std::vector<int> core_;                       ///< per unit, into cores_
  std::vector<Core> cores_;
  int above_least_ = 0;  ///< cores that get one rank more than their least
};

}  // namespace corewise::place
