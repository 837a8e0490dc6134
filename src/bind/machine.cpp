// Room machine for Python: Machine, Unit, Link, and the three ways to make one. A machine is read only here; it has
// been checked before Python sees it.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/machine.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "machine/placement.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using machine::Link;
using machine::Machine;
using machine::Origin;
using machine::Unit;
using machine::UnitId;

void require_unit(const Machine& node, UnitId unit) {
  const auto count = static_cast<UnitId>(node.units.size());
  if (unit >= 0 && unit < count) return;
  raise(bad_field(node.name, "unit", std::to_string(unit), "0.." + std::to_string(count - 1)));
}

Machine from_json(const std::string& document, const std::string& source) {
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return machine::from_json(document, source);
  }());
}

Machine from_synthetic(const std::string& text) {
  return unwrap(machine::from_synthetic(text));
}

Machine from_hwloc(const std::string& xml_path, const std::vector<std::string>& libraries) {
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return machine::from_hwloc(machine::HostOptions{xml_path, libraries});
  }());
}

std::vector<std::vector<int>> routes(const Machine& node, UnitId from, UnitId to) {
  require_unit(node, from);
  require_unit(node, to);
  std::vector<std::vector<int>> links;
  for (const machine::Route& route : node.routes(from, to))
    links.emplace_back(route.links.begin(), route.links.end());
  return links;
}

MatrixOut<std::int32_t> hops(const Machine& node) {
  const std::size_t count = node.units.size();
  std::vector<std::int32_t> table;
  table.reserve(count * count);
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      table.push_back(node.hops(static_cast<UnitId>(from), static_cast<UnitId>(to)));
    }
  }
  return to_matrix(std::move(table), count, count);
}

void check_placement(const Machine& node, std::vector<UnitId> unit_of_rank, int ranks_per_unit) {
  require(machine::check(machine::Placement{std::move(unit_of_rank)}, node, ranks_per_unit));
}

std::vector<UnitId> identity_placement(const Machine& node, int ranks) {
  return unwrap(machine::identity_placement(ranks, node)).unit_of_rank;
}

void bind_parts(nb::module_& module) {
  nb::class_<Unit>(module, "Unit", "A place where one rank can run.")
      .def_ro("name", &Unit::name, "Unique in its machine, e.g. ``SPE0``.")
      .def_ro("stop", &Unit::stop, "The stop it hangs on, an index into ``Machine.stops``.")
      .def_ro("os_index", &Unit::os_index, "Operating-system index of its processing unit, -1 where unknown.")
      .def_ro("logical_core", &Unit::logical_core, "hwloc logical core index, -1 where unknown.")
      .def_ro("domains", &Unit::domains, "Enclosing domains, outermost first, e.g. ``['package0', 'l3-1']``.")
      .def("__repr__", [](const Unit& unit) { return "Unit('" + unit.name + "')"; });
  nb::class_<Origin>(module, "Origin", "Where the numbers of a machine come from; all empty where nobody said.")
      .def_ro("source", &Origin::source, "Who measured, or what was read.")
      .def_ro("processor", &Origin::processor, "As the operating system names it.")
      .def_ro("measured", &Origin::measured, "Kinds of numbers: ``latency``, ``bandwidth``.")
      .def_ro("nominal", &Origin::nominal, "Kinds of numbers that are assumed.")
      .def("__repr__", [](const Origin& origin) { return "Origin('" + origin.source + "')"; });
  nb::class_<Link>(module, "Link", "A directed resource that transfers share.")
      .def_ro("name", &Link::name, "Unique in its machine.")
      .def_ro("source", &Link::from, "The stop it leaves, an index into ``Machine.stops``.")
      .def_ro("target", &Link::to, "The stop it reaches.")
      .def_ro("bandwidth_gb_per_s", &Link::bandwidth_gb_per_s, "10^9 bytes per second, which is bytes per ns.")
      .def_ro("latency_ns", &Link::latency_ns, "Time of one hop in ns.")
      .def_ro("lanes", &Link::lanes, "Parallel rings that share the bandwidth.")
      .def("__repr__", [](const Link& link) { return "Link('" + link.name + "')"; });
}

}  // namespace

void bind_machine(nb::module_& module) {
  bind_parts(module);
  nb::class_<Machine>(module, "Machine", "A node as its communication sees it: units at stops, joined by links.")
      .def_static("from_json", &from_json, "document"_a, "source"_a,
                  "Reads a machine document (docs/formats/machine.md); `source` names it in errors.")
      .def_static("from_synthetic", &from_synthetic, "text"_a,
                  "Makes a machine from a short text such as ``ring:8`` or ``pack:2 l3:4 core:8``.")
      .def_static("from_hwloc", &from_hwloc, "xml_path"_a = "", "libraries"_a = std::vector<std::string>{},
                  "Reads this host, or an hwloc XML file. `libraries` are tried in order for libhwloc.")
      .def_ro("name", &Machine::name)
      .def_ro("description", &Machine::description)
      .def_ro("kind", &Machine::kind, "``ring``, ``mesh``, ``tree``, ``flat`` or ``composite``.")
      .def_ro("model", &Machine::model,
              "What `corewise sim` simulates: ``cell``, or empty for the interconnect alone.")
      .def_ro("origin", &Machine::origin, "Where its numbers come from, as its file says.")
      .def_ro("stops", &Machine::stops, "Names of the stops (a fresh list).")
      .def_ro("units", &Machine::units, "The units in their order (a fresh list).")
      .def_ro("links", &Machine::links, "The links in their order (a fresh list).")
      .def("routes", &routes, "source"_a, "target"_a,
           "Equally short routes from one unit to another, each a list of indexes into `links`.\n\n"
           "Traffic is split evenly between them.")
      .def("hops", &hops, "Links between every two units: ndarray of int32, shape (units, units).")
      .def("check_placement", &check_placement, "unit_of_rank"_a, "ranks_per_unit"_a = 1,
           "Raises unless every rank is on an existing unit and no unit is used by more ranks than may share one.")
      .def("identity_placement", &identity_placement, "ranks"_a,
           "Rank r on unit r; raises where there are more ranks than units.")
      .def("__repr__", [](const Machine& node) {
        return "Machine('" + node.name + "', " + std::to_string(node.units.size()) + " units)";
      });
}

}  // namespace corewise::bind
