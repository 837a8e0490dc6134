// Routing against independent references: breadth-first search for lengths, a walk over coordinates for XY routes,
// hand-drawn composites for bridges, and a brute count of equally long paths.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>

#include "machine_fixtures.hpp"

namespace corewise::machine {
namespace {

/// Hops from one stop to all others, over links alone.
std::vector<int> breadth_first(const Machine& machine, StopId from) {
  std::vector<int> distance(machine.stops.size(), -1);
  std::deque<StopId> queue{from};
  distance[from] = 0;
  while (!queue.empty()) {
    const StopId here = queue.front();
    queue.pop_front();
    for (const Link& link : machine.links) {
      if (link.from != here || distance[link.to] >= 0) continue;
      distance[link.to] = distance[here] + 1;
      queue.push_back(link.to);
    }
  }
  return distance;
}

void expect_shortest(const Machine& machine) {
  for (std::size_t u = 0; u < machine.units.size(); ++u) {
    const auto distance = breadth_first(machine, machine.units[u].stop);
    for (std::size_t v = 0; v < machine.units.size(); ++v) {
      EXPECT_EQ(machine.hops(static_cast<UnitId>(u), static_cast<UnitId>(v)), distance[machine.units[v].stop])
          << machine.name << ": " << machine.units[u].name << " to " << machine.units[v].name;
    }
  }
}

TEST(Routes, EveryFamilyTakesAShortestWay) {
  for (const char* text : {"ring:2", "ring:5", "ring:8", "ring:3 core:2", "mesh:6x4 core:2", "mesh:3x2x4", "mesh:7",
                           "torus:4x4", "torus:5x3", "torus:2x2", "torus:1x6", "torus:3x4x2", "flat:1", "flat:6",
                           "pack:2 l3:3 core:2", "core:5", "pack:1 numa:2 l3:1 l2:2 core:1 pu:2"}) {
    SCOPED_TRACE(text);
    expect_shortest(expect_machine(from_synthetic(text)));
  }
  for (const char* name : {"cell-be", "cell-blade", "ps3", "mesh-6x4", "chiplet-2s", "flat"}) {
    SCOPED_TRACE(name);
    expect_shortest(bundled(name));
  }
}

TEST(Routes, TheLargestTreesAndFlatNodesAreWaysUpAndDown) {
  const Machine tree = expect_machine(from_synthetic("pack:512 core:8"));
  ASSERT_EQ(tree.units.size(), static_cast<std::size_t>(kMaxUnits));
  EXPECT_EQ(tree.route_table.size(), tree.units.size() * tree.units.size());
  EXPECT_EQ(route_names(tree, 0, 4095),
            (Alternatives{{"core0:up", "package0:up", "package511:down", "core4095:down"}}));
  EXPECT_EQ(route_names(tree, 4088, 4095), (Alternatives{{"core4088:up", "core4095:down"}}));
  EXPECT_EQ(route_names(tree, 77, 77), Alternatives{{}});
  const Machine flat = expect_machine(from_synthetic("flat:4096"));
  EXPECT_EQ(route_names(flat, 4095, 17), (Alternatives{{"core4095:out", "core17:in"}}));
}

/// The stops of the XY route between tiles of a 6x4 mesh, by walking the coordinates.
Names xy_stops(int from, int to) {
  int x = from % 6;
  int y = from / 6;
  Names stops;
  const auto visit = [&] { stops.push_back("tile(" + std::to_string(x) + "," + std::to_string(y) + ")"); };
  while (x != to % 6) x += x < to % 6 ? 1 : -1, visit();
  while (y != to / 6) y += y < to / 6 ? 1 : -1, visit();
  return stops;
}

TEST(Routes, MeshGoesAlongXFirst) {
  const Machine mesh = bundled("mesh-6x4");
  for (int from = 0; from < 48; ++from) {
    for (int to = 0; to < 48; ++to) {
      ASSERT_EQ(mesh.routes(from, to).size(), 1U);
      Names stops;
      for (const LinkId link : mesh.routes(from, to).front().links)
        stops.push_back(mesh.stops[mesh.links[link].to]);
      EXPECT_EQ(stops, xy_stops(from / 2, to / 2)) << from << " to " << to;
    }
  }
}

TEST(Routes, MeshLinkNamesSayTheirDirection) {
  const Machine mesh = expect_machine(from_synthetic("mesh:3x2"));
  EXPECT_EQ(route_names(mesh, 0, 5), (Alternatives{{"x+(0,0)", "x+(1,0)", "y+(2,0)"}}));
  EXPECT_EQ(route_names(mesh, 5, 0), (Alternatives{{"x-(2,1)", "x-(1,1)", "y-(0,1)"}}));
}

TEST(Routes, TorusTiesMultiplyPerDimension) {
  const Machine torus = expect_machine(from_synthetic("torus:4x4"));
  for (int from = 0; from < 16; ++from) {
    for (int to = 0; to < 16; ++to) {
      const bool tie_x = std::abs(from % 4 - to % 4) == 2;
      const bool tie_y = std::abs(from / 4 - to / 4) == 2;
      EXPECT_EQ(torus.routes(from, to).size(), (tie_x ? 2U : 1U) * (tie_y ? 2U : 1U)) << from << " to " << to;
    }
  }
  EXPECT_EQ(route_names(torus, 0, 10), (Alternatives{{"x+(0,0)", "x+(1,0)", "y+(2,0)", "y+(2,1)"},
                                                     {"x+(0,0)", "x+(1,0)", "y-(2,0)", "y-(2,3)"},
                                                     {"x-(0,0)", "x-(3,0)", "y+(2,0)", "y+(2,1)"},
                                                     {"x-(0,0)", "x-(3,0)", "y-(2,0)", "y-(2,3)"}}));
}

TEST(Routes, OddRingsHaveNoTies) {
  const Machine ring = expect_machine(from_synthetic("ring:7"));
  for (int from = 0; from < 7; ++from) {
    for (int to = 0; to < 7; ++to) EXPECT_EQ(ring.routes(from, to).size(), 1U);
  }
}

std::string ring_document(const std::string& ties) {
  return R"({"format": "corewise-machine", "version": 1, "name": "r", "interconnect": {"kind": "ring",
    "stops": ["a", "b", "c", "d"], "units": ["a", "b", "c", "d"], "rings_per_direction": 1,
    "ring_bandwidth": "1 GB/s", "hop_latency": "1 ns", "ties": ")" +
         ties + "\"}}";
}

TEST(Routes, TieRuleDecidesHalfWayPairs) {
  const Machine split = expect_machine(from_json(ring_document("split"), ""));
  const Machine cw = expect_machine(from_json(ring_document("clockwise"), ""));
  const Machine ccw = expect_machine(from_json(ring_document("counterclockwise"), ""));
  EXPECT_EQ(route_names(split, 0, 2), (Alternatives{{"cw:a>b", "cw:b>c"}, {"ccw:a>d", "ccw:d>c"}}));
  EXPECT_EQ(route_names(cw, 0, 2), (Alternatives{{"cw:a>b", "cw:b>c"}}));
  EXPECT_EQ(route_names(cw, 2, 0), (Alternatives{{"cw:c>d", "cw:d>a"}}));
  EXPECT_EQ(route_names(ccw, 0, 2), (Alternatives{{"ccw:a>d", "ccw:d>c"}}));
  EXPECT_EQ(route_names(ccw, 0, 1), (Alternatives{{"cw:a>b"}}));
}

std::string ring_part(const std::string& name) {
  return R"({"name": ")" + name +
         R"(", "kind": "ring", "stops": ["a", "b", "c", "d"], "units": ["a", "b", "c", "d"],
    "rings_per_direction": 1, "ring_bandwidth": "1 GB/s", "hop_latency": "1 ns"})";
}

std::string bridge(const std::string& one, const std::string& other) {
  return R"({"between": [")" + one + R"(", ")" + other +
         R"("], "link_bandwidth": "1 GB/s", "hop_latency": "9 ns"})";
}

Machine composite(const std::vector<std::string>& parts, const std::vector<std::string>& bridges) {
  std::string text = R"({"format": "corewise-machine", "version": 1, "name": "c", "part": [)";
  for (const auto& part : parts) text.append(part == parts.front() ? "" : ",").append(ring_part(part));
  text += R"(], "bridge": [)";
  for (const auto& item : bridges) text.append(item == bridges.front() ? "" : ",").append(item);
  return expect_machine(from_json(text + "]}", "c.toml"));
}

TEST(Routes, TiesOfBothPartsMultiplyOverABridge) {
  const Machine two = composite({"p", "q"}, {bridge("p.a", "q.a")});
  expect_shortest(two);
  EXPECT_EQ(two.routes(unit_named(two, "p.c"), unit_named(two, "q.c")).size(), 4U);
  EXPECT_EQ(two.routes(unit_named(two, "p.c"), unit_named(two, "q.b")).size(), 2U);
  EXPECT_EQ(two.routes(unit_named(two, "p.a"), unit_named(two, "q.d")).size(), 1U);
}

TEST(Routes, ParallelBridgesAreChosenByHops) {
  const Machine two = composite({"p", "q"}, {bridge("p.a", "q.a"), bridge("p.c", "q.c")});
  expect_shortest(two);
  EXPECT_EQ(route_names(two, unit_named(two, "p.c"), unit_named(two, "q.c")), (Alternatives{{"bridge:p.c>q.c"}}));
  EXPECT_EQ(
      route_names(two, unit_named(two, "p.b"), unit_named(two, "q.b")),
      (Alternatives{{"p.ccw:b>a", "bridge:p.a>q.a", "q.cw:a>b"}, {"p.cw:b>c", "bridge:p.c>q.c", "q.ccw:c>b"}}));
}

TEST(Routes, TransfersPassThroughAPartInBetween) {
  const Machine line = composite({"p", "q", "r"}, {bridge("p.a", "q.a"), bridge("q.c", "r.c")});
  expect_shortest(line);
  EXPECT_EQ(line.hops(unit_named(line, "p.a"), unit_named(line, "r.c")), 1 + 2 + 1);
  EXPECT_EQ(line.routes(unit_named(line, "p.a"), unit_named(line, "r.c")).size(), 2U);
}

TEST(Routes, ACircleOfPartsTiesWhereBothWaysAreEqual) {
  const Machine circle = composite({"p", "q", "r", "s"}, {bridge("p.a", "q.a"), bridge("q.b", "r.b"),
                                                          bridge("r.a", "s.a"), bridge("s.b", "p.b")});
  expect_shortest(circle);
  // p.a to r.b: a-q.a, q.a-q.b, q.b-r.b is 3; the other way p.a-p.b, p.b-s.b, s.b-s.a, s.a-r.a, r.a-r.b is 5.
  EXPECT_EQ(circle.hops(unit_named(circle, "p.a"), unit_named(circle, "r.b")), 3);
  // p.a to r.a: 4 either way.
  EXPECT_EQ(circle.routes(unit_named(circle, "p.a"), unit_named(circle, "r.a")).size(), 2U);
}

}  // namespace
}  // namespace corewise::machine
