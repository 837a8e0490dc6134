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
#include "bind/choices.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
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

}  // namespace

void bind_sim(nb::module_& module) {
  bind_timeline(module);
  bind_result(module);
  module.def(
      "run_pattern", &run_pattern, "machine"_a, "pattern"_a, "unit_of_rank"_a, "granularity"_a = "packet",
      "separation"_a = "dependence", "repetitions"_a = 1, "messages_in_flight"_a = 4,
      "timeline"_a.none() = nb::none(),
      "Runs a pattern on the network of a machine, by ``packet`` or by ``flow``. Before its next phase a rank\n"
      "waits for its own messages (``dependence``) or for everybody's (``barrier``).");
}

}  // namespace corewise::bind
