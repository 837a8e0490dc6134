// Placements: their check, the identity, and the JSON document (docs/formats/placement.md). The document names its
// units as well as numbering them, so that it is never silently applied to a machine that numbers them differently.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/placement.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace corewise::machine {
namespace {

constexpr std::string_view kFormat = "corewise-placement";
constexpr int kVersion = 1;

/// A placement document, its form verified.
struct Document {
  std::string machine;
  Placement placement;
  std::vector<std::string> units;
};

std::string rank_field(std::size_t rank) {
  return json::join("unit_of_rank", rank);
}

Status check_distinct(const Placement& placement, std::string_view source) {
  const auto& units = placement.unit_of_rank;
  for (std::size_t rank = 0; rank < units.size(); ++rank) {
    const auto here = units.begin() + static_cast<std::ptrdiff_t>(rank);
    const auto first = std::find(units.begin(), here, units[rank]);
    if (first == here) continue;
    return bad_field(source, rank_field(rank),
                     "unit " + std::to_string(units[rank]) + " of rank " + std::to_string(first - units.begin()),
                     "a unit that no other rank has");
  }
  return {};
}

Status check_on(const Placement& placement, const Machine& machine, std::string_view source) {
  const auto count = static_cast<int>(machine.units.size());
  for (std::size_t rank = 0; rank < placement.unit_of_rank.size(); ++rank) {
    const UnitId unit = placement.unit_of_rank[rank];
    if (unit >= 0 && unit < count) continue;
    return bad_field(source, rank_field(rank), "unit " + std::to_string(unit),
                     "0 to " + std::to_string(count - 1) + ", the units of '" + machine.name + "'");
  }
  return check_distinct(placement, source);
}

void read_units(json::Fields& fields, Placement& placement) {
  const auto& numbers = fields.array("unit_of_rank");
  if (numbers.empty()) fields.fail("unit_of_rank", "an empty array", "one unit number per rank");
  for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
    const auto unit = json::as_integer(numbers[rank], fields.source(), rank_field(rank), 0, kMaxUnits - 1);
    fields.fail(unit.status());
    placement.unit_of_rank.push_back(unit.ok() ? static_cast<UnitId>(unit.value()) : 0);
  }
}

void read_names(json::Fields& fields, Document& document) {
  const auto& names = fields.array("units");
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto name = json::as_text(names[rank], fields.source(), json::join("units", rank));
    fields.fail(name.status());
    document.units.push_back(name.ok() ? name.value() : std::string{});
  }
  const auto ranks = document.placement.unit_of_rank.size();
  if (names.size() != ranks) {
    fields.fail("units", std::to_string(names.size()) + " names", "one name per rank, " + std::to_string(ranks));
  }
}

Result<Document> read_document(std::string_view text, std::string_view source) {
  const auto parsed = json::parse(text, source);
  if (!parsed.ok()) return parsed.status();
  json::Fields fields(parsed.value(), std::string(source));
  Document document;
  fields.header(kFormat, kVersion);
  document.machine = fields.text("machine");
  read_units(fields, document.placement);
  read_names(fields, document);
  if (Status status = fields.finish(); !status.ok()) return status;
  if (Status status = check_distinct(document.placement, source); !status.ok()) return status;
  return document;
}

Status check_names(const Document& document, const Machine& machine, std::string_view source) {
  if (document.machine != machine.name) {
    return bad_field(source, "machine", "'" + document.machine + "'", "'" + machine.name + "'");
  }
  if (Status status = check_on(document.placement, machine, source); !status.ok()) return status;
  for (std::size_t rank = 0; rank < document.units.size(); ++rank) {
    const UnitId unit = document.placement.unit_of_rank[rank];
    const std::string& name = machine.units[unit].name;
    if (document.units[rank] == name) continue;
    return bad_field(source, json::join("units", rank), "'" + document.units[rank] + "'",
                     "'" + name + "', the name of unit " + std::to_string(unit));
  }
  return {};
}

}  // namespace

Status check(const Placement& placement, const Machine& machine) {
  return check_on(placement, machine, "");
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

Result<Placement> placement_from_json(std::string_view text, std::string_view source) {
  auto document = read_document(text, source);
  if (!document.ok()) return document.status();
  return std::move(document).value().placement;
}

Result<Placement> placement_from_json(std::string_view text, std::string_view source, const Machine& machine) {
  auto document = read_document(text, source);
  if (!document.ok()) return document.status();
  if (Status status = check_names(document.value(), machine, source); !status.ok()) return status;
  return std::move(document).value().placement;
}

std::string to_json(const Placement& placement, const Machine& machine) {
  boost::json::array numbers;
  boost::json::array names;
  for (const UnitId unit : placement.unit_of_rank) {
    numbers.emplace_back(unit);
    names.emplace_back(machine.units[unit].name);
  }
  boost::json::object document;
  document["format"] = kFormat;
  document["version"] = kVersion;
  document["machine"] = machine.name;
  document["unit_of_rank"] = std::move(numbers);
  document["units"] = std::move(names);
  return json::pretty(document);
}

}  // namespace corewise::machine
