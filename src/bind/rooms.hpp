// One binder per room, or part of one; each adds its classes and functions to its module.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

namespace corewise::bind {

void bind_base(nanobind::module_& module);
void bind_machine(nanobind::module_& module);
void bind_pattern(nanobind::module_& module);
void bind_place(nanobind::module_& module);
void bind_place_distance(nanobind::module_& module);
void bind_procedures(nanobind::module_& module);
void bind_profile(nanobind::module_& module);
void bind_call_graph(nanobind::module_& module);
void bind_probe(nanobind::module_& module);
void bind_shards(nanobind::module_& module);
void bind_sim(nanobind::module_& module);
void bind_placement_cost(nanobind::module_& module);
void bind_names(nanobind::module_& module);
void bind_events(nanobind::module_& module);
void bind_waits(nanobind::module_& module);
void bind_trace(nanobind::module_& module);
void bind_datatype(nanobind::module_& module);
// Of the module corewise._lab.
void bind_cell(nanobind::module_& module);
void bind_affinity(nanobind::module_& module);
void bind_mapping(nanobind::module_& module);
void bind_profiling(nanobind::module_& module);
void bind_collective(nanobind::module_& module);
void bind_replay(nanobind::module_& module);

}  // namespace corewise::bind
