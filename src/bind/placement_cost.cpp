// Contended times for Python: what placements take by flow or by simulation.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/optional.h>
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
#include "bind/whole_cell.hpp"
#include "lab/placement/cost.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using lab::ContendedTime;
using lab::TimeModel;
using lab::TimeOptions;
using lab::WeightedPattern;
using machine::Machine;
using machine::UnitId;
using pattern::Pattern;

using Patterns = std::variant<Pattern, std::vector<Pattern>>;

std::vector<Pattern> to_patterns(const Patterns& given) {
  if (const auto* one = std::get_if<Pattern>(&given)) return {*one};
  return std::get<std::vector<Pattern>>(given);
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
  options.cell = cell_run(node, options.model);
  ContendedTime cost = unwrap(ContendedTime::of(
      node, unwrap(lab::weighted(to_patterns(patterns), weights.value_or(std::vector<double>{}))), options));
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

}  // namespace

void bind_placement_cost(nb::module_& module) {
  module.def(
      "contended_times", &contended_times, "machine"_a, "pattern"_a, "placements"_a, "model"_a = "flow",
      "seed"_a = 1, "jitter"_a = 0.0, "weights"_a = nb::none(), "separation"_a = "dependence", "repetitions"_a = 1,
      "Time of a pattern (or of several, weighted) under each placement, in ns: ndarray of float64, shape (n,),\n"
      "for placements of int32, shape (n, ranks). ``flow``: links shared max-min fairly; ``simulated``: packet\n"
      "by packet, a Cell as a whole. With `jitter` every seed and placement draws link latencies up to so much\n"
      "of themselves longer (on a Cell: the rings' pauses).");
}

}  // namespace corewise::bind
