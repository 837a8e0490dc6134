// References: the placements that a found one is compared with, and the simple ones that searches start from.
// Owns identity, seeded random placements with their statistics, greedy, and the worst placement.
//
// Contract: deterministic by seed. The worst is exact only where it says so.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "machine/placement.hpp"
#include "place/cost.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

/// A placement that a search begins with, and what it is called where it wins.
struct NamedStart {
  std::string name;
  machine::Placement placement;
};

/// Every placement equally likely. Requires ranks <= units.
machine::Placement random_placement(int ranks, int units, Rng& rng);

/// Ranks, each by its traffic with those before it, then by all its traffic, then by its number.
std::vector<int> ranks_by_traffic(const Workload& work);

/// Where greedy puts the first rank.
enum class GreedyBegin { first_unit, middle };

/// Ranks by traffic, each on the free unit with least hop-bytes to those already placed (lowest unit of equals).
/// The middle is the unit with the fewest hops to all others. Requires check_fits.
machine::Placement greedy_placement(const RoutedShares& shares, const Workload& work,
                                    GreedyBegin begin = GreedyBegin::first_unit);

/// Bottleneck times over `samples` random placements; quantiles by nearest rank.
struct RandomReference {
  int samples = 0;
  double mean_ns = 0;
  double least_ns = 0;
  double p10_ns = 0;
  double median_ns = 0;
  double p90_ns = 0;
  double most_ns = 0;
  double mean_hop_bytes = 0;
};

/// Requires check_fits and samples >= 1.
RandomReference random_reference(const RoutedShares& shares, const Workload& work, int samples, std::uint64_t seed);

struct WorstReference {
  machine::Placement placement;
  Score score;
  bool proven = false;  ///< by enumeration; else the worst that a local search found
};

}  // namespace corewise::place
