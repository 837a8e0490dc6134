// Rings: stops in a circle, one link per hop and direction, the shorter way taken. Parallel rings of one direction
// are one link of their joint bandwidth. Link i goes clockwise out of stop i, link n + i counterclockwise.
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "machine/fabric.hpp"

namespace corewise::machine {
namespace {

std::vector<Link> ring_links(const RingSpec& spec) {
  const int size = static_cast<int>(spec.stops.size());
  std::vector<Link> links;
  for (const bool clockwise : {true, false}) {
    for (int from = 0; from < size; ++from) {
      const int to = (from + (clockwise ? 1 : size - 1)) % size;
      const std::string name = (clockwise ? "cw:" : "ccw:") + spec.stops[from] + ">" + spec.stops[to];
      links.push_back({name, from, to, spec.link.bandwidth_gb_per_s, spec.link.latency_ns, spec.lanes});
    }
  }
  return links;
}

Path walk(StopId from, int steps, int size) {
  Path path;
  StopId at = from;
  for (int left = steps; left != 0; left += left > 0 ? -1 : 1) {
    path.push_back(steps > 0 ? at : size + at);
    at = (at + (steps > 0 ? 1 : size - 1)) % size;
  }
  return path;
}

}  // namespace

Fabric build_ring(RingSpec spec) {
  const int size = static_cast<int>(spec.stops.size());
  Fabric fabric;
  fabric.kind = "ring";
  fabric.links = ring_links(spec);
  fabric.stops = std::move(spec.stops);
  fabric.units = std::move(spec.units);
  fabric.router = [size, ties = spec.ties](StopId from, StopId to) {
    std::vector<Path> routes;
    for (const int steps : shortest_steps(from, to, size, true, ties)) routes.push_back(walk(from, steps, size));
    return routes;
  };
  return fabric;
}

}  // namespace corewise::machine
