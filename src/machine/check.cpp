// check(Machine): every invariant that machine.hpp promises, verified without trusting whoever filled the machine.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "machine/machine.hpp"

namespace corewise::machine {
namespace {

constexpr std::array<std::string_view, 5> kKinds{"ring", "mesh", "tree", "flat", "composite"};

Status wrong(const std::string& field, const std::string& found, const std::string& allowed) {
  return bad_field("", field, found, allowed);
}

std::string at(std::string_view list, std::size_t index, std::string_view member = {}) {
  std::string path = std::string(list) + "[" + std::to_string(index) + "]";
  return member.empty() ? path : path.append(".").append(member);
}

std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

Status check_index(int index, std::size_t size, const std::string& field) {
  if (index >= 0 && static_cast<std::size_t>(index) < size) return {};
  return wrong(field, std::to_string(index), "0 to " + std::to_string(static_cast<long>(size) - 1));
}

template <class Items, class Name>
Status check_names(const Items& items, std::string_view list, const Name& name) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string& text = name(items[i]);
    if (text.empty()) return wrong(at(list, i), "an empty name", "a name");
    if (!seen.insert(text).second) return wrong(at(list, i), quoted(text) + " a second time", "a unique name");
  }
  return {};
}

Status check_link(const Machine& machine, std::size_t i) {
  const Link& link = machine.links[i];
  if (Status s = check_index(link.from, machine.stops.size(), at("links", i, "from")); !s.ok()) return s;
  if (Status s = check_index(link.to, machine.stops.size(), at("links", i, "to")); !s.ok()) return s;
  if (link.from == link.to) return wrong(at("links", i), quoted(link.name) + " from a stop to itself", "two stops");
  if (!(link.bandwidth_gb_per_s > 0) || !std::isfinite(link.bandwidth_gb_per_s)) {
    return wrong(at("links", i, "bandwidth_gb_per_s"), std::to_string(link.bandwidth_gb_per_s), "more than zero");
  }
  if (link.lanes < 1) return wrong(at("links", i, "lanes"), std::to_string(link.lanes), "1 or more");
  if (!(link.latency_ns >= 0) || !std::isfinite(link.latency_ns)) {
    return wrong(at("links", i, "latency_ns"), std::to_string(link.latency_ns), "zero or more");
  }
  return {};
}

/// Numbers that a launcher would bind by: -1 for unknown, else no two units alike.
template <class Number>
Status check_numbers(const Machine& machine, std::string_view member, const Number& number) {
  std::set<int> seen;
  for (std::size_t u = 0; u < machine.units.size(); ++u) {
    const int value = number(machine.units[u]);
    if (value == -1) continue;
    if (value < 0) return wrong(at("units", u, member), std::to_string(value), "-1 (unknown) or a number from 0");
    if (seen.insert(value).second) continue;
    return wrong(at("units", u, member), std::to_string(value) + " a second time", "a number of its own");
  }
  return {};
}

Status check_units(const Machine& machine) {
  const auto count = machine.units.size();
  if (count == 0 || count > static_cast<std::size_t>(kMaxUnits)) {
    return wrong("units", std::to_string(count) + " units", "1 to " + std::to_string(kMaxUnits));
  }
  for (std::size_t u = 0; u < count; ++u) {
    if (Status s = check_index(machine.units[u].stop, machine.stops.size(), at("units", u, "stop")); !s.ok())
      return s;
  }
  if (Status s = check_numbers(machine, "os_index", [](const Unit& u) { return u.os_index; }); !s.ok()) return s;
  return check_numbers(machine, "logical_core", [](const Unit& u) { return u.logical_core; });
}

Status check_path(const Machine& machine, const Links& links, StopId from, StopId to, const std::string& field) {
  StopId here = from;
  for (const LinkId id : links) {
    if (Status s = check_index(id, machine.links.size(), field); !s.ok()) return s;
    const Link& link = machine.links[id];
    if (link.from != here) {
      return wrong(field, "link " + quoted(link.name) + " at stop " + quoted(machine.stops[here]),
                   "links that follow each other");
    }
    here = link.to;
  }
  if (here == to) return {};
  return wrong(field, "an end at stop " + quoted(machine.stops[here]), quoted(machine.stops[to]));
}

Status check_pair(const Machine& machine, std::size_t from, std::size_t to) {
  const Routes routes = machine.route_table[from * machine.units.size() + to];
  const std::string field = "routes from " + machine.units[from].name + " to " + machine.units[to].name;
  if (routes.empty()) return wrong(field, "none", "at least one");
  if (from == to && (routes.size() != 1 || !routes.front().links.empty())) {
    return wrong(field, "links", "one empty route");
  }
  for (std::size_t r = 0; r < routes.size(); ++r) {
    if (routes[r].links.size() != routes.front().links.size()) {
      return wrong(field, "alternatives of different length", "equally long ones");
    }
    for (std::size_t earlier = 0; earlier < r; ++earlier) {
      if (routes[earlier].links == routes[r].links) return wrong(field, "the same route twice", "different routes");
    }
    Status path = check_path(machine, routes[r].links, machine.units[from].stop, machine.units[to].stop, field);
    if (!path.ok()) return path;
  }
  return {};
}

/// The way of one unit in a tree: up to stop 0 and down again past the same stops. Then a route between two units,
/// which leaves its way up where the way down of the other begins to differ, is connected.
Status check_way(const Machine& machine, std::size_t unit) {
  const auto up = machine.route_table.up(static_cast<UnitId>(unit));
  const auto down = machine.route_table.down(static_cast<UnitId>(unit));
  const std::string field = "way of " + machine.units[unit].name;
  const StopId stop = machine.units[unit].stop;
  if (Status s = check_path(machine, Links(up), stop, 0, field + " up"); !s.ok()) return s;
  if (Status s = check_path(machine, Links(down), 0, stop, field + " down"); !s.ok()) return s;
  const auto reversed = [&](LinkId above, LinkId below) {
    return machine.links[above].from == machine.links[below].to &&
           machine.links[above].to == machine.links[below].from;
  };
  if (std::equal(up.begin(), up.end(), down.rbegin(), down.rend(), reversed)) return {};
  return wrong(field, "another way down than up", "the same stops");
}

Status check_routes(const Machine& machine) {
  const auto units = machine.units.size();
  if (machine.route_table.size() != units * units) {
    return wrong("route_table", std::to_string(machine.route_table.size()) + " entries",
                 std::to_string(units * units) + ", one per pair of units");
  }
  if (machine.route_table.is_tree()) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      if (Status s = check_way(machine, unit); !s.ok()) return s;
    }
    return {};
  }
  for (std::size_t from = 0; from < units; ++from) {
    for (std::size_t to = 0; to < units; ++to) {
      if (Status s = check_pair(machine, from, to); !s.ok()) return s;
    }
  }
  return {};
}

Status check_parameters(const Machine& machine) {
  for (const Parameter& parameter : machine.parameters) {
    if (std::isfinite(parameter.value)) continue;
    return wrong("simulation." + parameter.name, std::to_string(parameter.value), "a finite number");
  }
  const auto name = [](const Parameter& parameter) -> const std::string& { return parameter.name; };
  return check_names(machine.parameters, "simulation", name);
}

Status check_all_names(const Machine& machine) {
  if (machine.name.empty()) return wrong("name", "an empty name", "a name");
  if (std::find(kKinds.begin(), kKinds.end(), machine.kind) == kKinds.end()) {
    return wrong("kind", quoted(machine.kind), "ring, mesh, tree, flat, composite");
  }
  const auto itself = [](const std::string& text) -> const std::string& { return text; };
  const auto name = [](const auto& item) -> const std::string& { return item.name; };
  if (Status s = check_names(machine.stops, "stops", itself); !s.ok()) return s;
  if (Status s = check_names(machine.links, "links", name); !s.ok()) return s;
  return check_names(machine.units, "units", name);
}

}  // namespace

Status check(const Machine& machine) {
  if (Status s = check_all_names(machine); !s.ok()) return s;
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    if (Status s = check_link(machine, i); !s.ok()) return s;
  }
  if (Status s = check_units(machine); !s.ok()) return s;
  if (Status s = check_parameters(machine); !s.ok()) return s;
  return check_routes(machine);
}

}  // namespace corewise::machine
