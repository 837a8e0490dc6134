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

using Table = std::vector<std::vector<Path>>;

/// Damages the routes of all pairs.
std::function<void(Machine&)> routes(const std::function<void(Table&)>& damage) {
  return [damage](Machine& machine) {
    Table table;
    for (const Routes& alternatives : machine.route_table) {
      table.emplace_back();
      for (const Route& route : alternatives) table.back().emplace_back(route.links.begin(), route.links.end());
    }
    damage(table);
    machine.route_table = {};
    for (const std::vector<Path>& alternatives : table) machine.route_table.add(alternatives);
  };
}

struct Case {
  const char* message;
  std::function<void(Machine&)> damage;
};

void expect_found(const Machine& good, const std::vector<Case>& cases) {
  ASSERT_TRUE(check(good).ok());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    Machine machine = good;
    c.damage(machine);
    const Status status = check(machine);
    EXPECT_EQ(status.code(), Code::invalid_input);
    EXPECT_EQ(status.message(), c.message);
  }
}

TEST(Check, FindsEachBrokenInvariant) {
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
      {"field 'units': found 0 units, allowed: 1 to 4096", [](Machine& m) { m.units.clear(); }},
      {"field 'route_table': found 15 entries, allowed: 16, one per pair of units",
       routes([](Table& t) { t.pop_back(); })},
      {"field 'routes from core0 to core1': found none, allowed: at least one",
       routes([](Table& t) { t[1].clear(); })},
      {"field 'routes from core0 to core0': found links, allowed: one empty route",
       routes([](Table& t) { t[0].emplace_back(); })},
      {"field 'routes from core0 to core1': found 99, allowed: 0 to 7", routes([](Table& t) { t[1][0][0] = 99; })},
      {"field 'routes from core0 to core1': found link 'cw:stop1>stop2' at stop 'stop0', allowed: links that "
       "follow "
       "each other",
       routes([](Table& t) { t[1][0][0] = 1; })},
      {"field 'routes from core0 to core1': found an end at stop 'stop2', allowed: 'stop1'",
       routes([](Table& t) { t[1][0].push_back(1); })},
      {"field 'routes from core0 to core1': found alternatives of different length, allowed: equally long ones",
       routes([](Table& t) { t[1].push_back({4, 7, 6}); })},
      {"field 'routes from core0 to core2': found the same route twice, allowed: different routes",
       routes([](Table& t) { t[2].push_back(t[2][0]); })},
  };
  expect_found(sound(), cases);
}

/// Links: package0 has 0 up and 1 down, package1 2 and 3, core0 to core3 4 and 5 to 10 and 11. One unit gets these.
std::function<void(Machine&)> way(std::size_t unit, const Path& up, const Path& down) {
  return [=](Machine& machine) {
    const RouteTable sound = machine.route_table;
    machine.route_table = {};
    for (std::size_t u = 0; u < machine.units.size(); ++u) {
      const auto old_up = sound.up(static_cast<UnitId>(u));
      const auto old_down = sound.down(static_cast<UnitId>(u));
      machine.route_table.add_way(u == unit ? up : Path(old_up.begin(), old_up.end()),
                                  u == unit ? down : Path(old_down.begin(), old_down.end()));
    }
  };
}

TEST(Check, FindsWhatIsWrongWithTheWaysOfATree) {
  const std::vector<Case> cases{
      {"field 'route_table': found 9 entries, allowed: 16, one per pair of units",
       [](Machine& m) {
         m.route_table = {};
         for (int unit = 0; unit < 3; ++unit) m.route_table.add_way({4, 0}, {1, 5});
       }},
      {"field 'way of core0 up': found 99, allowed: 0 to 11", way(0, {4, 99}, {1, 5})},
      {"field 'way of core0 up': found link 'package1:up' at stop 'package0', allowed: links that follow each "
       "other",
       way(0, {4, 2}, {1, 5})},
      {"field 'way of core1 up': found an end at stop 'package0', allowed: 'node'", way(1, {6}, {1, 7})},
      {"field 'way of core1 down': found link 'core1:down' at stop 'node', allowed: links that follow each other",
       way(1, {6, 0}, {7})},
      {"field 'way of core1 down': found an end at stop 'core0', allowed: 'core1'", way(1, {6, 0}, {1, 5})},
      {"field 'way of core0': found another way down than up, allowed: the same stops",
       way(0, {4, 0}, {1, 0, 1, 5})},
  };
  expect_found(expect_machine(from_synthetic("pack:2 core:2")), cases);
}

}  // namespace
}  // namespace corewise::machine
