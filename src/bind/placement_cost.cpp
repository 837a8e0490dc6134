// Contended times for Python: what placements take by flow or by simulation, and the placement that takes least.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "lab/placement/cost.hpp"
#include "lab/placement/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using lab::ContendedTime;
using lab::TimeModel;
using lab::TimeOptions;
using lab::TimeSearchOptions;
using lab::TimeSearchResult;
using lab::WeightedPattern;
using machine::Machine;
using machine::UnitId;
using pattern::Pattern;

using Patterns = std::variant<Pattern, std::vector<Pattern>>;
using Starts = std::vector<std::pair<std::string, std::vector<UnitId>>>;

std::vector<WeightedPattern> weighted(const Patterns& given, const std::optional<std::vector<double>>& weights) {
  std::vector<WeightedPattern> all;
  if (const auto* one = std::get_if<Pattern>(&given)) {
    all.push_back({*one, 1});
  } else {
    for (const Pattern& each : std::get<std::vector<Pattern>>(given)) all.push_back({each, 1});
  }
  if (!weights) return all;
  if (weights->size() != all.size()) {
    raise(bad_field("", "weights", std::to_string(weights->size()) + " numbers",
                    std::to_string(all.size()) + ", one per pattern"));
  }
  for (std::size_t index = 0; index < all.size(); ++index) all[index].weight = (*weights)[index];
  return all;
}

TimeModel to_model(const std::string& name) {
  for (const TimeModel each : {TimeModel::flow, TimeModel::simulated}) {
    if (name == name_of(each)) return each;
  }
  raise(bad_field("", "model", "'" + name + "'", "flow, simulated"));
}

TimeOptions time_options(const std::string& model, const std::string& separation, int repetitions) {
  TimeOptions options;
  options.model = to_model(model);
  if (separation != "dependence" && separation != "barrier") {
    raise(bad_field("", "separation", "'" + separation + "'", "dependence, barrier"));
  }
  options.separation = separation == "barrier" ? sim::Separation::barrier : sim::Separation::dependence;
  options.repetitions = repetitions;
  return options;
}

Result<std::vector<double>> time_all(ContendedTime& cost, const std::vector<UnitId>& table, std::size_t rows,
                                     std::size_t columns) {
  std::vector<double> times;
  times.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto time = cost.time_ns({table.data() + row * columns, columns});
    if (!time.ok()) return time.status();
    times.push_back(time.value());
  }
  return times;
}

ArrayOut<double> contended_times(const Machine& node, const Patterns& patterns,
                                 const MatrixIn<std::int32_t>& placements, const std::string& model,
                                 std::uint64_t seed, double jitter,
                                 const std::optional<std::vector<double>>& weights, const std::string& separation,
                                 int repetitions) {
  TimeOptions options = time_options(model, separation, repetitions);
  options.jitter = jitter;
  options.seed = seed;
  ContendedTime cost = unwrap(ContendedTime::of(node, weighted(patterns, weights), options));
  const std::size_t rows = placements.shape(0);
  const std::size_t columns = placements.shape(1);
  if (columns != static_cast<std::size_t>(cost.ranks())) {
    raise(bad_field("", "placements", std::to_string(columns) + " columns",
                    std::to_string(cost.ranks()) + ", one per rank"));
  }
  const std::vector<UnitId> table(placements.data(), placements.data() + rows * columns);
  return to_array(unwrap([&] {
    const nb::gil_scoped_release release;
    return time_all(cost, table, rows, columns);
  }()));
}

lab::SearchMethod to_method(const std::string& name) {
  if (name == "auto") return lab::SearchMethod::automatic;
  if (name == "exhaustive") return lab::SearchMethod::exhaustive;
  if (name == "local") return lab::SearchMethod::local;
  raise(bad_field("", "method", "'" + name + "'", "auto, exhaustive, local"));
}

TimeSearchResult search_by_time(const Machine& node, const Patterns& patterns,
                                const std::optional<std::vector<double>>& weights, const std::string& model,
                                const std::string& method, std::uint64_t seed, std::uint64_t evaluations,
                                const Starts& starts, std::optional<std::function<bool()>> should_stop,
                                const std::string& separation, int repetitions) {
  const TimeOptions time = time_options(model, separation, repetitions);
  TimeSearchOptions options;
  options.method = to_method(method);
  options.seed = seed;
  options.evaluations = evaluations;
  for (const auto& [name, unit_of_rank] : starts) options.starts.push_back({name, {unit_of_rank}});
  std::vector<WeightedPattern> all = weighted(patterns, weights);
  if (should_stop) {
    // The callable is Python's: it needs the GIL, which the search has released.
    options.should_stop = [&should_stop] {
      const nb::gil_scoped_acquire acquire;
      return (*should_stop)();
    };
  }
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return lab::search_by_time(node, std::move(all), time, options);
  }());
}

std::vector<std::vector<UnitId>> optimal(const TimeSearchResult& result) {
  std::vector<std::vector<UnitId>> all;
  for (const machine::Placement& each : result.optimal) all.push_back(each.unit_of_rank);
  return all;
}

void bind_result(nb::module_& module) {
  nb::class_<TimeSearchResult>(module, "TimeSearchResult", "The placement with the least contended time found.")
      .def_prop_ro("unit_of_rank", [](const TimeSearchResult& result) { return result.placement.unit_of_rank; })
      .def_ro("time_ns", &TimeSearchResult::time_ns, "Its time in ns, weights applied.")
      .def_ro("proven_optimal", &TimeSearchResult::proven_optimal)
      .def_ro("evaluated", &TimeSearchResult::evaluated, "Placements timed.")
      .def_ro("statement", &TimeSearchResult::statement, "One line: the proof, or what was tried.")
      .def_prop_ro("optimal", &optimal, "Up to 16 placements of that time.")
      .def_ro("best_start", &TimeSearchResult::best_start, "Name of the fastest start.")
      .def_ro("best_start_ns", &TimeSearchResult::best_start_ns)
      .def_prop_ro(
          "worst",
          [](const TimeSearchResult& result) -> std::optional<std::vector<UnitId>> {
            if (!result.worst) return std::nullopt;
            return result.worst->unit_of_rank;
          },
          "The slowest placement, None where not all were covered.")
      .def_ro("worst_ns", &TimeSearchResult::worst_ns);
}

}  // namespace

void bind_placement_cost(nb::module_& module) {
  bind_result(module);
  module.def(
      "contended_times", &contended_times, "machine"_a, "pattern"_a, "placements"_a, "model"_a = "flow",
      "seed"_a = 1, "jitter"_a = 0.0, "weights"_a = nb::none(), "separation"_a = "dependence", "repetitions"_a = 1,
      "Time of a pattern (or of several, weighted) under each placement, in ns: ndarray of float64, shape (n,),\n"
      "for placements of int32, shape (n, ranks). ``flow``: links shared max-min fairly; ``simulated``: packet\n"
      "by packet, a Cell as a whole. With `jitter` every seed and placement draws link latencies up to so much\n"
      "of themselves longer (on a Cell: the rings' pauses).");
  module.def(
      "search_by_time", &search_by_time, "machine"_a, "pattern"_a, "weights"_a = nb::none(), "model"_a = "flow",
      "method"_a = "auto", "seed"_a = 1, "evaluations"_a = 50'000, "starts"_a = Starts{},
      "should_stop"_a = nb::none(), "separation"_a = "dependence", "repetitions"_a = 1,
      "The placement with the least contended time. ``auto`` times every placement (by flow: one per orbit of\n"
      "the unmerged symmetry group) where `evaluations` suffice, else searches locally from identity, greedy\n"
      "and `starts`, pairs of a name and a placement. `should_stop` is asked before every run.");
}

}  // namespace corewise::bind
