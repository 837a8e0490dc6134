// Which SPE a unit of a machine is. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "cell/parameters.hpp"
#include "machine/machine.hpp"

namespace corewise::lab {

/// The physical SPE at a unit's stop, on a machine that cell::Parameters::from has accepted.
inline int spe_of(const machine::Unit& unit) {
  const auto found = std::ranges::find(cell::kSpeStop, unit.stop % cell::kStops);
  return unit.stop / cell::kStops * cell::kSpesPerChip + static_cast<int>(found - cell::kSpeStop.begin());
}

}  // namespace corewise::lab
