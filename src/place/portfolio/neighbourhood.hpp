// Neighbourhood: where moves on a machine may go and which moves are none, made once per machine.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "base/rng.hpp"
#include "machine/machine.hpp"
#include "place/limits.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

struct Neighbourhood {
  /// Of every unit the others that differ from it in nothing but their own links, which only their messages cross:
  /// cores of one cache, mostly. Where two trade places, the same loads lie on other links. (A judge of times may
  /// see latencies, or who comes first.) None under limits.
  std::vector<std::vector<machine::UnitId>> alike;
  /// Of every unit the nearest that are not alike: all units of twelve classes of alike ones, by hops, then by
  /// class.
  std::vector<std::vector<machine::UnitId>> near;
  /// Units that belong together (a tile, a chiplet, a package), in classes of equal size: what is connected by
  /// routes of at most so many hops, for every number of hops.
  std::vector<std::vector<std::vector<machine::UnitId>>> blocks;

  /// What no move may break.
  Limits limits = {};

  /// Units of the largest class of alike ones.
  std::size_t most_alike = 1;
  /// Whether clusters of ranks trade places between classes. Under limits no units are alike, so none can be
  /// broken.
  [[nodiscard]] bool has_large_classes() const { return most_alike > few_alike; }
  static constexpr std::size_t few_alike = 4;

  /// All units over the number of links that no unit has for its own. 0: no such link.
  double units_per_shared_link = 0;

  /// Whether to exchange what the two hold changes no load.
  [[nodiscard]] bool are_alike(machine::UnitId one, machine::UnitId other) const {
    return class_of[static_cast<std::size_t>(one)] == class_of[static_cast<std::size_t>(other)];
  }
  /// Where a move may aim from there: at what is alike, if it may aim there at all, in one case of two, else near
  /// it; empty where there is nothing.
  [[nodiscard]] const std::vector<machine::UnitId>& aims(machine::UnitId unit, bool at_alike, Rng& rng) const {
    const auto& same = alike[static_cast<std::size_t>(unit)];
    return at_alike && !same.empty() && rng.fast_below(2) == 0 ? same : near[static_cast<std::size_t>(unit)];
  }
  std::vector<machine::UnitId> class_of;  ///< per unit the lowest-numbered one that is alike, or itself

  static Neighbourhood of(const RoutedShares& shares, const Limits& limits = {});

 private:
  void add_neighbours(const RoutedShares& shares, machine::UnitId unit);
};

}  // namespace corewise::place
