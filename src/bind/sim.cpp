// Simulation for Python: a pattern's run on a machine with all it measured, and the timeline of a watched run.
// Tables come as tuples of equally long arrays, one per column; corewise.sim names them.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "cell/parameters.hpp"
#include "lab/cell_pattern.hpp"
#include "machine/machine.hpp"
#include "pattern/pattern.hpp"
#include "sim/pattern_result.hpp"
#include "sim/pattern_run.hpp"
#include "sim/timeline.hpp"
#include "simmpi/settings.hpp"

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

template <class... Columns>
using Table = nb::typed<nb::tuple, ArrayOut<Columns>...>;

/// One array per member, of the rows' values.
template <class Row, class... Members>
Table<Members...> table(const std::vector<Row>& rows, Members Row::*... members) {
  const auto column = [&rows]<class T>(T Row::* member) {
    std::vector<T> values;
    values.reserve(rows.size());
    for (const Row& row : rows) values.push_back(row.*member);
    return to_array(std::move(values));
  };
  return Table<Members...>(nb::make_tuple(column(members)...));
}

/// The enumerator whose name_of is `text`.
template <class Enum>
Enum chosen(const char* field, const std::string& text, Enum first, Enum second) {
  for (const Enum each : {first, second})
    if (text == name_of(each)) return each;
  raise(bad_field("", field, "'" + text + "'", std::string(name_of(first)) + ", " + std::string(name_of(second))));
}

void require_at_least_one(const char* field, int value) {
  if (value < 1) raise(bad_field("", field, std::to_string(value), "1 or more"));
}

PatternResult run_pattern(const Machine& node, const Pattern& pattern, std::vector<UnitId> unit_of_rank,
                          const std::string& granularity, const std::string& separation, int repetitions,
                          int messages_in_flight, Timeline* timeline) {
  PatternOptions options;
  options.granularity = chosen("granularity", granularity, sim::Granularity::packet, sim::Granularity::flow);
  options.separation = chosen("separation", separation, sim::Separation::dependence, sim::Separation::barrier);
  require_at_least_one("repetitions", repetitions);
  require_at_least_one("messages_in_flight", messages_in_flight);
  options.repetitions = repetitions;
  options.messages_in_flight = messages_in_flight;
  options.timeline = timeline;
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return sim::run_pattern(node, pattern, {std::move(unit_of_rank)}, options);
  }());
}

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

std::vector<std::tuple<std::string, std::string>> tracks(const Timeline& timeline) {
  std::vector<std::tuple<std::string, std::string>> found;
  for (const Timeline::TrackInfo& track : timeline.tracks()) found.emplace_back(track.group, track.name);
  return found;
}

std::vector<std::tuple<std::string, std::string, std::string, std::string>> kinds(const Timeline& timeline) {
  std::vector<std::tuple<std::string, std::string, std::string, std::string>> found;
  for (const Timeline::KindInfo& kind : timeline.kinds())
    found.emplace_back(kind.name, kind.label_a, kind.label_b, kind.where);
  return found;
}

void bind_timeline(nb::module_& module) {
  using Event = Timeline::Event;
  nb::class_<Timeline>(module, "Timeline", "What happens when in a simulated run that it is given to.")
      .def(nb::init<std::size_t>(), "max_events"_a = Timeline::kDefaultMaxEvents)
      .def_prop_ro("tick_ns", &Timeline::tick_ns, "Length of a tick in ns.")
      .def_prop_ro("tracks", &tracks, "(group, name) of every track.")
      .def_prop_ro("kinds", &kinds, "(name, label of a, label of b, where) of every kind of event.")
      .def(
          "events",
          [](const Timeline& timeline) {
            return table(timeline.events(), &Event::track, &Event::kind, &Event::begin, &Event::end, &Event::a,
                         &Event::b);
          },
          "Arrays of shape (events,): track and kind (int32), begin and end in ticks (end -1: an instant), the "
          "two\n"
          "numbers a and b (int64).")
      .def_prop_ro("dropped", &Timeline::dropped, "Events that were not kept: more than `max_events`.");
}

void bind_result_tables(nb::class_<PatternResult>& result) {
  using Transfer = sim::TransferResult;
  using Phase = sim::PhaseResult;
  using Link = sim::LinkLoad;
  using Unit = sim::UnitLoad;
  result
      .def(
          "transfers",
          [](const PatternResult& run) {
            return table(run.transfers, &Transfer::repetition, &Transfer::phase, &Transfer::from, &Transfer::to,
                         &Transfer::bytes, &Transfer::messages, &Transfer::start_ns, &Transfer::end_ns);
          },
          "Arrays of shape (transfers,): repetition, phase, sender, receiver (int32), bytes, messages (uint64),\n"
          "start and end in ns (float64).")
      .def(
          "phases",
          [](const PatternResult& run) {
            return table(run.phases, &Phase::repetition, &Phase::phase, &Phase::bytes, &Phase::start_ns,
                         &Phase::end_ns);
          },
          "Arrays of shape (phases,): repetition, phase (int32), bytes (uint64), start and end in ns (float64).")
      .def(
          "links",
          [](const PatternResult& run) {
            return table(run.links, &Link::bytes, &Link::packets, &Link::busy_ns, &Link::largest_queue);
          },
          "Arrays of shape (links,), in the machine's order: bytes, packets (uint64), busy ns (float64), largest\n"
          "queue (int64).")
      .def(
          "units",
          [](const PatternResult& run) {
            return table(run.units, &Unit::rank, &Unit::sent_bytes, &Unit::received_bytes, &Unit::sent_messages,
                         &Unit::received_messages, &Unit::waiting_ns, &Unit::idle_ns);
          },
          "Arrays of shape (units,), in the machine's order: rank (int32, -1 for none), sent and received bytes,\n"
          "sent and received messages (uint64), waiting and idle ns (float64).");
}

void bind_result(nb::module_& module) {
  nb::class_<PatternResult> result(module, "PatternResult", "What running a pattern on a simulated machine gave.");
  result.def_ro("model", &PatternResult::model, "``flow``, ``packet`` or ``cell``.")
      .def_ro("repetitions", &PatternResult::repetitions)
      .def_ro("unit_of_rank", &PatternResult::unit_of_rank)
      .def_ro("total_ns", &PatternResult::total_ns, "From the start to the last delivery, in ns.")
      .def_ro("event_count", &PatternResult::events, "Simulated events handled.");
  bind_result_tables(result);
}

/// Name, value where none is set, unit, least, most, meaning of everything that a program on simulated ranks pays
/// for.
std::vector<std::tuple<std::string, double, std::string, double, double, std::string>> simmpi_settings() {
  const simmpi::Settings unset;
  std::vector<std::tuple<std::string, double, std::string, double, double, std::string>> rows;
  for (const simmpi::SettingRow& row : simmpi::setting_rows()) {
    rows.emplace_back(row.name, unset.*row.field, row.unit, row.least, row.most, row.meaning);
  }
  return rows;
}

}  // namespace

void bind_sim(nb::module_& module) {
  bind_timeline(module);
  bind_result(module);
  module.def("simmpi_settings", &simmpi_settings,
             "What a program on simulated ranks pays for: (name, value where none is set, unit, least, most, "
             "meaning).");
  module.def(
      "run_pattern", &run_pattern, "machine"_a, "pattern"_a, "unit_of_rank"_a, "granularity"_a = "packet",
      "separation"_a = "dependence", "repetitions"_a = 1, "messages_in_flight"_a = 4,
      "timeline"_a.none() = nb::none(),
      "Runs a pattern on the network of a machine, by ``packet`` or by ``flow``. Before its next phase a rank\n"
      "waits for its own messages (``dependence``) or for everybody's (``barrier``).");
  module.def("cell_parameters", &cell_parameters, "machine"_a,
             "(name, unit, value, least, most, meaning, source) of every parameter of a simulated Cell.");
  module.def(
      "run_cell_pattern", &run_cell_pattern, "machine"_a, "pattern"_a, "unit_of_rank"_a,
      "separation"_a = "dependence", "repetitions"_a = 1, "seed"_a = 0, "timeline"_a.none() = nb::none(),
      "Runs a pattern on a whole simulated Cell: every rank a program that gets what others send it. `seed`\n"
      "is of the jitter of its buses; 0 leaves what the machine's file says.");
}

}  // namespace corewise::bind
