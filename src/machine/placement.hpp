// Placement: rank -> unit, and nothing else. The launchers' own formats are written elsewhere (docs/formats).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace corewise::machine {

struct Placement {
  std::vector<UnitId> unit_of_rank;
};

/// Every rank on an existing unit, no unit used twice.
Status check(const Placement& placement, const Machine& machine);

/// Rank r on unit r. Fails when there are more ranks than units.
Result<Placement> identity_placement(int ranks, const Machine& machine);

/// Reads a placement document (docs/formats/placement.md): its form and that no unit is used twice.
Result<Placement> placement_from_json(std::string_view text, std::string_view source);
/// The same, and that the machine's name and its units' names are those of the document.
Result<Placement> placement_from_json(std::string_view text, std::string_view source, const Machine& machine);

/// The document of a checked placement.
std::string to_json(const Placement& placement, const Machine& machine);

}  // namespace corewise::machine
