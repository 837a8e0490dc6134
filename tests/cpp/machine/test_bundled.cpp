// The machines that come with corewise: the Cell's ring against distances counted by hand, the blade, the mesh, the
// chiplet node and the flat node against their own files' claims.
// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <set>

#include "machine_fixtures.hpp"

namespace corewise::machine {
namespace {

TEST(Bundled, EveryFilePassesItsCheck) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(COREWISE_MACHINE_DOCUMENTS)) {
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    names.insert(name);
    const Machine machine = bundled(name);
    EXPECT_EQ(machine.name, name);
    EXPECT_FALSE(machine.description.empty());
  }
  const std::set<std::string> expected{"cell-be",
                                       "cell-blade",
                                       "chiplet-2s",
                                       "core-i9-12900k",
                                       "dual-epyc-7r13",
                                       "dual-xeon-e5-2680v4",
                                       "dual-xeon-gold-6242",
                                       "epyc-7773x",
                                       "flat",
                                       "graviton3",
                                       "kunpeng-920-6426",
                                       "m1-ultra",
                                       "mesh-6x4",
                                       "ps3",
                                       "ps3-cluster",
                                       "qs22",
                                       "roadrunner",
                                       "ryzen-9-5950x",
                                       "threadripper-1950x",
                                       "xeon-phi-7210"};
  EXPECT_EQ(names, expected);
}

/// Hops between SPE i and SPE j, counted on the drawing of the ring (PPE 1 3 5 7 IOIF1 IOIF0 6 4 2 0 MIC).
constexpr int kCellHops[8][8] = {
    {0, 3, 1, 4, 2, 5, 3, 6}, {3, 0, 4, 1, 5, 2, 6, 3}, {1, 4, 0, 5, 1, 6, 2, 5}, {4, 1, 5, 0, 6, 1, 5, 2},
    {2, 5, 1, 6, 0, 5, 1, 4}, {5, 2, 6, 1, 5, 0, 4, 1}, {3, 6, 2, 5, 1, 4, 0, 3}, {6, 3, 5, 2, 4, 1, 3, 0},
};

TEST(Bundled, CellHopsMatchTheDrawing) {
  const Machine cell = bundled("cell-be");
  ASSERT_EQ(cell.units.size(), 8U);
  ASSERT_EQ(cell.stops.size(), 12U);
  ASSERT_EQ(cell.links.size(), 24U);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(cell.units[i].name, "SPE" + std::to_string(i));
    EXPECT_EQ(cell.units[i].os_index, -1);
    for (int j = 0; j < 8; ++j) EXPECT_EQ(cell.hops(i, j), kCellHops[i][j]) << i << " to " << j;
  }
}

TEST(Bundled, OnlyTheHalfWayPairsOfTheCellTie) {
  const Machine cell = bundled("cell-be");
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      const bool half_way = i + j == 7;  // SPE0-SPE7, SPE1-SPE6, SPE2-SPE5, SPE3-SPE4
      EXPECT_EQ(cell.routes(i, j).size(), half_way ? 2U : 1U) << i << " to " << j;
    }
  }
}

TEST(Bundled, CellRoutesAndLinkSpeeds) {
  const Machine cell = bundled("cell-be");
  EXPECT_EQ(route_names(cell, 4, 6), (Alternatives{{"ccw:SPE4>SPE6"}}));
  EXPECT_EQ(route_names(cell, 0, 1), (Alternatives{{"cw:SPE0>MIC", "cw:MIC>PPE", "cw:PPE>SPE1"}}));
  EXPECT_EQ(
      route_names(cell, 3, 4),
      (Alternatives{
          {"cw:SPE3>SPE5", "cw:SPE5>SPE7", "cw:SPE7>IOIF1", "cw:IOIF1>IOIF0", "cw:IOIF0>SPE6", "cw:SPE6>SPE4"},
          {"ccw:SPE3>SPE1", "ccw:SPE1>PPE", "ccw:PPE>MIC", "ccw:MIC>SPE0", "ccw:SPE0>SPE2", "ccw:SPE2>SPE4"}}));
  for (const Link& link : cell.links) {
    EXPECT_DOUBLE_EQ(link.bandwidth_gb_per_s, 51.2) << link.name;
    EXPECT_DOUBLE_EQ(link.latency_ns, 0.625) << link.name;
  }
}

TEST(Bundled, Ps3KeepsTheRingAndSixUnits) {
  const Machine ps3 = bundled("ps3");
  ASSERT_EQ(ps3.units.size(), 6U);
  EXPECT_EQ(ps3.stops.size(), 12U);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) EXPECT_EQ(ps3.hops(i, j), kCellHops[i][j]);
  }
}

TEST(Bundled, TheCellsAreSimulatedAsCells) {
  for (const char* name : {"cell-be", "cell-blade"}) {
    EXPECT_EQ(bundled(name).model, "cell") << name;
    EXPECT_TRUE(bundled(name).parameters.empty()) << name;
  }
  for (const char* name : {"flat", "mesh-6x4", "chiplet-2s"}) EXPECT_EQ(bundled(name).model, "") << name;
  const Machine ps3 = bundled("ps3");
  EXPECT_EQ(ps3.model, "cell");
  ASSERT_EQ(ps3.parameters.size(), 2U);
  EXPECT_EQ(ps3.parameters[0].name, "core_clock_ghz");
  EXPECT_DOUBLE_EQ(ps3.parameters[0].value, 79.8e-3 * 40);
  EXPECT_EQ(ps3.parameters[1].name, "decrementer_hz");
  EXPECT_EQ(ps3.parameters[1].value, 79.8e6);
}

TEST(Bundled, BladeCrossesItsBridge) {
  const Machine blade = bundled("cell-blade");
  ASSERT_EQ(blade.units.size(), 16U);
  EXPECT_EQ(blade.kind, "composite");
  EXPECT_EQ(blade.units[9].name, "cell1.SPE1");
  EXPECT_EQ(blade.units[9].domains, (Names{"cell1"}));
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      if (i / 8 != j / 8) continue;
      EXPECT_EQ(blade.hops(i, j), kCellHops[i % 8][j % 8]) << i << " to " << j;
    }
  }
  // IOIF0 is stop 6: SPE6 is one hop from it, SPE7 two, SPE1 five, SPE0 four; the bridge is one more.
  EXPECT_EQ(blade.hops(unit_named(blade, "cell0.SPE6"), unit_named(blade, "cell1.SPE6")), 1 + 1 + 1);
  EXPECT_EQ(blade.hops(unit_named(blade, "cell0.SPE1"), unit_named(blade, "cell1.SPE0")), 5 + 1 + 4);
  EXPECT_EQ(route_names(blade, 7, 8 + 4),
            (Alternatives{{"cell0.cw:SPE7>IOIF1", "cell0.cw:IOIF1>IOIF0", "bridge:cell0.IOIF0>cell1.IOIF0",
                           "cell1.cw:IOIF0>SPE6", "cell1.cw:SPE6>SPE4"}}));
  EXPECT_DOUBLE_EQ(link_named(blade, "bridge:cell1.IOIF0>cell0.IOIF0").latency_ns, 276.5);
}

TEST(Bundled, MeshHasTwoCoresPerTile) {
  const Machine mesh = bundled("mesh-6x4");
  ASSERT_EQ(mesh.units.size(), 48U);
  EXPECT_EQ(mesh.stops.size(), 24U);
  EXPECT_EQ(mesh.links.size(), 2U * (5 * 4 + 6 * 3));
  EXPECT_EQ(mesh.hops(0, 1), 0);  // one tile
  EXPECT_EQ(mesh.hops(0, 47), 5 + 3);
  EXPECT_EQ(mesh.units[47].domains, (Names{"tile(5,3)"}));
}

TEST(Bundled, ChipletNodeSharesLinksPerLevel) {
  const Machine node = bundled("chiplet-2s");
  ASSERT_EQ(node.units.size(), 64U);
  EXPECT_EQ(node.units[40].domains, (Names{"package1", "l3-5"}));
  EXPECT_EQ(node.units[40].logical_core, 40);
  EXPECT_EQ(node.units[40].os_index, -1);
  EXPECT_EQ(route_names(node, 0, 7), (Alternatives{{"core0:up", "core7:down"}}));
  EXPECT_EQ(route_names(node, 0, 8), (Alternatives{{"core0:up", "l3-0:up", "l3-1:down", "core8:down"}}));
  EXPECT_EQ(route_names(node, 63, 0),
            (Alternatives{{"core63:up", "l3-7:up", "package1:up", "package0:down", "l3-0:down", "core0:down"}}));
  EXPECT_DOUBLE_EQ(link_named(node, "l3-5:up").bandwidth_gb_per_s, 30);
  EXPECT_DOUBLE_EQ(link_named(node, "l3-5:down").bandwidth_gb_per_s, 60);
}

TEST(Bundled, FlatNodeSharesOnlyPorts) {
  const Machine flat = bundled("flat");
  ASSERT_EQ(flat.units.size(), 8U);
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      if (i == j) continue;
      const Names expected{"core" + std::to_string(i) + ":out", "core" + std::to_string(j) + ":in"};
      EXPECT_EQ(route_names(flat, i, j), Alternatives{expected});
    }
  }
}

}  // namespace
}  // namespace corewise::machine
