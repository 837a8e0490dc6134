// Synthetic texts: shapes, names and numbers of each family, and the words of every refusal.
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "machine_fixtures.hpp"

namespace corewise::machine {
namespace {

TEST(Synthetic, ShapesAreAsWritten) {
  struct Case {
    const char* text;
    const char* kind;
    std::size_t units, stops, links;
  };
  for (const Case& c :
       {Case{"ring:8", "ring", 8, 8, 16}, Case{"ring:4 core:2", "ring", 8, 4, 8},
        Case{"mesh:6x4 core:2", "mesh", 48, 24, 76}, Case{"torus:4x4", "mesh", 16, 16, 64},
        Case{"mesh:2x2x2", "mesh", 8, 8, 24}, Case{"flat:16", "flat", 16, 17, 32},
        Case{"pack:2 l3:4 core:8", "tree", 64, 1 + 2 + 8 + 64, 148}, Case{"  core:3 ", "tree", 3, 4, 6}}) {
    SCOPED_TRACE(c.text);
    const Machine machine = expect_machine(from_synthetic(c.text));
    EXPECT_EQ(machine.name, c.text);
    EXPECT_EQ(machine.kind, c.kind);
    EXPECT_EQ(machine.units.size(), c.units);
    EXPECT_EQ(machine.stops.size(), c.stops);
    EXPECT_EQ(machine.links.size(), c.links);
  }
}

TEST(Synthetic, TreeUnitsAreNumberedAsHwlocWould) {
  const Machine cores = expect_machine(from_synthetic("pack:2 numa:2 core:3"));
  EXPECT_EQ(cores.units[7].name, "core7");
  EXPECT_EQ(cores.units[7].logical_core, 7);
  EXPECT_EQ(cores.units[7].os_index, 7);
  EXPECT_EQ(cores.units[7].domains, (Names{"package1", "numa2"}));
  const Machine threads = expect_machine(from_synthetic("pack:1 l3:1 l2:1 core:2 pu:2"));
  EXPECT_EQ(threads.units[3].name, "pu3");
  EXPECT_EQ(threads.units[3].os_index, 3);
  EXPECT_EQ(threads.units[3].logical_core, -1);
  EXPECT_EQ(threads.units[3].domains, (Names{"package0", "l3-0", "l2-0", "core1"}));
}

TEST(Synthetic, RefusalsSayWhatIsAllowed) {
  const std::string examples =
      "allowed: ring:8, mesh:6x4 core:2, torus:4x4, flat:16, or tree levels from outermost such as pack:2 l3:4 "
      "core:8";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "field 'text': found nothing, " + examples},
      {"ring", "field 'ring': found no ':', " + examples},
      {"ring:0", "field 'ring': found '0', allowed: whole numbers from 1 to 4096"},
      {"ring:-2", "field 'ring': found '-2', allowed: whole numbers from 1 to 4096"},
      {"ring:", "field 'ring': found '', allowed: whole numbers from 1 to 4096"},
      {"ring:8.5", "field 'ring': found '8.5', allowed: whole numbers from 1 to 4096"},
      {"ring:1", "field 'ring': found 1, allowed: at least 2 stops"},
      {"ring:4x4", "field 'ring': found 2 numbers, allowed: at most 1"},
      {"ring:8 l3:2", "field 'l3': found after 'ring', allowed: core:N, the units per stop"},
      {"mesh:2x2x2x2", "field 'mesh': found 4 numbers, allowed: at most 3"},
      {"mesh:6x4 core:2 pu:2", "field 'core': found after 'mesh', allowed: core:N, the units per stop"},
      {"mesh:64x64", "field 'mesh': found more than 1024 units, allowed: at most 1024"},
      {"torus:2 core:1024", "field 'core': found more than 1024 units, allowed: at most 1024"},
      {"pack:64 core:128", "field 'core': found more than 4096 units, allowed: at most 4096"},
      {"flat:8 core:2", "field 'core': found after 'flat', allowed: nothing after flat:N"},
      {"flat:2x2", "field 'flat': found 2 numbers, allowed: one"},
      {"star:8",
       "field 'star': found an unknown word, allowed: ring, mesh, torus, flat, pack, die, numa, l3, l2, "
       "core, pu"},
      {"l3:4 pack:2", "field 'pack': found 'pack' after 'l3', allowed: l2, core, pu"},
      {"core:2 core:2", "field 'core': found 'core' after 'core', allowed: pu"},
      {"pu:2 core:2", "field 'core': found 'core' after 'pu', allowed: no further level"},
      {"pack:2x2", "field 'pack': found several numbers, allowed: one"},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    const auto result = from_synthetic(text);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::invalid_input);
    EXPECT_EQ(result.status().message(), "synthetic machine '" + text + "': " + expected);
  }
}

TEST(Synthetic, AMachineTooLongToTabulateIsRefused) {
  const auto result = from_synthetic("ring:1024");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("field 'units': found 1024 units with very long routes"),
            std::string::npos)
      << result.status().message();
}

}  // namespace
}  // namespace corewise::machine
