// Placements: check, identity, and the JSON document there and back with each of its refusals.
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "machine/placement.hpp"
#include "machine_fixtures.hpp"

namespace corewise::machine {
namespace {

TEST(Placement, CheckWantsExistingUnitsOncePerRank) {
  const Machine ring = expect_machine(from_synthetic("ring:4"));
  EXPECT_TRUE(check({{3, 0, 2}}, ring).ok());
  EXPECT_TRUE(check({{}}, ring).ok());
  EXPECT_EQ(check({{3, 4}}, ring).message(),
            "field 'unit_of_rank[1]': found unit 4, allowed: 0 to 3, the units of 'ring:4'");
  EXPECT_EQ(check({{-1}}, ring).message(),
            "field 'unit_of_rank[0]': found unit -1, allowed: 0 to 3, the units of 'ring:4'");
  EXPECT_EQ(check({{3, 1, 3}}, ring).message(),
            "field 'unit_of_rank[2]': found unit 3 of rank 0, allowed: a unit that no other rank has");
}

TEST(Placement, IdentityFitsOrSaysHowManyUnitsThereAre) {
  const Machine ring = expect_machine(from_synthetic("ring:4"));
  EXPECT_EQ(identity_placement(3, ring).value().unit_of_rank, (std::vector<UnitId>{0, 1, 2}));
  EXPECT_EQ(identity_placement(5, ring).status().message(),
            "field 'ranks': found 5, allowed: 1 to 4, the units of 'ring:4'");
  EXPECT_FALSE(identity_placement(0, ring).ok());
}

TEST(Placement, DocumentIsAsDescribedAndReadsBack) {
  const Machine cell = bundled("cell-be");
  const Placement placement{{4, 0, 7}};
  const std::string text = to_json(placement, cell);
  EXPECT_EQ(text,
            "{\n  \"format\": \"corewise-placement\",\n  \"version\": 1,\n  \"machine\": \"cell-be\",\n"
            "  \"unit_of_rank\": [4, 0, 7],\n  \"units\": [\"SPE4\", \"SPE0\", \"SPE7\"]\n}\n");
  EXPECT_EQ(placement_from_json(text, "p.json").value().unit_of_rank, placement.unit_of_rank);
  EXPECT_EQ(placement_from_json(text, "p.json", cell).value().unit_of_rank, placement.unit_of_rank);
}

std::string document(const std::string& fields) {
  return R"({"format": "corewise-placement", "version": 1, )" + fields + "}";
}

TEST(Placement, DocumentRefusals) {
  const Machine ring = expect_machine(from_synthetic("ring:4"));
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"format": "corewise-machine"})",
       "field 'format': found \"corewise-machine\", allowed: "
       "\"corewise-placement\""},
      {R"({"format": "corewise-placement", "version": 2})",
       "field 'version': found number 2, allowed: an integer from 1 to 1"},
      {document(R"("unit_of_rank": [0], "units": ["core0"])"), "field 'machine': found nothing, allowed: a string"},
      {document(R"("machine": "ring:4", "units": [])"), "field 'unit_of_rank': found nothing, allowed: an array"},
      {document(R"("machine": "ring:4", "unit_of_rank": [], "units": [])"),
       "field 'unit_of_rank': found an empty array, allowed: one unit number per rank"},
      {document(R"("machine": "ring:4", "unit_of_rank": [0, "1"], "units": [])"),
       "field 'unit_of_rank[1]': found string \"1\", allowed: an integer from 0 to 1023"},
      {document(R"("machine": "ring:4", "unit_of_rank": [-1], "units": ["core0"])"),
       "field 'unit_of_rank[0]': found number -1, allowed: an integer from 0 to 1023"},
      {document(R"("machine": "ring:4", "unit_of_rank": [0, 1], "units": ["core0"])"),
       "field 'units': found 1 names, allowed: one name per rank, 2"},
      {document(R"("machine": "ring:4", "unit_of_rank": [0], "units": [5])"),
       "field 'units[0]': found number 5, allowed: a string"},
      {document(R"("machine": "ring:4", "unit_of_rank": [1, 1], "units": ["core1", "core1"])"),
       "field 'unit_of_rank[1]': found unit 1 of rank 0, allowed: a unit that no other rank has"},
      {document(R"("machine": "ring:4", "unit_of_rank": [0], "units": ["core0"], "cores": 1)"),
       "field 'cores': found an unknown field, allowed: format, version, machine, unit_of_rank, units"},
      {document(R"("machine": "ring:8", "unit_of_rank": [0], "units": ["core0"])"),
       "field 'machine': found 'ring:8', allowed: 'ring:4'"},
      {document(R"("machine": "ring:4", "unit_of_rank": [4], "units": ["core4"])"),
       "field 'unit_of_rank[0]': found unit 4, allowed: 0 to 3, the units of 'ring:4'"},
      {document(R"("machine": "ring:4", "unit_of_rank": [0, 2], "units": ["core0", "core1"])"),
       "field 'units[1]': found 'core1', allowed: 'core2', the name of unit 2"},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    const auto result = placement_from_json(text, "p.json", ring);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::invalid_input);
    EXPECT_EQ(result.status().message(), "p.json: " + expected);
  }
  EXPECT_EQ(placement_from_json("{", "p.json").status().code(), Code::invalid_input);
}

}  // namespace
}  // namespace corewise::machine
