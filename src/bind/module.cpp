// The module corewise._core: calls every room's binder. Order matters only where a signature names another room's
// class: machine and pattern come before place and profile.
// SPDX-License-Identifier: BSD-3-Clause
#include "bind/rooms.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The C++ core of corewise: machines, patterns, placement searches, profiles.";
  module.attr("__version__") = COREWISE_VERSION;
  module.attr("__commit__") = COREWISE_COMMIT;
  corewise::bind::bind_base(module);
  corewise::bind::bind_machine(module);
  corewise::bind::bind_pattern(module);
  corewise::bind::bind_place(module);
  corewise::bind::bind_place_distance(module);
  corewise::bind::bind_procedures(module);
  corewise::bind::bind_profile(module);
  corewise::bind::bind_call_graph(module);
  corewise::bind::bind_probe(module);
  corewise::bind::bind_sim(module);
  corewise::bind::bind_placement_cost(module);
  corewise::bind::bind_names(module);
  corewise::bind::bind_events(module);
  corewise::bind::bind_waits(module);
  corewise::bind::bind_shards(module);
  corewise::bind::bind_trace(module);
  corewise::bind::bind_datatype(module);
}
