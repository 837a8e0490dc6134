// The module corewise._lab: the simulators (rooms cell, lab, simmpi, replay). Machines, patterns and results are
// classes of corewise._core, which is therefore loaded first. SPDX-License-Identifier: BSD-3-Clause
#include "bind/rooms.hpp"

NB_MODULE(_lab, module) {
  nanobind::module_::import_("corewise._core");
  module.doc() = "The simulators of corewise: the Cell, collectives on it, recorded runs.";
  corewise::bind::bind_cell(module);
  corewise::bind::bind_affinity(module);
  corewise::bind::bind_mapping(module);
  corewise::bind::bind_profiling(module);
  corewise::bind::bind_collective(module);
  corewise::bind::bind_replay(module);
}
