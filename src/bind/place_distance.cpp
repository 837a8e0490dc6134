// Weighted distance for Python: distances of machines and trees, and J of a placement.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <variant>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/distances.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "machine/placement.hpp"
#include "place/distance/distance.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using machine::Machine;
using pattern::Pattern;
using place::Distances;

using Where = std::variant<Machine, MatrixIn<double>>;

Distances distances_of(const Where& where) {
  if (const Machine* machine = std::get_if<Machine>(&where)) return place::distances_of(*machine);
  return to_distances(std::get<MatrixIn<double>>(where));
}

MatrixOut<double> to_array_of(Distances distances) {
  const auto units = static_cast<std::size_t>(distances.units);
  return to_matrix(std::move(distances.at), units, units);
}

MatrixOut<double> tree_distances(const std::string& hierarchy, const std::string& distances) {
  return to_array_of(unwrap(place::tree_distances(hierarchy, distances)));
}

MatrixOut<double> machine_distances(const Machine& machine, const std::string& kind) {
  if (kind != "latency" && kind != "hops") raise(bad_field("", "kind", "'" + kind + "'", "latency, hops"));
  return to_array_of(
      place::distances_of(machine, kind == "hops" ? place::DistanceKind::hops : place::DistanceKind::latency));
}

/// The placement against the distances, as machine::check does it against a machine.
void check_placement(const std::vector<int>& unit_of_rank, int ranks, int units) {
  const std::string allowed = "a different unit, 0.." + std::to_string(units - 1) + ", for each rank";
  if (static_cast<int>(unit_of_rank.size()) != ranks) {
    raise(bad_field("", "unit_of_rank", std::to_string(unit_of_rank.size()) + " entries",
                    "one per rank (" + std::to_string(ranks) + ")"));
  }
  std::vector<bool> used(static_cast<std::size_t>(units), false);
  for (std::size_t rank = 0; rank < unit_of_rank.size(); ++rank) {
    const int unit = unit_of_rank[rank];
    if (unit < 0 || unit >= units || used[static_cast<std::size_t>(unit)]) {
      raise(bad_field("", "unit_of_rank[" + std::to_string(rank) + "]", std::to_string(unit), allowed));
    }
    used[static_cast<std::size_t>(unit)] = true;
  }
}

double weighted_distance(const Where& where, const Pattern& pattern, const std::vector<int>& unit_of_rank) {
  const Distances distances = distances_of(where);
  const auto traffic = unwrap(place::traffic_of(pattern));
  check_placement(unit_of_rank, traffic.ranks, distances.units);
  return place::weighted_distance(traffic, distances, unit_of_rank);
}

}  // namespace

Distances to_distances(const MatrixIn<double>& array) {
  if (array.shape(0) != array.shape(1) || array.shape(0) < 1 || array.shape(0) > 16384) {
    raise(bad_field("", "distances", std::to_string(array.shape(0)) + " x " + std::to_string(array.shape(1)),
                    "a square array of 1 to 16384 units"));
  }
  Distances distances{static_cast<int>(array.shape(0)), {}};
  distances.at.assign(array.data(), array.data() + array.size());
  require(place::check(distances));
  return distances;
}

void bind_place_distance(nb::module_& module) {
  module.def(
      "tree_distances", &tree_distances, "hierarchy"_a, "distances"_a,
      "Distances of the units of a tree: ndarray of float64, shape (units, units). Leaf first, as in KaHIP and\n"
      "SharedMap: ``tree_distances(\"4:8:32\", \"1:10:100\")`` has 32 nodes of 8 groups of 4 units; two units of\n"
      "one group are 1 apart, of one node 10, else 100. (Scotch's tleaf lists the root first.)");
  module.def(
      "machine_distances", &machine_distances, "machine"_a, "kind"_a = "latency",
      "Distances of a machine's units: ndarray of float64, shape (units, units). ``latency``: the sum of the\n"
      "latencies of a route's links in ns; ``hops``: their number; the mean over tied routes and both directions.");
  module.def("weighted_distance", &weighted_distance, "machine_or_distances"_a, "pattern"_a, "unit_of_rank"_a,
             "J of a placement: the sum over unordered pairs of ranks of the bytes both ways times the distance.\n"
             "KaHIP and SharedMap report 2J. A machine stands for ``machine_distances(machine)``.");
}

}  // namespace corewise::bind
