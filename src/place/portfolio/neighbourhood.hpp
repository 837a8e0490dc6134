// Neighbourhood: where moves on a machine may go, made once per machine.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "place/limits.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

struct Neighbourhood {
  /// Of every unit the units nearest to it, by hops, then by number.
  std::vector<std::vector<machine::UnitId>> near;
  /// Units that belong together (a tile, a chiplet, a package), in classes of equal size: what is connected by
  /// routes of at most so many hops, for every number of hops.
  std::vector<std::vector<std::vector<machine::UnitId>>> blocks;

  /// What no move may break.
  Limits limits = {};

  static Neighbourhood of(const RoutedShares& shares, const Limits& limits = {});
};

}  // namespace corewise::place
