// Machines from documents: the JSON form of a machine file (docs/formats/machine.md; people write it as TOML). Owns
// the format's fields and every word of its errors; what the fields mean is built by ring, mesh, tree, flat and
// composite. The table of kinds is at the bottom.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/units.hpp"
#include "machine/fabric.hpp"

namespace corewise::machine {
namespace {

using json::Fields;

constexpr std::string_view kFormat = "corewise-machine";
constexpr int kVersion = 1;
constexpr std::string_view kDefaultUnitName = "core";
constexpr std::size_t kMostStops = 4096;
constexpr int kMostRings = 1024;
constexpr std::size_t kMostLevels = 16;

const boost::json::array kNothing;

using ParseQuantity = Result<double> (*)(std::string_view, std::string_view, std::string_view);

/// A quantity of more than zero; 1 after a failure, so that what is built from it stays harmless.
double quantity(Fields& fields, std::string_view name, ParseQuantity parse, std::string_view allowed) {
  const boost::json::value* found = fields.find(name);
  if (found == nullptr || !found->is_string()) {
    fields.fail(name, found == nullptr ? "nothing" : json::describe(*found), allowed);
    return 1;
  }
  const auto value = parse(found->get_string(), fields.source(), fields.path_of(name));
  fields.fail(value.status());
  if (value.ok() && value.value() <= 0) fields.fail(name, json::describe(*found), "more than zero");
  return value.ok() && value.value() > 0 ? value.value() : 1;
}

double bandwidth(Fields& fields, std::string_view name) {
  return quantity(fields, name, parse_bandwidth_gb_per_s,
                  "a string, a bandwidth with its unit such as \"25.6 GB/s\"");
}

double hop_latency(Fields& fields) {
  return quantity(fields, "hop_latency", parse_time_ns, "a string, a time with its unit such as \"100 ns\"");
}

LinkSpeed link_speed(Fields& fields, std::string_view bandwidth_name) {
  const double bandwidth_gb_per_s = bandwidth(fields, bandwidth_name);
  return {bandwidth_gb_per_s, hop_latency(fields)};
}

/// An array that is not too long; how its entries refer to each other is checked in quadratic time.
const boost::json::array& bounded(Fields& fields, std::string_view name, std::size_t most = kMaxUnits) {
  const auto& found = fields.array(name);
  if (found.size() <= most) return found;
  fields.fail(name, std::to_string(found.size()) + " entries", "at most " + std::to_string(most));
  return kNothing;
}

int count(Fields& fields, std::string_view name) {
  return static_cast<int>(fields.integer(name, 1, kMaxUnits));
}

/// A name that is not empty.
std::string name_field(Fields& fields, std::string_view field) {
  const std::string name = fields.text(field);
  if (name.empty()) fields.fail(field, "an empty string", "a name");
  return name;
}

std::string unit_name(Fields& fields) {
  const std::string name = fields.text_or("unit_name", std::string(kDefaultUnitName));
  if (name.empty()) fields.fail("unit_name", "an empty string", "a name");
  return name;
}

Ties ties(Fields& fields) {
  static constexpr std::pair<std::string_view, Ties> rules[] = {
      {"split", Ties::split}, {"clockwise", Ties::clockwise}, {"counterclockwise", Ties::counterclockwise}};
  const std::string found = fields.text_or("ties", "split");
  for (const auto& [name, rule] : rules) {
    if (found == name) return rule;
  }
  fields.fail("ties", "'" + found + "'", "split, clockwise, counterclockwise");
  return Ties::split;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

int index_of(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

/// Fails when the product of counts is more than a mesh may have; the counts themselves are within kMaxTabledUnits.
void limit_units(Fields& fields, std::string_view name, const std::vector<int>& counts) {
  std::int64_t product = 1;
  for (const int factor : counts) {
    product *= factor;
    if (product <= kMaxTabledUnits) continue;
    fields.fail(name, "more than " + std::to_string(kMaxTabledUnits) + " units",
                "at most " + std::to_string(kMaxTabledUnits));
    return;
  }
}

// ---- ring ----

std::vector<std::string> read_stops(Fields& fields) {
  const auto& found = bounded(fields, "stops", kMostStops);
  std::vector<std::string> stops;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string field = json::join("stops", i);
    const auto name = json::as_text(found[i], fields.source(), fields.path_of(field));
    fields.fail(name.status());
    if (!name.ok()) break;
    if (name.value().empty()) fields.fail(field, "an empty string", "a name");
    if (index_of(stops, name.value()) >= 0)
      fields.fail(field, "'" + name.value() + "' a second time", "unique names");
    stops.push_back(name.value());
  }
  if (stops.size() < 2) fields.fail("stops", std::to_string(stops.size()) + " stops", "at least 2");
  return stops;
}

/// An entry of `units`: a string (the unit and its stop have one name) or a table {name, stop}.
Unit read_ring_unit(Fields& fields, const boost::json::value& found, const std::string& field,
                    const std::vector<std::string>& stops) {
  Unit unit;
  std::string stop;
  std::string stop_field = field;
  if (found.is_string()) {
    unit.name = stop = found.get_string();
  } else if (found.is_object()) {
    Fields entry(found, fields.source(), fields.path_of(field));
    unit.name = name_field(entry, "name");
    stop = entry.text("stop");
    fields.fail(entry.finish());
    stop_field += ".stop";
  } else {
    fields.fail(field, json::describe(found), "a stop's name or a table {name, stop}");
  }
  unit.stop = index_of(stops, stop);
  if (unit.stop < 0) fields.fail(stop_field, "'" + stop + "'", "one of the stops: " + listed(stops));
  return unit;
}

std::vector<Unit> read_ring_units(Fields& fields, const std::vector<std::string>& stops) {
  const auto& found = bounded(fields, "units", kMaxTabledUnits);
  if (found.empty()) fields.fail("units", "an empty array", "at least one unit");
  std::vector<Unit> units;
  std::set<std::string> names;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string field = json::join("units", i);
    units.push_back(read_ring_unit(fields, found[i], field, stops));
    const std::string& name = units.back().name;
    if (!names.insert(name).second) fields.fail(field, "'" + name + "' a second time", "unique names");
  }
  return units;
}

Fabric read_ring(Fields& fields) {
  RingSpec spec;
  spec.stops = read_stops(fields);
  spec.units = read_ring_units(fields, spec.stops);
  spec.lanes = static_cast<int>(fields.integer("rings_per_direction", 1, kMostRings));
  spec.link = link_speed(fields, "ring_bandwidth");
  spec.link.bandwidth_gb_per_s *= spec.lanes;
  spec.ties = ties(fields);
  return fields.status().ok() ? build_ring(std::move(spec)) : Fabric{};
}

// ---- mesh ----

std::vector<int> read_dims(Fields& fields) {
  const auto& found = bounded(fields, "dims", kMostLevels);
  std::vector<int> dims;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string path = fields.path_of(json::join("dims", i));
    const auto size = json::as_integer(found[i], fields.source(), path, 1, kMaxTabledUnits);
    fields.fail(size.status());
    dims.push_back(size.ok() ? static_cast<int>(size.value()) : 1);
  }
  if (dims.empty() || dims.size() > 3) {
    fields.fail("dims", std::to_string(dims.size()) + " dimensions", "1 to 3 of them");
  }
  return dims;
}

std::vector<bool> read_torus(Fields& fields, std::size_t dimensions) {
  const auto& found = fields.array_or_empty("torus");
  std::vector<bool> torus(dimensions, false);
  const bool given = fields.find("torus") != nullptr;
  if (given && found.size() != dimensions) {
    fields.fail("torus", std::to_string(found.size()) + " entries", "one per dimension");
    return torus;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].is_bool()) {
      fields.fail(json::join("torus", i), json::describe(found[i]), "true or false");
    } else {
      torus[i] = found[i].get_bool();
    }
  }
  return torus;
}

Fabric read_mesh(Fields& fields) {
  MeshSpec spec;
  spec.dims = read_dims(fields);
  spec.torus = read_torus(fields, spec.dims.size());
  spec.units_per_tile = static_cast<int>(fields.integer_or("units_per_tile", 1, 1, kMaxTabledUnits));
  spec.unit_name = unit_name(fields);
  spec.link = link_speed(fields, "link_bandwidth");
  spec.ties = ties(fields);
  std::vector<int> counts = spec.dims;
  counts.push_back(spec.units_per_tile);
  limit_units(fields, "dims", counts);
  return fields.status().ok() ? build_mesh(spec) : Fabric{};
}

// ---- tree ----

/// A whole number per entry, each within `least` and `most`.
std::vector<int> integers(Fields& fields, std::string_view name, int least, int most) {
  const auto& found = bounded(fields, name);
  std::vector<int> values;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string path = fields.path_of(json::join(name, i));
    const auto value = json::as_integer(found[i], fields.source(), path, least, most);
    fields.fail(value.status());
    values.push_back(value.ok() ? static_cast<int>(value.value()) : least);
  }
  return values;
}

/// `counts`: one per node of the level above.
void read_counts(Fields& entry, std::size_t above, TreeLevel& level) {
  level.counts = integers(entry, "counts", 1, kMaxUnits);
  if (level.counts.size() == above) return;
  entry.fail("counts", std::to_string(level.counts.size()) + " entries",
             std::to_string(above) + ", one per node of the level above");
}

/// `hop_latency` as a list: one per node of this level.
void read_latencies(Fields& entry, const boost::json::array& found, std::size_t nodes, TreeLevel& level) {
  if (found.size() != nodes) {
    entry.fail("hop_latency", std::to_string(found.size()) + " entries",
               std::to_string(nodes) + ", one per node of the level");
    return;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string path = entry.path_of(json::join("hop_latency", i));
    const auto text = json::as_text(found[i], entry.source(), path);
    entry.fail(text.status());
    const auto value = parse_time_ns(text.ok() ? text.value() : "1 ns", entry.source(), path);
    entry.fail(value.status());
    if (value.ok() && value.value() <= 0)
      entry.fail(json::join("hop_latency", i), json::describe(found[i]), "more than zero");
    level.latencies_ns.push_back(value.ok() ? value.value() : 1);
  }
}

/// Nodes of a level; more than a machine may have is refused by its reader.
std::size_t nodes_of(const TreeLevel& level, std::size_t above) {
  if (level.counts.empty()) return above * static_cast<std::size_t>(level.count);
  return static_cast<std::size_t>(std::accumulate(level.counts.begin(), level.counts.end(), 0));
}

/// `nodes`: of the level above, then of this one.
TreeLevel read_level(Fields& fields, const boost::json::value& found, std::size_t index, std::size_t& nodes) {
  Fields entry(found, fields.source(), fields.path_of(json::join("level", index)));
  TreeLevel level;
  level.name = name_field(entry, "name");
  if (entry.find("counts") != nullptr) {
    read_counts(entry, nodes, level);
  } else {
    level.count = count(entry, "count");
  }
  level.up.bandwidth_gb_per_s = bandwidth(entry, "up_bandwidth");
  level.down.bandwidth_gb_per_s = bandwidth(entry, "down_bandwidth");
  nodes = nodes_of(level, nodes);
  const boost::json::value* latency = entry.find("hop_latency");
  if (latency != nullptr && latency->is_array()) {
    read_latencies(entry, latency->get_array(), nodes, level);
  } else {
    level.up.latency_ns = level.down.latency_ns = hop_latency(entry);
  }
  fields.fail(entry.finish());
  return level;
}

/// Optional numbers of the units, by which a launcher binds.
void read_unit_numbers(Fields& fields, std::string_view name, std::vector<Unit>& units, int Unit::* number) {
  if (fields.find(name) == nullptr) return;
  const std::vector<int> values = integers(fields, name, 0, std::numeric_limits<int>::max());
  if (values.size() != units.size())
    fields.fail(name, std::to_string(values.size()) + " entries", std::to_string(units.size()) + ", one per unit");
  for (std::size_t i = 0; i < values.size() && i < units.size(); ++i) {
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
        values.begin() + static_cast<std::ptrdiff_t>(i))
      fields.fail(json::join(name, i), std::to_string(values[i]) + " a second time", "a number of its own");
    units[i].*number = values[i];
  }
}

/// Units that say their processing unit are of a real machine, whose cores hwloc may count in another order.
void read_numbers(Fields& fields, std::vector<Unit>& units) {
  if (fields.find("os_indexes") != nullptr)
    for (Unit& unit : units) unit.logical_core = -1;
  read_unit_numbers(fields, "os_indexes", units, &Unit::os_index);
  read_unit_numbers(fields, "logical_cores", units, &Unit::logical_core);
}

Fabric read_tree(Fields& fields) {
  const auto& found = bounded(fields, "level", kMostLevels);
  if (found.empty()) fields.fail("level", "no level", "at least one [[level]] table, outermost first");
  std::vector<TreeLevel> levels;
  std::set<std::string> names;
  std::size_t nodes = 1;
  for (std::size_t i = 0; i < found.size() && fields.status().ok(); ++i) {
    levels.push_back(read_level(fields, found[i], i, nodes));
    if (nodes > static_cast<std::size_t>(kMaxUnits))
      fields.fail("level", "more than " + std::to_string(kMaxUnits) + " units",
                  "at most " + std::to_string(kMaxUnits));
    if (names.insert(levels.back().name).second) continue;
    fields.fail(json::join("level", i) + ".name", "'" + levels.back().name + "' a second time", "unique names");
  }
  if (!fields.status().ok()) return {};
  TreeSpec spec = tree_of_levels(levels);
  read_numbers(fields, spec.units);
  return fields.status().ok() ? build_tree(std::move(spec)) : Fabric{};
}

// ---- flat ----

Fabric read_flat(Fields& fields) {
  FlatSpec spec;
  spec.count = count(fields, "count");
  spec.unit_name = unit_name(fields);
  spec.port = link_speed(fields, "port_bandwidth");
  return fields.status().ok() ? build_flat(spec) : Fabric{};
}

/// The kind's own reader, by the table at the bottom.
Fabric read_kind(Fields& fields);

// ---- composite ----

Part read_part(Fields& fields, const boost::json::value& found, std::size_t index) {
  Fields entry(found, fields.source(), json::join("part", index));
  Part part;
  part.name = name_field(entry, "name");
  part.fabric = read_kind(entry);
  fields.fail(entry.finish());
  return part;
}

std::vector<Part> read_parts(Fields& fields) {
  const auto& found = bounded(fields, "part", kMaxTabledUnits);
  std::vector<Part> parts;
  std::size_t units = 0;
  std::set<std::string> names;
  for (std::size_t i = 0; i < found.size() && fields.status().ok(); ++i) {
    parts.push_back(read_part(fields, found[i], i));
    units += parts.back().fabric.units.size();
    if (units > static_cast<std::size_t>(kMaxTabledUnits))
      fields.fail("units", std::to_string(units) + " units", "at most " + std::to_string(kMaxTabledUnits));
    if (names.insert(parts.back().name).second) continue;
    fields.fail(json::join("part", i) + ".name", "'" + parts.back().name + "' a second time", "unique names");
  }
  if (found.size() < 2) fields.fail("part", std::to_string(found.size()) + " parts", "at least 2");
  return parts;
}

/// Resolves "PART.STOP" into one end of a bridge.
void read_end(Fields& entry, const boost::json::value& found, std::size_t end, const std::vector<Part>& parts,
              Bridge& bridge) {
  const std::string field = json::join("between", end);
  const auto name = json::as_text(found, entry.source(), entry.path_of(field));
  entry.fail(name.status());
  for (std::size_t p = 0; name.ok() && p < parts.size(); ++p) {
    const std::string prefix = parts[p].name + ".";
    if (!name.value().starts_with(prefix)) continue;
    const int stop = index_of(parts[p].fabric.stops, name.value().substr(prefix.size()));
    if (stop < 0) continue;
    bridge.parts[end] = static_cast<int>(p);
    bridge.stops[end] = stop;
    return;
  }
  entry.fail(field, json::describe(found), "a stop as \"PART.STOP\"");
}

Bridge read_bridge(Fields& fields, const boost::json::value& found, std::size_t index,
                   const std::vector<Part>& parts) {
  Fields entry(found, fields.source(), json::join("bridge", index));
  Bridge bridge;
  const auto& ends = entry.array("between");
  if (ends.size() != 2) entry.fail("between", std::to_string(ends.size()) + " stops", "exactly 2");
  for (std::size_t end = 0; end < 2 && end < ends.size(); ++end) read_end(entry, ends[end], end, parts, bridge);
  if (bridge.parts[0] == bridge.parts[1]) {
    entry.fail("between", "two stops of one part", "stops of two different parts");
  }
  bridge.link = link_speed(entry, "link_bandwidth");
  fields.fail(entry.finish());
  return bridge;
}

/// Both ends of a bridge in one order, to find the same bridge given twice.
std::set<std::pair<int, int>> ends_of(const Bridge& bridge) {
  return {{bridge.parts[0], bridge.stops[0]}, {bridge.parts[1], bridge.stops[1]}};
}

std::vector<Bridge> read_bridges(Fields& fields, const std::vector<Part>& parts) {
  const auto& found = bounded(fields, "bridge", kMostStops);
  std::vector<Bridge> bridges;
  std::set<std::set<std::pair<int, int>>> seen;
  for (std::size_t i = 0; i < found.size() && fields.status().ok(); ++i) {
    bridges.push_back(read_bridge(fields, found[i], i, parts));
    if (seen.insert(ends_of(bridges.back())).second) continue;
    fields.fail(json::join("bridge", i) + ".between", "the same two stops a second time", "one bridge per pair");
  }
  return bridges;
}

Fabric read_composite(Fields& fields) {
  std::vector<Part> parts = read_parts(fields);
  const std::vector<Bridge> bridges = read_bridges(fields, parts);
  if (!fields.status().ok()) return {};
  const int lost = unreached_part(static_cast<int>(parts.size()), bridges);
  if (lost >= 0) {
    fields.fail(json::join("part", static_cast<std::size_t>(lost)), "no bridge from '" + parts[lost].name + "'",
                "bridges that join every part to '" + parts[0].name + "'");
    return {};
  }
  return build_composite(std::move(parts), bridges);
}

Fabric read_interconnect(Fields& fields) {
  const bool parts = fields.find("part") != nullptr;
  const bool bridges = fields.find("bridge") != nullptr;
  if (parts || bridges) return read_composite(fields);
  const boost::json::value* table = fields.find("interconnect");
  if (table == nullptr) {
    fields.fail("interconnect", "nothing", "one table [interconnect], or several [[part]] joined by [[bridge]]");
    return {};
  }
  Fields entry(*table, fields.source(), "interconnect");
  Fabric fabric = read_kind(entry);
  fields.fail(entry.finish());
  return fabric;
}

struct Kind {
  std::string_view name;
  Fabric (*read)(Fields&);
};

constexpr Kind kReaders[] = {{"ring", read_ring}, {"mesh", read_mesh}, {"tree", read_tree}, {"flat", read_flat}};

Fabric read_kind(Fields& fields) {
  const std::string found = fields.text("kind");
  std::string allowed;
  for (const Kind& kind : kReaders) {
    if (found == kind.name) return kind.read(fields);
    allowed.append(allowed.empty() ? "" : ", ").append(kind.name);
  }
  fields.fail("kind", "'" + found + "'", allowed);
  return {};
}

// ---- simulation ----

/// What the file says to the simulator.
struct Simulation {
  std::string model;
  std::vector<Parameter> parameters;
};

Parameter read_parameter(Fields& fields, std::string_view name, const boost::json::value& found) {
  const std::string field = json::join("simulation", name);
  if (!found.is_number()) fields.fail(field, json::describe(found), "a number");
  const auto value = json::as_number(found, fields.source(), field);
  fields.fail(value.status());
  return {std::string(name), value.ok() ? value.value() : 0};
}

Simulation read_simulation(Fields& fields) {
  const boost::json::value* table = fields.find("simulation");
  if (table == nullptr) return {};
  Fields entry(*table, fields.source(), "simulation");
  Simulation simulation;
  simulation.model = entry.text_or("model", "");
  fields.fail(entry.status());
  if (!table->is_object()) return {};
  for (const auto& field : table->get_object()) {
    if (field.key() == "model") continue;
    simulation.parameters.push_back(read_parameter(fields, field.key(), field.value()));
  }
  return simulation;
}

// ---- origin ----

std::vector<std::string> read_kinds(Fields& fields, std::string_view name) {
  std::vector<std::string> kinds;
  const auto& found = fields.array_or_empty(name);
  for (std::size_t i = 0; i < found.size() && fields.status().ok(); ++i) {
    const std::string field = json::join(name, i);
    const auto kind = json::as_text(found[i], fields.source(), fields.path_of(field));
    fields.fail(kind.status());
    if (kind.ok() && kind.value() != "latency" && kind.value() != "bandwidth")
      fields.fail(field, json::describe(found[i]), "latency, bandwidth");
    if (kind.ok()) kinds.push_back(kind.value());
  }
  return kinds;
}

Origin read_origin(Fields& fields) {
  const boost::json::value* table = fields.find("origin");
  if (table == nullptr) return {};
  Fields entry(*table, fields.source(), "origin");
  Origin origin;
  origin.source = entry.text_or("source", "");
  origin.processor = entry.text_or("processor", "");
  origin.measured = read_kinds(entry, "measured");
  origin.nominal = read_kinds(entry, "nominal");
  fields.fail(entry.finish());
  return origin;
}

}  // namespace

Result<Machine> from_json(std::string_view document, std::string_view source) {
  const auto parsed = json::parse(document, source);
  if (!parsed.ok()) return parsed.status();
  Fields fields(parsed.value(), std::string(source));
  fields.header(kFormat, kVersion);
  std::string name = name_field(fields, "name");
  std::string description = fields.text_or("description", "");
  Fabric fabric = read_interconnect(fields);
  Simulation simulation = read_simulation(fields);
  Origin origin = read_origin(fields);
  if (Status status = fields.finish(); !status.ok()) return status;
  auto machine = finish(std::move(name), std::move(description), std::move(fabric), source);
  if (!machine.ok()) return machine;
  machine.value().model = std::move(simulation.model);
  machine.value().parameters = std::move(simulation.parameters);
  machine.value().source = source;
  machine.value().origin = std::move(origin);
  return machine;
}

}  // namespace corewise::machine
