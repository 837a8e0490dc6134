// Paper 003's overhead study for Python: a run with the profiler in the local stores, or without it. Every run
// releases the GIL. SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "lab/profiling/events.hpp"
#include "lab/profiling/overhead.hpp"
#include "machine/machine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using lab::EventLayout;
using lab::OverheadResult;
using lab::OverheadRun;
using lab::ProfiledProgram;

void make_run(OverheadRun* self, const machine::Machine& machine) {
  auto parameters = unwrap(cell::Parameters::from(machine));
  new (self) OverheadRun{};
  self->machine = parameters;
}

std::string program_of(const OverheadRun& run) {
  return run.program == ProfiledProgram::sweep ? "sweep" : "dynamics";
}
void set_program(OverheadRun& run, const std::string& name) {
  if (name != "sweep" && name != "dynamics") raise(bad_field("", "program", "'" + name + "'", "sweep, dynamics"));
  run.program = name == "sweep" ? ProfiledProgram::sweep : ProfiledProgram::dynamics;
}
std::string layout_of(const OverheadRun& run) {
  return run.recorder.layout == EventLayout::paper ? "paper" : "specific";
}
void set_layout(OverheadRun& run, const std::string& name) {
  if (name != "paper" && name != "specific") raise(bad_field("", "layout", "'" + name + "'", "paper, specific"));
  run.recorder.layout = name == "paper" ? EventLayout::paper : EventLayout::specific;
}

std::vector<nb::bytes> traces_of(const OverheadResult& result) {
  std::vector<nb::bytes> files;
  for (const auto& image : result.traces) files.emplace_back(image.data(), image.size());
  return files;
}

/// (name here, name in table 1 or "", bytes of our record) of every event type.
std::vector<std::tuple<std::string, std::string, std::uint32_t>> event_types() {
  std::vector<std::tuple<std::string, std::string, std::uint32_t>> all;
  for (std::size_t i = 0; i < lab::kEventRows.size(); ++i) {
    const lab::EventRow& row = lab::kEventRows[i];
    all.emplace_back(row.name, row.table1, lab::record_bytes_of(static_cast<lab::Event>(i)));
  }
  return all;
}

void bind_run(nb::module_& module) {
  nb::class_<OverheadRun>(module, "ProfiledRun",
                          "A program of paper 003's overhead study on the SPEs of one Cell. Times are core cycles.")
      .def("__init__", &make_run, "machine"_a)
      .def_prop_rw("program", &program_of, &set_program, "sweep: only messages; dynamics: computes too.")
      .def_rw("columns", &OverheadRun::columns)
      .def_rw("rows", &OverheadRun::rows)
      .def_rw("rounds", &OverheadRun::rounds, "Blocks from each corner, or steps.")
      .def_rw("message_bytes", &OverheadRun::message_bytes)
      .def_rw("call_cycles", &OverheadRun::call_cycles, "Of software in every call with a message.")
      .def_rw("compute_cycles", &OverheadRun::compute_cycles, "Per step of dynamics.")
      .def_rw("recorded", &OverheadRun::recorded, "Whether the profiler is there.")
      .def_rw("memory_limit_bytes", &OverheadRun::memory_limit_bytes, "Of all event pages; 0: the memory's.")
      .def_rw("keep_traces", &OverheadRun::keep_traces, "Whether the result has trace files.")
      .def_prop_rw("layout", &layout_of, &set_layout, "paper: 80 bytes for every event; specific: 16 or 32.")
      .def_prop_rw(
          "half_bytes", [](const OverheadRun& run) { return run.recorder.half_bytes; },
          [](OverheadRun& run, std::uint32_t bytes) { run.recorder.half_bytes = bytes; }, "Of one of two buffers.")
      .def_prop_rw(
          "pages", [](const OverheadRun& run) { return run.recorder.pages; },
          [](OverheadRun& run, std::uint32_t pages) { run.recorder.pages = pages; }, "Of events, per SPE.")
      .def_prop_rw(
          "functions", [](const OverheadRun& run) { return run.recorder.functions; },
          [](OverheadRun& run, bool functions) { run.recorder.functions = functions; },
          "Whether entries and exits of functions are recorded.")
      .def_prop_ro(
          "calls_per_round",
          [](const OverheadRun& run) { return lab::calls_per_round(run.program, run.columns, run.rows); },
          "Calls with a message of all SPEs in one round.")
      .def(
          "run", [](const OverheadRun& run) { return without_gil([run] { return lab::run_profiled(run); }); },
          "The ProfiledResult. Raises InputError for wrong fields.");
}

void bind_result(nb::module_& module) {
  nb::class_<OverheadResult>(module, "ProfiledResult", "What a ProfiledRun took and recorded, of all SPEs.")
      .def_ro("time_us", &OverheadResult::time_us)
      .def_ro("calls", &OverheadResult::calls, "With a message.")
      .def_ro("events", &OverheadResult::events, "Recorded.")
      .def_ro("lost_bytes", &OverheadResult::lost_bytes, "Of events beyond the last page.")
      .def_ro("pages", &OverheadResult::pages, "Dumped to main memory.")
      .def_ro("pages_bytes", &OverheadResult::pages_bytes, "Allotted in main memory.")
      .def_ro("waited_us", &OverheadResult::waited_us, "For an earlier dump, summed over SPEs.")
      .def_ro("page_faults", &OverheadResult::page_faults)
      .def_prop_ro("traces", &traces_of, "A trace file per rank, where they were kept.");
}

}  // namespace

void bind_profiling(nb::module_& module) {
  bind_run(module);
  bind_result(module);
  module.def("profiler_local_store_bytes", &lab::local_store_bytes, "half_bytes"_a,
             "What the profiler takes of a local store, its code included.");
  module.def("profiler_event_types", &event_types,
             "(name, name in paper 003's table 1 or '', bytes of our record) of every event type.");
}

}  // namespace corewise::bind
