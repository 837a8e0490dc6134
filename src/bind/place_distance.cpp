// Weighted distance for Python: distances of machines and trees, J of a placement, and the search for the least.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "machine/placement.hpp"
#include "place/distance/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using machine::Machine;
using pattern::Pattern;
using place::DistanceMethod;
using place::DistanceResult;
using place::Distances;

using Where = std::variant<Machine, MatrixIn<double>>;

Distances to_distances(const Where& where) {
  if (const Machine* machine = std::get_if<Machine>(&where)) return place::distances_of(*machine);
  const auto& array = std::get<MatrixIn<double>>(where);
  if (array.shape(0) != array.shape(1) || array.shape(0) < 1 || array.shape(0) > 16384) {
    raise(bad_field("", "distances", std::to_string(array.shape(0)) + " x " + std::to_string(array.shape(1)),
                    "a square array of 1 to 16384 units"));
  }
  Distances distances{static_cast<int>(array.shape(0)), {}};
  distances.at.assign(array.data(), array.data() + array.size());
  require(place::check(distances));
  return distances;
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
  const Distances distances = to_distances(where);
  const auto traffic = unwrap(place::traffic_of(pattern));
  check_placement(unit_of_rank, traffic.ranks, distances.units);
  return place::weighted_distance(traffic, distances, unit_of_rank);
}

DistanceMethod to_method(const std::string& name) {
  if (name == "auto") return DistanceMethod::automatic;
  if (name == "branch-and-bound") return DistanceMethod::branch_and_bound;
  if (name == "multilevel") return DistanceMethod::multilevel;
  if (name == "local") return DistanceMethod::local;
  raise(bad_field("", "method", "'" + name + "'", "auto, branch-and-bound, multilevel, local"));
}

const char* name_of(DistanceMethod method) {
  if (method == DistanceMethod::branch_and_bound) return "branch-and-bound";
  return method == DistanceMethod::multilevel ? "multilevel" : "local";
}

DistanceResult search_distance(const Where& where, const Pattern& pattern, std::uint64_t seed, std::uint64_t nodes,
                               std::optional<std::function<bool()>> should_stop, const std::string& method,
                               int effort, std::uint64_t local_evaluations) {
  if (effort < 1) raise(bad_field("", "effort", std::to_string(effort), "1 or more"));
  const Distances distances = to_distances(where);
  const auto traffic = unwrap(place::traffic_of(pattern));
  place::DistanceOptions options;
  options.seed = seed;
  options.nodes = nodes;
  options.method = to_method(method);
  options.effort = effort;
  options.local_evaluations = local_evaluations;
  if (should_stop) {
    options.should_stop = [&should_stop] {
      const nb::gil_scoped_acquire acquire;
      return (*should_stop)();
    };
  }
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return place::search_distance(traffic, distances, options);
  }());
}

void bind_result(nb::module_& module) {
  nb::class_<DistanceResult>(module, "DistanceResult",
                             "A placement with little weighted distance J, and what is known.")
      .def_prop_ro("unit_of_rank", [](const DistanceResult& result) { return result.placement.unit_of_rank; })
      .def_ro("cost", &DistanceResult::cost,
              "J: the sum over unordered pairs of ranks of the bytes both ways times the distance of their units.")
      .def_ro("proven_optimal", &DistanceResult::proven_optimal)
      .def_ro("bound", &DistanceResult::bound, "Proven: no placement has a smaller J.")
      .def_prop_ro(
          "method", [](const DistanceResult& result) { return name_of(result.method); },
          "``branch-and-bound``, ``multilevel`` or ``local``.")
      .def_ro("statement", &DistanceResult::statement, "One line: the proof, or what was tried.")
      .def_ro("evaluated", &DistanceResult::evaluated, "Bounds computed for the proof, else placements tried.");
}

}  // namespace

void bind_place_distance(nb::module_& module) {
  bind_result(module);
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
  module.def(
      "search_distance", &search_distance, "machine_or_distances"_a, "pattern"_a, "seed"_a = 1,
      "nodes"_a = 5'000'000, "should_stop"_a = nb::none(), "method"_a = "auto", "effort"_a = 4,
      "local_evaluations"_a = 200'000,
      "The placement with the least weighted distance J. `machine_or_distances`: a Machine, or a symmetric\n"
      "float64 array of shape (units, units) with zeros on its diagonal. ``auto``: branch and bound with proof\n"
      "up to 16 units, else the multilevel mapping where the distances are those of a tree (`effort` 1 is one\n"
      "fast run), else local search. `nodes` limits the proof and `should_stop` is polled during it.\n"
      "J knows no links: the placement of least J need not be the fastest one.");
}

}  // namespace corewise::bind
