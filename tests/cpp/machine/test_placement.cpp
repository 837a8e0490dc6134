// Placements: check and identity.
// SPDX-License-Identifier: BSD-3-Clause
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

}  // namespace
}  // namespace corewise::machine
