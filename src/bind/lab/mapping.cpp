// Paper 002's experiments for Python: the ring of tasks on simulated SPEs, one mapping or many. Every run releases
// the GIL. SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "lab/mapping/ring.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using lab::RingExperiment;
using lab::RingTiming;

/// What of many runs is wanted, a column each.
struct RingTimings {
  std::vector<double> cycles_per_round;
  std::vector<std::int64_t> first_round, period_rounds, period_cycles, rounds, events, polls, retries;

  void add(const RingTiming& timing) {
    cycles_per_round.push_back(timing.cycles_per_round());
    first_round.push_back(timing.first_round);
    period_rounds.push_back(timing.period_rounds);
    period_cycles.push_back(timing.period_cycles);
    rounds.push_back(timing.rounds);
    events.push_back(static_cast<std::int64_t>(timing.events));
    polls.push_back(timing.polls);
    retries.push_back(timing.retries);
  }
};

void make_experiment(RingExperiment* self, const machine::Machine& machine) {
  auto parameters = unwrap(cell::Parameters::from(machine));
  new (self) RingExperiment{};
  self->machine = parameters;
  for (int spe = 0; spe < cell::kSpesPerChip; ++spe) {
    if (self->machine.usable[static_cast<std::size_t>(spe)]) self->spe_of_thread.push_back(spe);
  }
}

/// By value, as all runs here: while the GIL is released, another thread may change the caller's experiment.
RingTiming time_one(RingExperiment experiment, std::vector<int> task_of_thread) {
  experiment.task_of_thread = std::move(task_of_thread);
  return without_gil([&] { return lab::time_ring(experiment); });
}

Result<RingTimings> run_mappings(RingExperiment experiment, const std::vector<std::int64_t>& indices) {
  RingTimings all;
  const int tasks = static_cast<int>(experiment.spe_of_thread.size());
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= lab::mapping_count(tasks)) {
      return bad_field("", "mapping", std::to_string(index), "0.." + std::to_string(lab::mapping_count(tasks) - 1));
    }
    experiment.task_of_thread = lab::mapping_at(tasks, index);
    auto timing = lab::time_ring(experiment);
    if (!timing.ok()) return timing.status();
    all.add(timing.value());
  }
  return all;
}

RingTimings time_mappings(RingExperiment experiment, const ArrayIn<std::int64_t>& indices) {
  const std::vector<std::int64_t> wanted(indices.data(), indices.data() + indices.shape(0));
  return without_gil([&] { return run_mappings(std::move(experiment), wanted); });
}

std::int64_t mapping_count(int tasks) {
  if (tasks < 3 || tasks > lab::kMostTasks) raise(bad_field("", "tasks", std::to_string(tasks), "3..8"));
  return lab::mapping_count(tasks);
}

std::vector<int> mapping_at(int tasks, std::int64_t index) {
  const std::int64_t count = mapping_count(tasks);
  if (index < 0 || index >= count) {
    raise(bad_field("", "index", std::to_string(index), "0.." + std::to_string(count - 1)));
  }
  return lab::mapping_at(tasks, index);
}

template <class T, std::vector<T> RingTimings::* Column>
ArrayOut<T> column(const RingTimings& timings) {
  return to_array(timings.*Column);
}

void bind_timing(nb::module_& module) {
  nb::class_<RingTiming>(module, "RingTiming",
                         "When the tasks of a ring sent their packets. Times are core cycles.")
      .def_prop_ro("repeats", &RingTiming::repeats, "Whether the complete state came again: then all is exact.")
      .def_ro("first_round", &RingTiming::first_round, "Rounds before the repeating state, 0 where none repeats.")
      .def_ro("period_rounds", &RingTiming::period_rounds)
      .def_ro("period_cycles", &RingTiming::period_cycles)
      .def_ro("rounds", &RingTiming::rounds, "Rounds that were simulated.")
      .def_ro("events", &RingTiming::events)
      .def_ro("polls", &RingTiming::polls, "Of all tasks.")
      .def_ro("retries", &RingTiming::retries, "Commands that were answered with RETRY.")
      .def_ro("packets_checked", &RingTiming::packets_checked)
      .def_ro("packets_damaged", &RingTiming::packets_damaged)
      .def_prop_ro("cycles_per_round", &RingTiming::cycles_per_round)
      .def_ro("stalled", &RingTiming::stalled, "The ring stood still: ``cycles_per_round`` is a lower bound.")
      .def("all_sent", &RingTiming::all_sent, "transmissions"_a,
           "When every task has made so many transmissions: simulated or, beyond, by the repeat; -1: not known.");
  nb::class_<RingTimings>(module, "RingTimings", "Many runs, one entry of every array per run.")
      .def_prop_ro("cycles_per_round", &column<double, &RingTimings::cycles_per_round>, nb::rv_policy::move)
      .def_prop_ro("first_round", &column<std::int64_t, &RingTimings::first_round>, nb::rv_policy::move)
      .def_prop_ro("period_rounds", &column<std::int64_t, &RingTimings::period_rounds>, nb::rv_policy::move,
                   "0: no repeat was found.")
      .def_prop_ro("period_cycles", &column<std::int64_t, &RingTimings::period_cycles>, nb::rv_policy::move)
      .def_prop_ro("rounds", &column<std::int64_t, &RingTimings::rounds>, nb::rv_policy::move)
      .def_prop_ro("events", &column<std::int64_t, &RingTimings::events>, nb::rv_policy::move)
      .def_prop_ro("polls", &column<std::int64_t, &RingTimings::polls>, nb::rv_policy::move)
      .def_prop_ro("retries", &column<std::int64_t, &RingTimings::retries>, nb::rv_policy::move);
}

void bind_experiment(nb::module_& module) {
  nb::class_<RingExperiment>(module, "RingExperiment",
                             "Paper 002's ring on a machine. A thread runs on every usable SPE, T0 on the first.")
      .def("__init__", &make_experiment, "machine"_a)
      .def(
          "set",
          [](RingExperiment& self, const std::string& name, double value) {
            require(self.machine.set(name, value));
          },
          "name"_a, "value"_a, "Sets a simulation parameter by its name.")
      .def_rw("spe_of_thread", &RingExperiment::spe_of_thread, "The SPE of every thread.")
      .def_rw("packet_bytes", &RingExperiment::packet_bytes)
      .def_rw("bidirectional", &RingExperiment::bidirectional)
      .def_rw("jitter_cycles", &RingExperiment::jitter_cycles, "A poll turn takes 0 .. so many cycles longer.")
      .def_rw("start_skew_cycles", &RingExperiment::start_skew_cycles)
      .def_rw("seed", &RingExperiment::seed)
      .def_rw("most_rounds", &RingExperiment::most_rounds)
      .def_rw("find_repeat", &RingExperiment::find_repeat)
      .def_rw("check_packets", &RingExperiment::check_packets)
      .def_prop_rw(
          "entry_bytes", [](const RingExperiment& self) { return self.layout.entry_bytes; },
          [](RingExperiment& self, std::uint32_t value) { self.layout.entry_bytes = value; })
      .def_prop_rw(
          "row_bytes", [](const RingExperiment& self) { return self.layout.row_bytes; },
          [](RingExperiment& self, std::uint32_t value) { self.layout.row_bytes = value; })
      .def_prop_rw(
          "separate_acknowledgements",
          [](const RingExperiment& self) { return self.layout.separate_acknowledgements; },
          [](RingExperiment& self, bool value) { self.layout.separate_acknowledgements = value; })
      .def_prop_rw(
          "one_packet_per_poll", [](const RingExperiment& self) { return self.layout.one_packet_per_poll; },
          [](RingExperiment& self, bool value) { self.layout.one_packet_per_poll = value; })
      .def_prop_rw(
          "notify_local_store", [](const RingExperiment& self) { return self.layout.notify_local_store; },
          [](RingExperiment& self, bool value) { self.layout.notify_local_store = value; })
      .def_prop_rw(
          "pause_cycles", [](const RingExperiment& self) { return self.costs.pause_cycles; },
          [](RingExperiment& self, std::int64_t value) { self.costs.pause_cycles = value; })
      .def_prop_rw(
          "scan_cycles", [](const RingExperiment& self) { return self.costs.scan_cycles; },
          [](RingExperiment& self, std::int64_t value) { self.costs.scan_cycles = value; })
      .def_prop_ro("core_clock_ghz", [](const RingExperiment& self) { return self.machine.core_clock_ghz; })
      .def("time", &time_one, "task_of_thread"_a, "One mapping: thread T_i executes task ``task_of_thread[i]``.")
      .def("time_mappings", &time_mappings, "indices"_a,
           "Mappings by their index (``mapping_at``): ndarray of int64, shape (n,).");
}

}  // namespace

void bind_mapping(nb::module_& module) {
  bind_timing(module);
  bind_experiment(module);
  module.def("mapping_at", &mapping_at, "tasks"_a, "index"_a,
             "Mapping number `index` of (tasks - 1)! with task 0 on thread 0, in lexicographic order.");
  module.def("mapping_index", &lab::mapping_index, "task_of_thread"_a);
  module.def("mapping_count", &mapping_count, "tasks"_a, "(tasks - 1)!.");
  module.def("reflected_mapping", &lab::reflected, "task_of_thread"_a, "The same ring the other way round.");
}

}  // namespace corewise::bind
