// Machines built by hand for the tests of place, so that they depend on no reader: rings with every tie rule, the
// Cell's ring with stops that carry no unit, and random routings. Also random patterns, and the slow, plain
// evaluation that the fast ones are held against.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "machine/machine.hpp"
#include "pattern/pattern.hpp"

namespace corewise::place::testing {

enum class Tie { split, clockwise, by_source_parity };

/// `stops` stops in a ring, two directed links between neighbours (clockwise ones first), units at `unit_stops`.
inline machine::Machine ring(int stops, const std::vector<int>& unit_stops, Tie tie = Tie::split,
                             double bandwidth_gb_per_s = 25.6) {
  machine::Machine made;
  made.name = "ring" + std::to_string(stops);
  made.kind = "ring";
  for (int s = 0; s < stops; ++s) made.stops.push_back("stop" + std::to_string(s));
  for (int s = 0; s < stops; ++s) {
    made.links.push_back({"cw" + std::to_string(s), s, (s + 1) % stops, bandwidth_gb_per_s, 1});
  }
  for (int s = 0; s < stops; ++s) {
    made.links.push_back({"ccw" + std::to_string(s), (s + 1) % stops, s, bandwidth_gb_per_s, 1});
  }
  const auto clockwise = [&](int from, int length) {
    machine::Path path;
    for (int k = 0; k < length; ++k) path.push_back((from + k) % stops);
    return path;
  };
  const auto counter = [&](int from, int length) {
    machine::Path path;
    for (int k = 0; k < length; ++k) path.push_back(stops + (from - 1 - k + 2 * stops) % stops);
    return path;
  };
  const int units = static_cast<int>(unit_stops.size());
  for (int u = 0; u < units; ++u) {
    const int from = unit_stops[static_cast<std::size_t>(u)];
    made.units.push_back({"unit" + std::to_string(u), from, -1, -1, {}});
    for (int v = 0; v < units; ++v) {
      const int length = (unit_stops[static_cast<std::size_t>(v)] - from + stops) % stops;
      std::vector<machine::Path> routes;
      const bool is_tie = 2 * length == stops;
      const bool tie_clockwise = tie == Tie::clockwise || (tie == Tie::by_source_parity && u % 2 == 0);
      if (2 * length < stops || (is_tie && (tie == Tie::split || tie_clockwise))) {
        routes.push_back(clockwise(from, length));
      }
      if (2 * length > stops || (is_tie && (tie == Tie::split || !tie_clockwise))) {
        routes.push_back(counter(from, stops - length));
      }
      made.route_table.add(routes);
    }
  }
  return made;
}

inline machine::Machine full_ring(int units, Tie tie = Tie::split) {
  std::vector<int> stops;
  for (int s = 0; s < units; ++s) stops.push_back(s);
  return ring(units, stops, tie);
}

/// One unit a stop, links that all go one way round: there and back are ways of different length.
inline machine::Machine one_way_ring(int units, double bandwidth_gb_per_s = 25.6) {
  machine::Machine made;
  made.name = "one-way" + std::to_string(units);
  made.kind = "ring";
  for (int u = 0; u < units; ++u) {
    made.stops.push_back("stop" + std::to_string(u));
    made.links.push_back({"link" + std::to_string(u), u, (u + 1) % units, bandwidth_gb_per_s, 1});
    made.units.push_back({"unit" + std::to_string(u), u, -1, -1, {}});
  }
  for (int from = 0; from < units; ++from) {
    for (int to = 0; to < units; ++to) {
      machine::Path path;
      for (int at = from; at != to; at = (at + 1) % units) path.push_back(at);
      made.route_table.add({path});
    }
  }
  return made;
}

/// Stops PPE 1 3 5 7 IOIF1 IOIF0 6 4 2 0 MIC; unit i is SPE i.
inline machine::Machine cell_ring() {
  return ring(12, {10, 1, 9, 2, 8, 3, 7, 4});
}

/// Every unit hangs on one bus by an own pair of links: all units alike.
inline machine::Machine star(int units, double bandwidth_gb_per_s = 10) {
  machine::Machine made;
  made.name = "star" + std::to_string(units);
  made.kind = "flat";
  made.stops.push_back("bus");
  for (int u = 0; u < units; ++u) {
    made.stops.push_back("stop" + std::to_string(u));
    made.units.push_back({"unit" + std::to_string(u), u + 1, -1, -1, {}});
    made.links.push_back({"up" + std::to_string(u), u + 1, 0, bandwidth_gb_per_s, 1});
    made.links.push_back({"down" + std::to_string(u), 0, u + 1, bandwidth_gb_per_s, 1});
  }
  for (int u = 0; u < units; ++u) {
    for (int v = 0; v < units; ++v) {
      machine::Path path;
      if (u != v) path = {2 * u, 2 * v + 1};
      made.route_table.add({path});
    }
  }
  return made;
}

/// Each rank sends to up to `most_peers` random others.
inline pattern::Matrix random_matrix(int ranks, int most_peers, std::uint64_t most_bytes, Rng& rng) {
  std::map<std::pair<int, int>, std::uint64_t> bytes;
  for (int from = 0; from < ranks; ++from) {
    for (int k = 0; k < most_peers; ++k) {
      const int to = static_cast<int>(rng.below(static_cast<std::uint64_t>(ranks)));
      if (to != from) bytes[{from, to}] = 1 + rng.below(most_bytes);
    }
  }
  pattern::Matrix matrix;
  matrix.ranks = ranks;
  for (const auto& [pair, sum] : bytes) matrix.entries.push_back({pair.first, pair.second, sum, 1});
  return matrix;
}

struct PlainCost {
  double bottleneck_ns = 0;
  double hop_bytes = 0;

  friend auto operator<=>(const PlainCost&, const PlainCost&) = default;
};

/// Straight from the route table, in floating point, sharing no code with the room.
inline PlainCost plain_cost(const machine::Machine& machine, const pattern::Matrix& matrix,
                            const std::vector<int>& unit_of_rank) {
  std::vector<double> load(machine.links.size(), 0.0);
  PlainCost cost;
  for (const pattern::Message& message : matrix.entries) {
    const auto routes = machine.routes(unit_of_rank[static_cast<std::size_t>(message.from)],
                                       unit_of_rank[static_cast<std::size_t>(message.to)]);
    const auto bytes = static_cast<double>(message.bytes);
    for (const machine::Route& route : routes) {
      for (const int link : route.links) {
        load[static_cast<std::size_t>(link)] += bytes / static_cast<double>(routes.size());
      }
      cost.hop_bytes += bytes * static_cast<double>(route.links.size()) / static_cast<double>(routes.size());
    }
  }
  for (std::size_t link = 0; link < load.size(); ++link) {
    cost.bottleneck_ns = std::max(cost.bottleneck_ns, load[link] / machine.links[link].bandwidth_gb_per_s);
  }
  return cost;
}

/// Every placement of `ranks` ranks on `units` units, in lexicographic order.
inline void for_every_placement(int units, int ranks, const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> placed;
  std::function<void()> grow = [&] {
    if (static_cast<int>(placed.size()) == ranks) {
      visit(placed);
      return;
    }
    for (int unit = 0; unit < units; ++unit) {
      if (std::find(placed.begin(), placed.end(), unit) != placed.end()) continue;
      placed.push_back(unit);
      grow();
      placed.pop_back();
    }
  };
  grow();
}

}  // namespace corewise::place::testing
