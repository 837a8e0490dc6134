// The whole simulated Cell for Python: its parameters, and any pattern on it. The run releases the GIL.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/choices.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "bind/whole_cell.hpp"
#include "cell/parameters.hpp"
#include "lab/cell_pattern.hpp"
#include "machine/machine.hpp"
#include "pattern/pattern.hpp"
#include "sim/pattern_result.hpp"
#include "sim/pattern_run.hpp"
#include "sim/timeline.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using machine::Machine;
using machine::UnitId;
using pattern::Pattern;
using sim::PatternOptions;
using sim::PatternResult;
using sim::Timeline;

/// The machine with its [simulation] table's jitter_seed replaced; 0 leaves the file's.
Machine seeded(Machine node, std::int64_t seed) {
  if (seed == 0) return node;
  const auto named = [](const machine::Parameter& each) { return each.name == "jitter_seed"; };
  std::erase_if(node.parameters, named);
  node.parameters.push_back({"jitter_seed", static_cast<double>(seed)});
  return node;
}

/// (name, unit, value, least, most, meaning, source).
using ParameterOut = std::tuple<std::string, std::string, double, double, double, std::string, std::string>;

std::vector<ParameterOut> cell_parameters(const Machine& machine) {
  const cell::Parameters parameters = unwrap(cell::Parameters::from(machine));
  std::vector<ParameterOut> all;
  for (const cell::ParameterRow& row : cell::parameter_rows()) {
    all.emplace_back(row.name, row.unit, row.value(parameters), row.min, row.max, row.meaning, row.source);
  }
  return all;
}

PatternResult run_cell_pattern(const Machine& node, const Pattern& pattern, std::vector<UnitId> unit_of_rank,
                               const std::string& separation, int repetitions, std::int64_t seed,
                               Timeline* timeline) {
  PatternOptions options;
  options.separation = chosen("separation", separation, sim::Separation::dependence, sim::Separation::barrier);
  require_at_least_one("repetitions", repetitions);
  options.repetitions = repetitions;
  options.timeline = timeline;
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return lab::run_pattern_on_cell(seeded(node, seed), pattern, {std::move(unit_of_rank)}, options);
  }());
}

/// For placements that are timed on a Cell.
Result<PatternResult> run_whole_cell(const Machine& node, const Pattern& pattern,
                                     const machine::Placement& placement, const PatternOptions& options) {
  return lab::run_pattern_on_cell(node, pattern, placement, options);
}

}  // namespace

void bind_cell(nb::module_& module) {
  const lab::CellRun run = &run_whole_cell;
  module.attr(kCellRun) = nb::capsule(reinterpret_cast<void*>(run));
  module.def("cell_parameters", &cell_parameters, "machine"_a,
             "(name, unit, value, least, most, meaning, source) of every parameter of a simulated Cell.");
  module.def(
      "run_cell_pattern", &run_cell_pattern, "machine"_a, "pattern"_a, "unit_of_rank"_a,
      "separation"_a = "dependence", "repetitions"_a = 1, "seed"_a = 0, "timeline"_a.none() = nb::none(),
      "Runs a pattern on a whole simulated Cell: every rank a program that gets what others send it. `seed`\n"
      "is of the jitter of its buses; 0 leaves what the machine's file says.");
}

}  // namespace corewise::bind
