// Replay for Python: a recording that is opened once and run as often as asked.
// SPDX-License-Identifier: BSD-3-Clause
#include "replay/replay.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "sim/timeline.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using machine::Machine;
using machine::UnitId;
using replay::CriticalPath;
using replay::Recording;
using replay::ReplayResult;

replay::Options options_of(const std::map<std::string, double>& settings,
                           const std::map<std::string, std::string>& algorithms, double computation,
                           const std::string& granularity, std::vector<double> cuts_ns) {
  replay::Options options;
  options.cuts_ns = std::move(cuts_ns);
  options.computation = computation;
  if (!(computation >= 0)) raise(bad_field("", "computation", std::to_string(computation), "0 or more"));
  if (granularity != "flow" && granularity != "packet")
    raise(bad_field("", "granularity", granularity, "flow, packet"));
  options.granularity = granularity == "packet" ? sim::Granularity::packet : sim::Granularity::flow;
  for (const auto& [name, value] : settings) require(simmpi::set(options.settings, name, value));
  for (const auto& [name, value] : algorithms) require(options.selection.choose(name, value));
  return options;
}

/// (bytes, send ns, (one way ns, both ways ns) by column).
using CostRowIn = std::tuple<double, double, std::vector<std::pair<double, double>>>;
/// (bytes moved by column, rows, bytes of memory per ns of computation).
using CostsIn = std::tuple<std::vector<double>, std::vector<CostRowIn>, double>;

simmpi::MessageCosts costs_of(const CostsIn& given) {
  simmpi::MessageCosts costs;
  costs.moved_bytes = std::get<0>(given);
  costs.touched_bytes_per_ns = std::get<2>(given);
  for (const auto& [bytes, send_ns, times] : std::get<1>(given)) {
    simmpi::MessageCosts::Row row{bytes, send_ns, {}};
    for (const auto& [one_way_ns, both_ns] : times) row.times.push_back({one_way_ns, both_ns});
    costs.rows.push_back(std::move(row));
  }
  require(simmpi::check(costs));
  return costs;
}

ReplayResult run(const Recording& recording, const Machine& machine, std::vector<UnitId> unit_of_rank,
                 const std::map<std::string, double>& settings,
                 const std::map<std::string, std::string>& algorithms, double computation,
                 const std::string& granularity, sim::Timeline* timeline, std::vector<double> cuts_ns,
                 const CostsIn& costs) {
  replay::Options options = options_of(settings, algorithms, computation, granularity, std::move(cuts_ns));
  options.timeline = timeline;
  options.costs = costs_of(costs);
  return without_gil([&] { return replay::run(recording, machine, {std::move(unit_of_rank)}, options); });
}

/// A column of the ranks' rows.
template <class T>
ArrayOut<T> rank_column(const ReplayResult& result, T replay::RankResult::* member) {
  std::vector<T> values;
  for (const replay::RankResult& rank : result.ranks) values.push_back(rank.*member);
  return to_array(std::move(values));
}

/// (recorded ns, ns here) of every part.
std::vector<std::pair<double, double>> parts(const ReplayResult& result) {
  std::vector<std::pair<double, double>> rows;
  for (const replay::PartResult& part : result.parts) rows.emplace_back(part.recorded_ns, part.time_ns);
  return rows;
}

using RankColumns = nb::typed<nb::tuple, ArrayOut<double>, ArrayOut<double>, ArrayOut<double>, ArrayOut<double>,
                              ArrayOut<std::uint64_t>>;

RankColumns ranks(const ReplayResult& result) {
  using Row = replay::RankResult;
  return RankColumns(nb::make_tuple(rank_column(result, &Row::end_ns), rank_column(result, &Row::computation_ns),
                                    rank_column(result, &Row::waiting_ns), rank_column(result, &Row::recorded_ns),
                                    rank_column(result, &Row::calls)));
}

/// (sender, receiver, messages, bytes, messages inside collectives, bytes inside collectives).
using PairOut = std::tuple<int, int, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

std::vector<PairOut> pairs(const ReplayResult& result) {
  std::vector<PairOut> rows;
  for (const replay::PairResult& pair : result.pairs) {
    const simmpi::Traffic& sum = pair.traffic;
    rows.emplace_back(pair.from, pair.to, sum.messages, sum.bytes, sum.collective_messages, sum.collective_bytes);
  }
  return rows;
}

/// (bytes, packets, busy ns, largest queue).
using LinkOut = std::tuple<std::uint64_t, std::uint64_t, double, std::int64_t>;

std::vector<LinkOut> links(const ReplayResult& result) {
  std::vector<LinkOut> rows;
  for (const sim::LinkStatistics& link : result.links) {
    rows.emplace_back(link.bytes, link.packets, static_cast<double>(link.busy) * sim::kPicosecondInNs,
                      link.largest_queue);
  }
  return rows;
}

std::vector<std::tuple<std::string, std::string, std::string>> algorithms() {
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  for (const replay::AlgorithmRow& row : replay::algorithm_rows()) {
    rows.emplace_back(row.collective, row.name, row.meaning);
  }
  return rows;
}

void bind_results(nb::module_& module) {
  nb::class_<CriticalPath>(module, "CriticalPath", "The chain of causes that ends with the last rank's end.")
      .def_ro("rank", &CriticalPath::rank, "where it ends")
      .def_ro("computation_ns", &CriticalPath::computation_ns)
      .def_ro("transfer_ns", &CriticalPath::transfer_ns)
      .def_ro("software_ns", &CriticalPath::software_ns)
      .def_ro("messages", &CriticalPath::messages);
  nb::class_<ReplayResult>(module, "ReplayResult", "What a recorded run became on a simulated machine.")
      .def_ro("time_ns", &ReplayResult::time_ns)
      .def_ro("recorded_ns", &ReplayResult::recorded_ns)
      .def_ro("path", &ReplayResult::path)
      .def_ro("collectives", &ReplayResult::collectives, "calls, counted on each of their ranks")
      .def_ro("unreplayed", &ReplayResult::unreplayed, "calls that took their recorded time")
      .def_ro("unreplayed_ns", &ReplayResult::unreplayed_ns, "summed over ranks")
      .def_ro("relaxed", &ReplayResult::relaxed, "sends returned before they were received, else it never ended")
      .def_ro("events", &ReplayResult::events)
      .def_ro("wall_s", &ReplayResult::wall_s)
      .def("ranks", &ranks,
           "Arrays of shape (ranks,): end, computation, waiting and recorded time in ns (float64), calls (uint64).")
      .def("parts", &parts, "Recorded ns and ns here of what lies between cuts.")
      .def("pairs", &pairs, "Sender, receiver, messages, bytes, and both inside collectives, of pairs that sent.")
      .def("links", &links, "Bytes, packets, busy ns and largest queue of the machine's links, in its order.");
}

}  // namespace

void bind_replay(nb::module_& module) {
  bind_results(module);
  nb::class_<Recording>(module, "Recording", "One world of a profile, opened to be replayed.")
      .def_static(
          "open",
          [](const std::string& directory, int world) {
            return without_gil([&] { return Recording::open(directory, world); });
          },
          "directory"_a, "world"_a = 0)
      .def_prop_ro("size", &Recording::size, "How many ranks it has.")
      .def_prop_ro(
          "recorded_ns", [](const Recording& recording) { return recording.recorded_ns(); },
          "From the first rank's MPI_Init to the last one's MPI_Finalize.")
      .def_prop_ro("unfinished", &Recording::unfinished, "Ranks whose file ends early, or lacks records.")
      .def("run", &run, "machine"_a, "unit_of_rank"_a, "settings"_a, "algorithms"_a, "computation"_a = 1.0,
           "granularity"_a = "flow", "timeline"_a.none() = nb::none(), "cuts_ns"_a = std::vector<double>{},
           "costs"_a = CostsIn{},
           "On a machine, rank r on unit `unit_of_rank[r]`; increasing `cuts_ns` divide the run into parts; "
           "`costs` of\n"
           "messages are (bytes moved by column, rows of (bytes, send ns, (one way, both ways) by column), bytes "
           "of memory\n"
           "per ns of computation), or nothing.")
      .def(
          "run_ideally",
          [](const Recording& recording, double computation) {
            return without_gil([&] { return replay::run_ideally(recording, computation); });
          },
          "computation"_a = 1.0, "Where messages and calls take no time at all.");
  module.def("replay_algorithms", &algorithms,
             "(collective, algorithm, meaning); the first of a collective is taken where none is chosen.");
}

}  // namespace corewise::bind
