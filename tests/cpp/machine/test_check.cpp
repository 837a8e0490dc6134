// check(Machine): a good machine passes; each invariant, broken alone, is found and named.
// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <functional>
#include <limits>

#include "machine_fixtures.hpp"

namespace corewise::machine {
namespace {

Machine sound() {
  return expect_machine(from_synthetic("ring:4"));
}

TEST(Check, FindsEachBrokenInvariant) {
  struct Case {
    const char* message;
    std::function<void(Machine&)> damage;
  };
  const std::vector<Case> cases{
      {"field 'name': found an empty name, allowed: a name", [](Machine& m) { m.name.clear(); }},
      {"field 'kind': found 'star', allowed: ring, mesh, tree, flat, composite",
       [](Machine& m) { m.kind = "star"; }},
      {"field 'stops[2]': found 'stop0' a second time, allowed: a unique name",
       [](Machine& m) { m.stops[2] = "stop0"; }},
      {"field 'links[1]': found an empty name, allowed: a name", [](Machine& m) { m.links[1].name.clear(); }},
      {"field 'units[3]': found 'core1' a second time, allowed: a unique name",
       [](Machine& m) { m.units[3].name = "core1"; }},
      {"field 'links[0].from': found 4, allowed: 0 to 3", [](Machine& m) { m.links[0].from = 4; }},
      {"field 'links[0].to': found -1, allowed: 0 to 3", [](Machine& m) { m.links[0].to = -1; }},
      {"field 'links[0]': found 'cw:stop0>stop1' from a stop to itself, allowed: two stops",
       [](Machine& m) { m.links[0].to = 0; }},
      {"field 'links[0].bandwidth_gb_per_s': found 0.000000, allowed: more than zero",
       [](Machine& m) { m.links[0].bandwidth_gb_per_s = 0; }},
      {"field 'links[0].bandwidth_gb_per_s': found inf, allowed: more than zero",
       [](Machine& m) { m.links[0].bandwidth_gb_per_s = std::numeric_limits<double>::infinity(); }},
      {"field 'links[0].latency_ns': found -1.000000, allowed: zero or more",
       [](Machine& m) { m.links[0].latency_ns = -1; }},
      {"field 'links[3].lanes': found 0, allowed: 1 or more", [](Machine& m) { m.links[3].lanes = 0; }},
      {"field 'simulation.a': found inf, allowed: a finite number",
       [](Machine& m) { m.parameters = {{"a", std::numeric_limits<double>::infinity()}}; }},
      {"field 'simulation[1]': found 'a' a second time, allowed: a unique name",
       [](Machine& m) { m.parameters = {{"a", 1}, {"a", 2}}; }},
      {"field 'units[2].stop': found 7, allowed: 0 to 3", [](Machine& m) { m.units[2].stop = 7; }},
      {"field 'units[1].os_index': found 5 a second time, allowed: a number of its own",
       [](Machine& m) { m.units[0].os_index = m.units[1].os_index = 5; }},
      {"field 'units[0].logical_core': found -2, allowed: -1 (unknown) or a number from 0",
       [](Machine& m) { m.units[0].logical_core = -2; }},
      {"field 'units': found 0 units, allowed: 1 to 1024", [](Machine& m) { m.units.clear(); }},
      {"field 'route_table': found 15 entries, allowed: 16, one per pair of units",
       [](Machine& m) { m.route_table.pop_back(); }},
      {"field 'routes from core0 to core1': found none, allowed: at least one",
       [](Machine& m) { m.route_table[1].clear(); }},
      {"field 'routes from core0 to core0': found links, allowed: one empty route",
       [](Machine& m) { m.route_table[0].push_back({}); }},
      {"field 'routes from core0 to core1': found 99, allowed: 0 to 7",
       [](Machine& m) { m.route_table[1][0].links[0] = 99; }},
      {"field 'routes from core0 to core1': found link 'cw:stop1>stop2' at stop 'stop0', allowed: links that "
       "follow "
       "each other",
       [](Machine& m) { m.route_table[1][0].links[0] = 1; }},
      {"field 'routes from core0 to core1': found an end at stop 'stop2', allowed: 'stop1'",
       [](Machine& m) { m.route_table[1][0].links.push_back(1); }},
      {"field 'routes from core0 to core1': found alternatives of different length, allowed: equally long ones",
       [](Machine& m) { m.route_table[1].push_back(Route{{4, 7, 6}}); }},
      {"field 'routes from core0 to core2': found the same route twice, allowed: different routes",
       [](Machine& m) { m.route_table[2].push_back(m.route_table[2][0]); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    Machine machine = sound();
    c.damage(machine);
    const Status status = check(machine);
    EXPECT_EQ(status.code(), Code::invalid_input);
    EXPECT_EQ(status.message(), c.message);
  }
}

}  // namespace
}  // namespace corewise::machine
