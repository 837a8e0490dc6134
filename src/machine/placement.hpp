// Placement: rank -> unit, and nothing else. Python reads and writes its files (docs/formats/placement.md).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "machine/machine.hpp"

namespace corewise::machine {

struct Placement {
  std::vector<UnitId> unit_of_rank;
};

/// Every rank on an existing unit, no unit used by more ranks than may share one.
Status check(const Placement& placement, const Machine& machine, int ranks_per_unit = 1);

/// Which units are hardware threads of one core: at [u] the lowest unit whose innermost domain is the same "core"
/// and a number ("core3"), u itself where it has none.
std::vector<UnitId> core_of_unit(const Machine& machine);

/// Rank r on unit r. Fails when there are more ranks than units.
Result<Placement> identity_placement(int ranks, const Machine& machine);

}  // namespace corewise::machine
