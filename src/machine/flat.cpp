// The flat node: one crossbar that never blocks; all that transfers share is each unit's own port, a link out and a
// link in. Unit i sits at stop i + 1, stop 0 is the crossbar.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/fabric.hpp"

namespace corewise::machine {

Fabric build_flat(const FlatSpec& spec) {
  Fabric fabric;
  fabric.kind = "flat";
  fabric.stops = {"crossbar"};
  for (int index = 0; index < spec.count; ++index) {
    Unit unit;
    unit.name = numbered(spec.unit_name, index);
    unit.stop = index + 1;
    fabric.stops.push_back(unit.name);
    const LinkSpeed& port = spec.port;
    fabric.links.push_back({unit.name + ":out", unit.stop, 0, port.bandwidth_gb_per_s, port.latency_ns});
    fabric.links.push_back({unit.name + ":in", 0, unit.stop, port.bandwidth_gb_per_s, port.latency_ns});
    fabric.units.push_back(std::move(unit));
  }
  fabric.router = [](StopId from, StopId to) {
    Route route;
    if (from != to && from != 0) route.links.push_back(2 * (from - 1));
    if (from != to && to != 0) route.links.push_back(2 * (to - 1) + 1);
    return std::vector<Route>{route};
  };
  return fabric;
}

}  // namespace corewise::machine
