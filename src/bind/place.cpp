// Room place for Python: a Searcher holds a machine made ready, and answers what placements cost and which is best.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "place/objective.hpp"
#include "place/references.hpp"
#include "place/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using machine::Machine;
using machine::Placement;
using machine::UnitId;
using pattern::Pattern;
using place::Bottleneck;
using place::Evaluation;
using place::Searcher;
using place::SearchOptions;
using place::SearchResult;

/// The machine stays beside its searcher: placements are checked against it.
struct Ready {
  Machine machine;
  Searcher searcher;
};

void make_ready(Ready* self, const Machine& node) {
  const nb::gil_scoped_release release;
  auto searcher = Searcher::of(node);
  const nb::gil_scoped_acquire acquire;
  new (self) Ready{node, unwrap(std::move(searcher))};
}

Evaluation evaluate(const Ready& ready, const Pattern& pattern, std::vector<UnitId> unit_of_rank) {
  const Placement placement{std::move(unit_of_rank)};
  require(machine::check(placement, ready.machine));
  const auto work = unwrap(place::workload(pattern));
  if (static_cast<std::size_t>(work.ranks) != placement.unit_of_rank.size()) {
    raise(bad_field(pattern.name, "unit_of_rank", std::to_string(placement.unit_of_rank.size()) + " entries",
                    "one per rank (" + std::to_string(work.ranks) + ")"));
  }
  require(place::check_fits(ready.searcher.shares(), work));
  return place::evaluate(ready.searcher.shares(), work, placement.unit_of_rank);
}

place::Objective to_objective(const std::string& name) {
  if (name == "bottleneck") return place::Objective::bottleneck;
  if (name == "hop-bytes") return place::Objective::hop_bytes;
  raise(bad_field("", "objective", "'" + name + "'", "bottleneck, hop-bytes"));
}

SearchResult search(Ready& ready, const Pattern& pattern, const std::string& objective, std::uint64_t seed,
                    int exhaustive_ranks, std::uint64_t local_evaluations, bool find_worst) {
  SearchOptions options;
  options.objective = to_objective(objective);
  options.seed = seed;
  options.exhaustive_ranks = exhaustive_ranks;
  options.local_evaluations = local_evaluations;
  options.find_worst = find_worst;
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return ready.searcher.search(pattern, options);
  }());
}

MatrixOut<std::int32_t> random_placements(const Ready& ready, int ranks, int samples, std::uint64_t seed) {
  const int units = ready.searcher.shares().units();
  if (ranks < 1 || ranks > units) {
    raise(bad_field(ready.machine.name, "ranks", std::to_string(ranks), "1.." + std::to_string(units)));
  }
  if (samples < 1) raise(bad_field("", "samples", std::to_string(samples), "1 or more"));
  Rng rng(seed);
  std::vector<std::int32_t> table;
  for (int sample = 0; sample < samples; ++sample) {
    const Placement placement = place::random_placement(ranks, units, rng);
    table.insert(table.end(), placement.unit_of_rank.begin(), placement.unit_of_rank.end());
  }
  return to_matrix(std::move(table), static_cast<std::size_t>(samples), static_cast<std::size_t>(ranks));
}

ArrayOut<double> load_bytes(const Evaluation& evaluation) {
  std::vector<double> loads;
  for (std::size_t link = 0; link < evaluation.load_parts.size(); ++link) {
    loads.push_back(evaluation.load_bytes(static_cast<machine::LinkId>(link)));
  }
  return to_array(std::move(loads));
}

void bind_evaluation(nb::module_& module) {
  nb::class_<Bottleneck>(module, "Bottleneck", "The busiest link of one phase.")
      .def_ro("time_ns", &Bottleneck::time_ns, "Its load over its bandwidth, in ns.")
      .def_ro("link", &Bottleneck::link, "Index into ``Machine.links``; -1 where no link carries anything.")
      .def_ro("bytes", &Bottleneck::bytes, "Its load in bytes.");
  nb::class_<Evaluation>(module, "Evaluation", "What a placement of a pattern costs on a machine's links.")
      .def_ro("bottleneck_ns", &Evaluation::bottleneck_ns, "Sum over the phases of their bottlenecks, in ns.")
      .def_ro("hop_bytes", &Evaluation::hop_bytes, "Sum over all messages of bytes times hops.")
      .def_ro("phases", &Evaluation::phases, "The bottleneck of every phase, in order.")
      .def("load_bytes", &load_bytes,
           "Bytes that cross every link, phases summed: ndarray of float64, shape (links,).");
}

void bind_result(nb::module_& module) {
  nb::class_<SearchResult>(module, "SearchResult", "The best placement that a search found, and how it knows.")
      .def_prop_ro("unit_of_rank", [](const SearchResult& result) { return result.placement.unit_of_rank; })
      .def_ro("evaluation", &SearchResult::evaluation)
      .def_prop_ro(
          "method",
          [](const SearchResult& result) {
            return result.method == place::Method::exhaustive ? "exhaustive" : "local";
          },
          "``exhaustive`` or ``local``.")
      .def_ro("proven_optimal", &SearchResult::proven_optimal)
      .def_ro("statement", &SearchResult::statement, "One line: the proof, or what was tried.")
      .def_ro("evaluated", &SearchResult::evaluated, "How many placements were evaluated.")
      .def_prop_ro(
          "worst",
          [](const SearchResult& result) -> std::optional<std::vector<UnitId>> {
            if (!result.worst) return std::nullopt;
            return result.worst->placement.unit_of_rank;
          },
          "The worst placement known, None where none was asked for.")
      .def_prop_ro("worst_proven", [](const SearchResult& result) { return result.worst && result.worst->proven; });
}

}  // namespace

void bind_place(nb::module_& module) {
  bind_evaluation(module);
  bind_result(module);
  nb::class_<Ready>(module, "Searcher", "A machine made ready for placing patterns on it.")
      .def("__init__", &make_ready, "machine"_a)
      .def("evaluate", &evaluate, "pattern"_a, "unit_of_rank"_a,
           "Costs of a placement. Traffic is split evenly over tied routes; phases run one after another.")
      .def("search", &search, "pattern"_a, "objective"_a = "bottleneck", "seed"_a = 1, "exhaustive_ranks"_a = 8,
           "local_evaluations"_a = 200'000, "find_worst"_a = false,
           "The placement with the least ``bottleneck`` or ``hop-bytes`` (the other one chooses among equals): by\n"
           "enumeration with proof up to `exhaustive_ranks` ranks, else by local search. The same input gives the "
           "same result.")
      .def("random_placements", &random_placements, "ranks"_a, "samples"_a, "seed"_a = 1,
           "Placements drawn uniformly: ndarray of int32, shape (samples, ranks).")
      .def_prop_ro(
          "symmetry_order", [](Ready& ready) { return ready.searcher.symmetry().order(); },
          "Order of the group of units that can trade places without any link noticing.");
}

}  // namespace corewise::bind
