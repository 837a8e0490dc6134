// The flat node: one crossbar that never blocks; all that transfers share is each unit's own port, a link out and a
// link in. Unit i sits at stop i + 1, stop 0 is the crossbar: a tree of one level.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/fabric.hpp"

namespace corewise::machine {

Fabric build_flat(const FlatSpec& spec) {
  Fabric fabric;
  fabric.kind = "flat";
  fabric.stops = {"crossbar"};
  fabric.above = {-1};
  for (int index = 0; index < spec.count; ++index) {
    Unit unit;
    unit.name = numbered(spec.unit_name, index);
    unit.stop = index + 1;
    fabric.stops.push_back(unit.name);
    fabric.above.push_back(0);
    const LinkSpeed& port = spec.port;
    fabric.links.push_back({unit.name + ":out", unit.stop, 0, port.bandwidth_gb_per_s, port.latency_ns});
    fabric.links.push_back({unit.name + ":in", 0, unit.stop, port.bandwidth_gb_per_s, port.latency_ns});
    fabric.units.push_back(std::move(unit));
  }
  fabric.router = tree_router(fabric.above);
  return fabric;
}

}  // namespace corewise::machine
