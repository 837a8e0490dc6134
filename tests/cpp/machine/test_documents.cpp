// Machine documents: what each field does, and every refusal word for word. Each case changes one thing in a sound
// document, so that the message is about that thing.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine_fixtures.hpp"

namespace corewise::machine {
namespace {

const std::string kRing =
    R"({"format": "corewise-machine", "version": 1, "name": "m", "description": "d", "interconnect":
    {"kind": "ring", "stops": ["a", "b", "c"], "units": ["c", {"name": "u", "stop": "a"}],
     "rings_per_direction": 2, "ring_bandwidth": "10 GB/s", "hop_latency": "5 ns", "ties": "split"}})";

const std::string kMesh =
    R"({"format": "corewise-machine", "version": 1, "name": "m", "interconnect":
    {"kind": "mesh", "dims": [3, 2], "torus": [true, false], "units_per_tile": 2, "unit_name": "pe",
     "link_bandwidth": "10 GB/s", "hop_latency": "5 ns", "ties": "clockwise"}})";

const std::string kTree =
    R"({"format": "corewise-machine", "version": 1, "name": "m", "interconnect": {"kind": "tree", "level": [
    {"name": "l3", "count": 2, "up_bandwidth": "1 GB/s", "down_bandwidth": "2 GB/s", "hop_latency": "7 ns"},
    {"name": "core", "count": 3, "up_bandwidth": "3 GB/s", "down_bandwidth": "4 GB/s", "hop_latency": "5 ns"}]}})";

const std::string kFlat =
    R"({"format": "corewise-machine", "version": 1, "name": "m", "interconnect":
    {"kind": "flat", "count": 3, "unit_name": "pe", "port_bandwidth": "10 GB/s", "hop_latency": "5 ns"}})";

const std::string kComposite =
    R"json({"format": "corewise-machine", "version": 1, "name": "m", "part": [
    {"name": "p", "kind": "flat", "count": 2, "port_bandwidth": "10 GB/s", "hop_latency": "5 ns"},
    {"name": "q", "kind": "mesh", "dims": [2], "link_bandwidth": "10 GB/s", "hop_latency": "5 ns"}],
    "bridge": [{"between": ["p.crossbar", "q.tile(1)"], "link_bandwidth": "3 GB/s", "hop_latency": "9 ns"}]})json";

/// `text` with the first `from` replaced; fails the test when it is not there.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expect_refusal(const std::string& text, const std::string& expected) {
  SCOPED_TRACE(expected);
  const auto result = from_json(text, "m.toml");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::invalid_input);
  EXPECT_EQ(result.status().message(), "m.toml: " + expected);
}

void expect_refusal(const std::string& sound, const std::string& from, const std::string& to,
                    const std::string& expected) {
  expect_refusal(with(sound, from, to), expected);
}

TEST(Documents, RingFields) {
  const Machine ring = expect_machine(from_json(kRing, "m.toml"));
  EXPECT_EQ(ring.name, "m");
  EXPECT_EQ(ring.description, "d");
  EXPECT_EQ(ring.kind, "ring");
  EXPECT_EQ(ring.stops, (Names{"a", "b", "c"}));
  ASSERT_EQ(ring.units.size(), 2U);
  EXPECT_EQ(ring.units[0].name, "c");
  EXPECT_EQ(ring.units[1].name, "u");
  EXPECT_EQ(ring.units[1].stop, 0);
  EXPECT_DOUBLE_EQ(ring.links[0].bandwidth_gb_per_s, 20);
  EXPECT_DOUBLE_EQ(ring.links[0].latency_ns, 5);
  EXPECT_EQ(route_names(ring, 0, 1), (Alternatives{{"cw:c>a"}}));
}

TEST(Documents, MeshFields) {
  const Machine mesh = expect_machine(from_json(kMesh, "m.toml"));
  EXPECT_EQ(mesh.kind, "mesh");
  EXPECT_EQ(mesh.stops, (Names{"tile(0,0)", "tile(1,0)", "tile(2,0)", "tile(0,1)", "tile(1,1)", "tile(2,1)"}));
  ASSERT_EQ(mesh.units.size(), 12U);
  EXPECT_EQ(mesh.units[11].name, "pe11");
  EXPECT_EQ(mesh.links.size(), 12U + 6U);  // x closes, y does not
  EXPECT_EQ(route_names(mesh, 0, 4), (Alternatives{{"x-(0,0)"}}));
  EXPECT_DOUBLE_EQ(mesh.links[0].bandwidth_gb_per_s, 10);
}

TEST(Documents, ParallelRingsAreLanesOfALink) {
  const Machine ring = expect_machine(from_json(kRing, "m.toml"));
  for (const Link& link : ring.links) EXPECT_EQ(link.lanes, 2) << link.name;
  const Machine mesh = expect_machine(from_json(kMesh, "m.toml"));
  for (const Link& link : mesh.links) EXPECT_EQ(link.lanes, 1) << link.name;
}

std::string with_simulation(const std::string& table) {
  return with(kFlat, R"("interconnect":)", R"("simulation": )" + table + R"(, "interconnect":)");
}

TEST(Documents, SimulationTable) {
  const Machine node = expect_machine(
      from_json(with_simulation(R"({"b": 3, "model": "cell", "a": -0.5, "c": 79800000})"), "m.toml"));
  EXPECT_EQ(node.model, "cell");
  EXPECT_EQ(node.source, "m.toml");
  ASSERT_EQ(node.parameters.size(), 3U);
  EXPECT_EQ(node.parameters[0].name, "b");
  EXPECT_EQ(node.parameters[0].value, 3);
  EXPECT_EQ(node.parameters[1].name, "a");
  EXPECT_EQ(node.parameters[1].value, -0.5);
  EXPECT_EQ(node.parameters[2].value, 79800000);
}

TEST(Documents, NoSimulationTable) {
  const Machine node = expect_machine(from_json(kFlat, "m.toml"));
  EXPECT_EQ(node.model, "");
  EXPECT_TRUE(node.parameters.empty());
}

TEST(Documents, SimulationRefusals) {
  expect_refusal(with_simulation(R"({"a": "1 ns"})"),
                 R"(field 'simulation.a': found string "1 ns", allowed: a number)");
  expect_refusal(with_simulation(R"({"a": true})"), "field 'simulation.a': found true, allowed: a number");
  expect_refusal(with_simulation(R"({"a": {"b": 1}})"), "field 'simulation.a': found object, allowed: a number");
  expect_refusal(with_simulation(R"({"model": 3})"), "field 'simulation.model': found number 3, allowed: a string");
  expect_refusal(with_simulation("[]"), "field 'simulation': found array of 0, allowed: an object");
}

TEST(Documents, MeshDefaultsAreOneUnitPerTileAndOpenEdges) {
  const Machine mesh = expect_machine(from_json(
      R"({"format": "corewise-machine", "version": 1, "name": "m", "interconnect": {"kind": "mesh", "dims": [4],
          "link_bandwidth": "10 GB/s", "hop_latency": "5 ns"}})",
      "m.toml"));
  ASSERT_EQ(mesh.units.size(), 4U);
  EXPECT_EQ(mesh.units[3].name, "core3");
  EXPECT_EQ(mesh.hops(0, 3), 3);
}

TEST(Documents, TorusTiesFollowTheRule) {
  const std::string square =
      with(with(kMesh, "[3, 2]", "[4, 1]"), "\"units_per_tile\": 2", "\"units_per_tile\": 1");
  const Machine clockwise = expect_machine(from_json(square, "m.toml"));
  EXPECT_EQ(route_names(clockwise, 3, 1), (Alternatives{{"x+(3,0)", "x+(0,0)"}}));
  const Machine other = expect_machine(from_json(with(square, "clockwise", "counterclockwise"), "m.toml"));
  EXPECT_EQ(route_names(other, 3, 1), (Alternatives{{"x-(3,0)", "x-(2,0)"}}));
}

TEST(Documents, TreeFields) {
  const Machine tree = expect_machine(from_json(kTree, "m.toml"));
  EXPECT_EQ(tree.kind, "tree");
  ASSERT_EQ(tree.units.size(), 6U);
  EXPECT_EQ(tree.units[4].name, "core4");
  EXPECT_EQ(tree.units[4].domains, (Names{"l3-1"}));
  EXPECT_EQ(tree.units[4].logical_core, 4);
  EXPECT_DOUBLE_EQ(link_named(tree, "l3-1:up").bandwidth_gb_per_s, 1);
  EXPECT_DOUBLE_EQ(link_named(tree, "l3-1:down").bandwidth_gb_per_s, 2);
  EXPECT_DOUBLE_EQ(link_named(tree, "l3-1:down").latency_ns, 7);
  EXPECT_DOUBLE_EQ(link_named(tree, "core5:up").bandwidth_gb_per_s, 3);
  EXPECT_EQ(route_names(tree, 0, 5), (Alternatives{{"core0:up", "l3-0:up", "l3-1:down", "core5:down"}}));
}

const std::string kUneven =
    R"({"format": "corewise-machine", "version": 1, "name": "m",
    "origin": {"source": "somebody", "processor": "P", "measured": ["latency"],
               "nominal": ["bandwidth"]},
    "interconnect": {"kind": "tree", "os_indexes": [6, 4, 5], "logical_cores": [2, 0, 1], "level": [
    {"name": "l3", "count": 2, "up_bandwidth": "1 GB/s", "down_bandwidth": "2 GB/s", "hop_latency": ["7 ns", "9 ns"]},
    {"name": "core", "counts": [1, 2], "up_bandwidth": "3 GB/s", "down_bandwidth": "4 GB/s",
     "hop_latency": "5 ns"}]}})";

TEST(Documents, UnevenTreeFields) {
  const Machine tree = expect_machine(from_json(kUneven, "m.toml"));
  ASSERT_EQ(tree.units.size(), 3U);
  EXPECT_EQ(tree.units[0].domains, (Names{"l3-0"}));
  EXPECT_EQ(tree.units[1].domains, (Names{"l3-1"}));
  EXPECT_EQ(tree.units[2].domains, (Names{"l3-1"}));
  EXPECT_EQ(tree.units[0].os_index, 6);
  EXPECT_EQ(tree.units[0].logical_core, 2);
  EXPECT_DOUBLE_EQ(link_named(tree, "l3-0:up").latency_ns, 7);
  EXPECT_DOUBLE_EQ(link_named(tree, "l3-1:down").latency_ns, 9);
  EXPECT_DOUBLE_EQ(link_named(tree, "core2:up").latency_ns, 5);
  EXPECT_EQ(tree.origin.source, "somebody");
  EXPECT_EQ(tree.origin.processor, "P");
  EXPECT_EQ(tree.origin.measured, (Names{"latency"}));
  EXPECT_EQ(tree.origin.nominal, (Names{"bandwidth"}));
}

TEST(Documents, UnitsThatSayTheirProcessingUnitSayNoLogicalCoreByThemselves) {
  const Machine tree = expect_machine(from_json(with(kUneven, "\"logical_cores\": [2, 0, 1], ", ""), "m.toml"));
  EXPECT_EQ(tree.units[0].logical_core, -1);
  EXPECT_EQ(tree.units[0].os_index, 6);
}

TEST(Documents, UnevenTreeRefusals) {
  expect_refusal(
      kUneven, "[1, 2]", "[1, 2, 3]",
      "field 'interconnect.level[1].counts': found 3 entries, allowed: 2, one per node of the level above");
  expect_refusal(kUneven, "[1, 2]", "[1, 0]",
                 "field 'interconnect.level[1].counts[1]': found number 0, allowed: an integer from 1 to 4096");
  expect_refusal(kUneven, "[1, 2]", "[1, 4096]",
                 "field 'interconnect.level': found more than 4096 units, allowed: at most 4096");
  expect_refusal(
      kUneven, "[\"7 ns\", \"9 ns\"]", "[\"7 ns\"]",
      "field 'interconnect.level[0].hop_latency': found 1 entries, allowed: 2, one per node of the level");
  expect_refusal(kUneven, "\"9 ns\"", "\"0 ns\"",
                 "field 'interconnect.level[0].hop_latency[1]': found string \"0 ns\", allowed: more than zero");
  expect_refusal(kUneven, "[6, 4, 5]", "[6, 4]",
                 "field 'interconnect.os_indexes': found 2 entries, allowed: 3, one per unit");
  expect_refusal(kUneven, "[6, 4, 5]", "[6, 4, 6]",
                 "field 'interconnect.os_indexes[2]': found 6 a second time, allowed: a number of its own");
  expect_refusal(kUneven, "[6, 4, 5]", "[6, 4, -1]",
                 "field 'interconnect.os_indexes[2]': found number -1, allowed: an integer from 0 to 2147483647");
  expect_refusal(kUneven, "[\"latency\"]", "[\"luck\"]",
                 "field 'origin.measured[0]': found string \"luck\", allowed: latency, bandwidth");
  expect_refusal(kUneven, "\"processor\"", "\"chip\"",
                 "field 'origin.chip': found an unknown field, allowed: source, processor, measured, nominal");
}

TEST(Documents, FlatAndCompositeFields) {
  const Machine flat = expect_machine(from_json(kFlat, "m.toml"));
  EXPECT_EQ(flat.kind, "flat");
  EXPECT_EQ(flat.units[2].name, "pe2");
  const Machine both = expect_machine(from_json(kComposite, "m.toml"));
  EXPECT_EQ(both.kind, "composite");
  ASSERT_EQ(both.units.size(), 4U);
  EXPECT_EQ(route_names(both, unit_named(both, "p.core1"), unit_named(both, "q.core0")),
            (Alternatives{{"p.core1:out", "bridge:p.crossbar>q.tile(1)", "q.x-(1)"}}));
  EXPECT_EQ(route_names(both, unit_named(both, "q.core1"), unit_named(both, "p.core0")),
            (Alternatives{{"bridge:q.tile(1)>p.crossbar", "p.core0:in"}}));
  EXPECT_DOUBLE_EQ(link_named(both, "bridge:p.crossbar>q.tile(1)").bandwidth_gb_per_s, 3);
}

TEST(Documents, HeaderRefusals) {
  EXPECT_EQ(from_json("{\n", "m.toml").status().message().find("m.toml:"), 0U);
  expect_refusal("[]", "field '(document)': found array of 0, allowed: an object");
  expect_refusal("{}", "field 'format': found nothing, allowed: a string");
  expect_refusal(kRing, "corewise-machine", "corewise-pattern",
                 "field 'format': found \"corewise-pattern\", allowed: \"corewise-machine\"");
  expect_refusal(kRing, "\"version\": 1", "\"version\": 2",
                 "field 'version': found number 2, allowed: an integer from 1 to 1");
  expect_refusal(kRing, "\"version\": 1", "\"version\": \"1\"",
                 "field 'version': found string \"1\", allowed: an integer from 1 to 1");
  expect_refusal(kRing, "\"name\": \"m\", ", "", "field 'name': found nothing, allowed: a string");
  expect_refusal(kRing, "\"name\": \"m\"", "\"name\": \"\"",
                 "field 'name': found an empty string, allowed: a name");
  expect_refusal(kRing, "\"description\": \"d\"", "\"description\": 4",
                 "field 'description': found number 4, allowed: a string");
  expect_refusal(
      kRing, "\"description\"", "\"summary\"",
      "field 'summary': found an unknown field, allowed: format, version, name, description, part, bridge, "
      "interconnect, simulation, origin");
  expect_refusal(
      kRing, "\"interconnect\"", "\"network\"",
      "field 'interconnect': found nothing, allowed: one table [interconnect], or several [[part]] joined "
      "by [[bridge]]");
  expect_refusal(R"({"format": "corewise-machine", "version": 1, "name": "m", "interconnect": "ring"})",
                 "field 'interconnect': found string \"ring\", allowed: an object");
  expect_refusal(kRing, "\"kind\": \"ring\"", "\"kind\": \"star\"",
                 "field 'interconnect.kind': found 'star', allowed: ring, mesh, tree, flat");
  expect_refusal(kRing, "\"kind\": \"ring\", ", "", "field 'interconnect.kind': found nothing, allowed: a string");
}

TEST(Documents, RingRefusals) {
  expect_refusal(kRing, R"(["a", "b", "c"])", R"(["a", "b", 3])",
                 "field 'interconnect.stops[2]': found number 3, allowed: a string");
  expect_refusal(kRing, R"(["a", "b", "c"])", R"(["a", "b", "a"])",
                 "field 'interconnect.stops[2]': found 'a' a second time, allowed: unique names");
  expect_refusal(kRing, R"(["a", "b", "c"])", R"(["a", ""])",
                 "field 'interconnect.stops[1]': found an empty string, allowed: a name");
  expect_refusal(kRing, R"(["a", "b", "c"])", R"(["a"])",
                 "field 'interconnect.stops': found 1 stops, allowed: at least 2");
  expect_refusal(kRing, R"(["a", "b", "c"])", R"("abc")",
                 "field 'interconnect.stops': found string \"abc\", allowed: an array");
  expect_refusal(kRing, R"("units": ["c")", R"("units": ["d")",
                 "field 'interconnect.units[0]': found 'd', allowed: one of the stops: a, b, c");
  expect_refusal(kRing, R"("stop": "a")", R"("stop": "d")",
                 "field 'interconnect.units[1].stop': found 'd', allowed: one of the stops: a, b, c");
  expect_refusal(kRing, R"("stop": "a")", R"("place": "a")",
                 "field 'interconnect.units[1].stop': found nothing, allowed: a string");
  expect_refusal(kRing, R"("stop": "a")", R"("stop": "a", "os": 1)",
                 "field 'interconnect.units[1].os': found an unknown field, allowed: name, stop");
  expect_refusal(kRing, R"("name": "u")", R"("name": "c")",
                 "field 'interconnect.units[1]': found 'c' a second time, allowed: unique names");
  expect_refusal(kRing, R"("name": "u")", R"("name": "")",
                 "field 'interconnect.units[1].name': found an empty string, allowed: a name");
  expect_refusal(kRing, R"("units": ["c")", R"("units": [4)",
                 "field 'interconnect.units[0]': found number 4, allowed: a stop's name or a table {name, stop}");
  expect_refusal(kRing, R"("units": ["c", {"name": "u", "stop": "a"}])", R"("units": [])",
                 "field 'interconnect.units': found an empty array, allowed: at least one unit");
  expect_refusal(kRing, R"("rings_per_direction": 2)", R"("rings_per_direction": 0)",
                 "field 'interconnect.rings_per_direction': found number 0, allowed: an integer from 1 to 1024");
  expect_refusal(
      kRing, R"("rings_per_direction": 2)", R"("rings_per_direction": 1.5)",
      "field 'interconnect.rings_per_direction': found number 1.5E0, allowed: an integer from 1 to 1024");
  expect_refusal(kRing, R"("rings_per_direction": 2)", R"("rings_per_direction": true)",
                 "field 'interconnect.rings_per_direction': found true, allowed: an integer from 1 to 1024");
  expect_refusal(kRing, R"("ties": "split")", R"("ties": "random")",
                 "field 'interconnect.ties': found 'random', allowed: split, clockwise, counterclockwise");
  expect_refusal(kRing, R"("ties": "split")", R"("hop_latncy": "split")",
                 "field 'interconnect.hop_latncy': found an unknown field, allowed: kind, stops, units, "
                 "rings_per_direction, ring_bandwidth, hop_latency, ties");
}

TEST(Documents, QuantityRefusals) {
  const std::string bandwidth = "allowed: a bandwidth with its unit (a size unit and '/s'), such as '25.6 GB/s'";
  expect_refusal(kRing, "\"10 GB/s\"", "\"10\"", "field 'interconnect.ring_bandwidth': found '10', " + bandwidth);
  expect_refusal(kRing, "\"10 GB/s\"", "\"-10 GB/s\"",
                 "field 'interconnect.ring_bandwidth': found '-10 GB/s', " + bandwidth);
  expect_refusal(kRing, "\"10 GB/s\"", "\"0 GB/s\"",
                 "field 'interconnect.ring_bandwidth': found string \"0 GB/s\", allowed: more than zero");
  expect_refusal(
      kRing, "\"10 GB/s\"", "10",
      "field 'interconnect.ring_bandwidth': found number 10, allowed: a string, a bandwidth with its unit "
      "such as \"25.6 GB/s\"");
  expect_refusal(kRing, "\"ring_bandwidth\": \"10 GB/s\", ", "",
                 "field 'interconnect.ring_bandwidth': found nothing, allowed: a string, a bandwidth with its unit "
                 "such as \"25.6 GB/s\"");
  expect_refusal(
      kRing, "\"5 ns\"", "\"5\"",
      "field 'interconnect.hop_latency': found '5', allowed: a time with its unit (ps, ns, us, ms, s), such "
      "as '100 ns'");
  expect_refusal(
      kRing, "\"5 ns\"", "5.0",
      "field 'interconnect.hop_latency': found number 5E0, allowed: a string, a time with its unit such as "
      "\"100 ns\"");
}

TEST(Documents, MeshRefusals) {
  expect_refusal(kMesh, "[3, 2]", "[]", "field 'interconnect.dims': found 0 dimensions, allowed: 1 to 3 of them");
  expect_refusal(kMesh, "[3, 2]", "[2, 2, 2, 2]",
                 "field 'interconnect.dims': found 4 dimensions, allowed: 1 to 3 of them");
  expect_refusal(kMesh, "[3, 2]", "[3, -2]",
                 "field 'interconnect.dims[1]': found number -2, allowed: an integer from 1 to 1024");
  expect_refusal(kMesh, "[3, 2]", "[100, 20]",
                 "field 'interconnect.dims': found more than 1024 units, allowed: at most 1024");
  expect_refusal(kMesh, "[true, false]", "[true]",
                 "field 'interconnect.torus': found 1 entries, allowed: one per dimension");
  expect_refusal(kMesh, "[true, false]", "[true, 0]",
                 "field 'interconnect.torus[1]': found number 0, allowed: true or false");
  expect_refusal(kMesh, "[true, false]", "true", "field 'interconnect.torus': found true, allowed: an array");
  expect_refusal(kMesh, "\"pe\"", "\"\"", "field 'interconnect.unit_name': found an empty string, allowed: a name");
  expect_refusal(kMesh, "\"units_per_tile\": 2", "\"units_per_tile\": 0",
                 "field 'interconnect.units_per_tile': found number 0, allowed: an integer from 1 to 1024");
  expect_refusal(kMesh, "\"units_per_tile\"", "\"cores\"",
                 "field 'interconnect.cores': found an unknown field, allowed: kind, dims, torus, units_per_tile, "
                 "unit_name, link_bandwidth, hop_latency, ties");
}

TEST(Documents, TreeAndFlatRefusals) {
  expect_refusal(kTree, "\"level\"", "\"levels\"", "field 'interconnect.level': found nothing, allowed: an array");
  expect_refusal(kTree, "\"name\": \"l3\"", "\"name\": \"core\"",
                 "field 'interconnect.level[1].name': found 'core' a second time, allowed: unique names");
  expect_refusal(kTree, "\"count\": 3", "\"count\": 0",
                 "field 'interconnect.level[1].count': found number 0, allowed: an integer from 1 to 4096");
  expect_refusal(kTree, "\"count\": 3", "\"count\": 4000",
                 "field 'interconnect.level': found more than 4096 units, allowed: at most 4096");
  expect_refusal(
      kTree, "\"up_bandwidth\": \"3 GB/s\", ", "",
      "field 'interconnect.level[1].up_bandwidth': found nothing, allowed: a string, a bandwidth with its "
      "unit such as \"25.6 GB/s\"");
  expect_refusal(kTree, "\"count\": 3", "\"count\": 3, \"size\": 1",
                 "field 'interconnect.level[1].size': found an unknown field, allowed: name, counts, count, "
                 "up_bandwidth, down_bandwidth, hop_latency");
  expect_refusal(
      R"({"format": "corewise-machine", "version": 1, "name": "m",
                     "interconnect": {"kind": "tree", "level": []}})",
      "field 'interconnect.level': found no level, allowed: at least one [[level]] table, outermost first");
  expect_refusal(kFlat, "\"count\": 3", "\"count\": 4097",
                 "field 'interconnect.count': found number 4097, allowed: an integer from 1 to 4096");
  expect_refusal(kFlat, "\"pe\"", "7", "field 'interconnect.unit_name': found number 7, allowed: a string");
}

TEST(Documents, CompositeRefusals) {
  expect_refusal(kComposite, "\"kind\": \"mesh\"", "\"kind\": \"net\"",
                 "field 'part[1].kind': found 'net', allowed: ring, mesh, tree, flat");
  expect_refusal(kComposite, "\"dims\": [2]", "\"dims\": [0]",
                 "field 'part[1].dims[0]': found number 0, allowed: an integer from 1 to 1024");
  expect_refusal(
      kComposite, "\"count\": 2", "\"count\": 2, \"x\": 1",
      "field 'part[0].x': found an unknown field, allowed: name, kind, count, unit_name, port_bandwidth, "
      "hop_latency");
  expect_refusal(kComposite, "\"name\": \"q\"", "\"name\": \"p\"",
                 "field 'part[1].name': found 'p' a second time, allowed: unique names");
  expect_refusal(kComposite, "q.tile(1)", "q.tile(2)",
                 "field 'bridge[0].between[1]': found string \"q.tile(2)\", allowed: a stop as \"PART.STOP\"");
  expect_refusal(kComposite, "q.tile(1)", "p.core0",
                 "field 'bridge[0].between': found two stops of one part, allowed: stops of two different parts");
  expect_refusal(kComposite, ", \"q.tile(1)\"", "", "field 'bridge[0].between': found 1 stops, allowed: exactly 2");
  expect_refusal(kComposite, "\"3 GB/s\"", "\"0 B/s\"",
                 "field 'bridge[0].link_bandwidth': found string \"0 B/s\", allowed: more than zero");
  expect_refusal(kComposite, "\"bridge\": [{", R"json("bridge": [{"between": ["q.tile(1)", "p.crossbar"],
                 "link_bandwidth": "3 GB/s", "hop_latency": "9 ns"}, {)json",
                 "field 'bridge[1].between': found the same two stops a second time, allowed: one bridge per pair");
  expect_refusal(kComposite, "\"part\": [", R"("part": [{"name": "lost", "kind": "flat", "count": 1,
                 "port_bandwidth": "1 GB/s", "hop_latency": "1 ns"}, )",
                 "field 'part[1]': found no bridge from 'p', allowed: bridges that join every part to 'lost'");
  expect_refusal(kComposite, "\"name\": \"m\"", "\"name\": \"m\", \"interconnect\": {}",
                 "field 'interconnect': found an unknown field, allowed: format, version, name, description, part, "
                 "bridge, simulation, origin");
  expect_refusal(R"({"format": "corewise-machine", "version": 1, "name": "m", "part": [], "bridge": []})",
                 "field 'part': found 0 parts, allowed: at least 2");
  expect_refusal(R"({"format": "corewise-machine", "version": 1, "name": "m", "bridge": []})",
                 "field 'part': found nothing, allowed: an array");
}

TEST(Documents, UnitsOfAllPartsTogetherAreLimited) {
  expect_refusal(with(with(kComposite, "\"count\": 2", "\"count\": 1000"), "[2]", "[100]"),
                 "field 'units': found 1100 units, allowed: at most 1024");
}

}  // namespace
}  // namespace corewise::machine
