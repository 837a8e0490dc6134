// Symmetry and search on machines that the room machine itself describes: the short synthetic text and the Cell's
// document, against counts worked out by hand and against the ring built by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "machine/machine.hpp"
#include "machines.hpp"
#include "place/search.hpp"

namespace corewise::place {
namespace {

machine::Machine synthetic(const std::string& text) {
  auto made = machine::from_synthetic(text);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.value();
}

std::uint64_t order_of(const machine::Machine& machine) {
  return Symmetry(RoutedShares::of(machine).value()).order();
}

const char* const cell_document = R"({
  "format": "corewise-machine", "version": 1, "name": "cell", "description": "",
  "interconnect": {
    "kind": "ring",
    "stops": ["PPE", "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1", "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"],
    "units": ["SPE0", "SPE1", "SPE2", "SPE3", "SPE4", "SPE5", "SPE6", "SPE7"],
    "rings_per_direction": 2, "ring_bandwidth": "25.6 GB/s", "hop_latency": "0.625 ns", "ties": "split"
  }
})";

TEST(DescribedMachines, OrdersWorkedOutByHand) {
  EXPECT_EQ(order_of(synthetic("ring:8")), 16u);
  EXPECT_EQ(order_of(synthetic("flat:6")), 720u);
  // Four cores per L3, two L3s per package, two packages: each set of children trades places freely.
  EXPECT_EQ(order_of(synthetic("pack:2 l3:2 core:4")), 24u * 24 * 24 * 24 * 2 * 2 * 2);
}

TEST(DescribedMachines, CellDocumentBehavesAsTheRingBuiltByHand) {
  const auto cell = machine::from_json(cell_document, "cell");
  ASSERT_TRUE(cell.ok()) << cell.status().message();
  EXPECT_EQ(order_of(cell.value()), 4u);
  EXPECT_EQ(RoutedShares::of(cell.value()).value().merged().links(), 16);
  Rng rng(41);
  for (int k = 0; k < 5; ++k) {
    const pattern::Matrix matrix = testing::random_matrix(8, 3, 1000, rng);
    const auto described = search(cell.value(), matrix);
    const auto by_hand = search(testing::cell_ring(), matrix);
    ASSERT_TRUE(described.ok());
    EXPECT_TRUE(described.value().proven_optimal);
    // Two rings a direction share what one carries in the ring built by hand.
    EXPECT_DOUBLE_EQ(2 * described.value().evaluation.bottleneck_ns, by_hand.value().evaluation.bottleneck_ns);
    EXPECT_EQ(described.value().placement.unit_of_rank, by_hand.value().placement.unit_of_rank);
  }
}

TEST(DescribedMachines, EightRanksOnSixteenCoresOfAHierarchyAreProven) {
  // 16!/8! = 518918400 placements, few enough orbits: two groups of four that talk only among themselves each get
  // an L3 of their own.
  pattern::Matrix matrix{8, {}};
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (from != to && from % 2 == to % 2) matrix.entries.push_back({from, to, 100, 1});
    }
  }
  const machine::Machine machine = synthetic("pack:2 l3:2 core:4");
  const auto result = search(machine, matrix);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.value().proven_optimal) << result.value().statement;
  const auto& unit = result.value().placement.unit_of_rank;
  for (std::size_t rank = 2; rank < 8; ++rank) {
    EXPECT_EQ(machine.units[static_cast<std::size_t>(unit[rank])].domains,
              machine.units[static_cast<std::size_t>(unit[rank - 2])].domains);
  }
}

}  // namespace
}  // namespace corewise::place
