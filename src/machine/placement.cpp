// Placements: their check and the identity.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace corewise::machine {
namespace {

constexpr std::string_view core_level = "core";

bool is_core(std::string_view domain) {
  return domain.size() > core_level.size() && domain.starts_with(core_level) &&
         domain.find_first_not_of("0123456789", core_level.size()) == std::string_view::npos;
}

std::string rank_field(std::size_t rank) {
  return "unit_of_rank[" + std::to_string(rank) + "]";
}

std::string allowed_unit(int ranks_per_unit) {
  if (ranks_per_unit == 1) return "a unit that no other rank has";
  return "a unit that fewer than " + std::to_string(ranks_per_unit) + " other ranks have";
}

Status check_shared(const Placement& placement, int ranks_per_unit, std::string_view source) {
  const auto& units = placement.unit_of_rank;
  for (std::size_t rank = 0; rank < units.size(); ++rank) {
    const auto here = units.begin() + static_cast<std::ptrdiff_t>(rank);
    if (std::count(units.begin(), here, units[rank]) < ranks_per_unit) continue;
    const auto first = std::find(units.begin(), here, units[rank]);
    return bad_field(source, rank_field(rank),
                     "unit " + std::to_string(units[rank]) + " of rank " + std::to_string(first - units.begin()),
                     allowed_unit(ranks_per_unit));
  }
  return {};
}

Status check_on(const Placement& placement, const Machine& machine, int ranks_per_unit, std::string_view source) {
  const auto count = static_cast<int>(machine.units.size());
  for (std::size_t rank = 0; rank < placement.unit_of_rank.size(); ++rank) {
    const UnitId unit = placement.unit_of_rank[rank];
    if (unit >= 0 && unit < count) continue;
    return bad_field(source, rank_field(rank), "unit " + std::to_string(unit),
                     "0 to " + std::to_string(count - 1) + ", the units of '" + machine.name + "'");
  }
  return check_shared(placement, ranks_per_unit, source);
}

}  // namespace

Status check(const Placement& placement, const Machine& machine, int ranks_per_unit) {
  return check_on(placement, machine, ranks_per_unit, "");
}

std::vector<UnitId> core_of_unit(const Machine& machine) {
  std::vector<UnitId> first(machine.units.size());
  std::iota(first.begin(), first.end(), 0);
  std::map<std::string_view, UnitId> known;
  for (std::size_t unit = 0; unit < first.size(); ++unit) {
    const auto& domains = machine.units[unit].domains;
    if (domains.empty() || !is_core(domains.back())) continue;
    first[unit] = known.emplace(domains.back(), static_cast<UnitId>(unit)).first->second;
  }
  return first;
}

Result<Placement> identity_placement(int ranks, const Machine& machine) {
  const auto units = static_cast<int>(machine.units.size());
  if (ranks < 1 || ranks > units) {
    return bad_field("", "ranks", std::to_string(ranks),
                     "1 to " + std::to_string(units) + ", the units of '" + machine.name + "'");
  }
  Placement placement;
  for (int rank = 0; rank < ranks; ++rank) placement.unit_of_rank.push_back(rank);
  return placement;
}

}  // namespace corewise::machine
