// Composites: parts, each with its own routing, joined by bridges, such as the two rings of a blade. A transfer
// inside a part never leaves it; between parts it takes the bridges that make the fewest hops, and every
// alternative in the parts it passes multiplies. Names of a part are prefixed "part.", and the part is the
// outermost domain of its units.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "machine/fabric.hpp"

namespace corewise::machine {
namespace {

constexpr int kFar = std::numeric_limits<int>::max() / 2;

/// A bridge in one direction, in the composite's own numbers.
struct Crossing {
  StopId from = 0;
  StopId to = 0;
  LinkId link = 0;
};

std::string prefixed(const std::string& part, const std::string& name) {
  return part + "." + name;
}

class Composite {
 public:
  explicit Composite(std::vector<Part> parts) : parts_(std::move(parts)) {}

  void append_parts(Fabric& fabric);
  void append_bridges(const std::vector<Bridge>& bridges, Fabric& fabric);
  [[nodiscard]] std::vector<Path> routes(StopId from, StopId to) const;

 private:
  [[nodiscard]] std::vector<Path> inside(StopId from, StopId to) const;
  [[nodiscard]] int hops_inside(StopId from, StopId to) const;
  [[nodiscard]] std::vector<int> crossing_distances(StopId from) const;
  [[nodiscard]] std::vector<Path> routes_over(const std::vector<int>& distance, StopId from,
                                              std::size_t last) const;
  void append_crossing(const Bridge& bridge, int direction, Fabric& fabric);

  std::vector<Part> parts_;
  std::vector<StopId> first_stop_;
  std::vector<LinkId> first_link_;
  std::vector<int> part_of_stop_;
  std::vector<Crossing> crossings_;
};

void Composite::append_parts(Fabric& fabric) {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const std::string& name = parts_[p].name;
    Fabric& part = parts_[p].fabric;
    const auto stop_base = static_cast<StopId>(fabric.stops.size());
    first_stop_.push_back(stop_base);
    first_link_.push_back(static_cast<LinkId>(fabric.links.size()));
    part_of_stop_.insert(part_of_stop_.end(), part.stops.size(), static_cast<int>(p));
    for (const std::string& stop : part.stops) fabric.stops.push_back(prefixed(name, stop));
    for (Link link : part.links) {
      link.name = prefixed(name, link.name);
      link.from += stop_base;
      link.to += stop_base;
      fabric.links.push_back(std::move(link));
    }
    for (Unit unit : part.units) {
      unit.name = prefixed(name, unit.name);
      unit.stop += stop_base;
      unit.logical_core = -1;  // counted within the part: it means nothing outside
      for (std::string& domain : unit.domains) domain = prefixed(name, domain);
      unit.domains.insert(unit.domains.begin(), name);
      fabric.units.push_back(std::move(unit));
    }
  }
}

void Composite::append_crossing(const Bridge& bridge, int direction, Fabric& fabric) {
  const int from_part = bridge.parts[direction];
  const int to_part = bridge.parts[1 - direction];
  Crossing crossing;
  crossing.from = first_stop_[from_part] + bridge.stops[direction];
  crossing.to = first_stop_[to_part] + bridge.stops[1 - direction];
  crossing.link = static_cast<LinkId>(fabric.links.size());
  const std::string name = "bridge:" + fabric.stops[crossing.from] + ">" + fabric.stops[crossing.to];
  fabric.links.push_back(
      {name, crossing.from, crossing.to, bridge.link.bandwidth_gb_per_s, bridge.link.latency_ns});
  crossings_.push_back(crossing);
}

void Composite::append_bridges(const std::vector<Bridge>& bridges, Fabric& fabric) {
  for (const Bridge& bridge : bridges) {
    append_crossing(bridge, 0, fabric);
    append_crossing(bridge, 1, fabric);
  }
}

/// Both stops lie in the same part.
std::vector<Path> Composite::inside(StopId from, StopId to) const {
  const int part = part_of_stop_[from];
  auto routes = parts_[part].fabric.router(from - first_stop_[part], to - first_stop_[part]);
  for (Path& path : routes) {
    for (LinkId& link : path) link += first_link_[part];
  }
  return routes;
}

int Composite::hops_inside(StopId from, StopId to) const {
  if (part_of_stop_[from] != part_of_stop_[to]) return kFar;
  return static_cast<int>(inside(from, to).front().size());
}

/// Fewest hops from a stop to just behind each crossing; bridges are few, so rounds until nothing changes will do.
std::vector<int> Composite::crossing_distances(StopId from) const {
  std::vector<int> distance;
  for (const Crossing& crossing : crossings_)
    distance.push_back(std::min(kFar, hops_inside(from, crossing.from) + 1));
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t before = 0; before < crossings_.size(); ++before) {
      for (std::size_t after = 0; after < crossings_.size(); ++after) {
        const int longer = distance[before] + hops_inside(crossings_[before].to, crossings_[after].from) + 1;
        if (longer >= distance[after]) continue;
        distance[after] = longer;
        changed = true;
      }
    }
  }
  return distance;
}

/// All shortest routes that end by crossing `last`.
std::vector<Path> Composite::routes_over(const std::vector<int>& distance, StopId from, std::size_t last) const {
  std::vector<Path> found;
  const Crossing& crossing = crossings_[last];
  const std::vector<Path> step{Path{crossing.link}};
  const auto add = [&](const std::vector<Path>& heads, StopId via) {
    const auto more = join(join(heads, inside(via, crossing.from)), step);
    found.insert(found.end(), more.begin(), more.end());
  };
  if (hops_inside(from, crossing.from) + 1 == distance[last]) add({Path{}}, from);
  for (std::size_t before = 0; before < crossings_.size(); ++before) {
    const StopId landed = crossings_[before].to;
    if (distance[before] + hops_inside(landed, crossing.from) + 1 != distance[last]) continue;
    add(routes_over(distance, from, before), landed);
  }
  return found;
}

std::vector<Path> Composite::routes(StopId from, StopId to) const {
  if (part_of_stop_[from] == part_of_stop_[to]) return inside(from, to);
  const std::vector<int> distance = crossing_distances(from);
  int best = kFar;
  for (std::size_t last = 0; last < crossings_.size(); ++last) {
    best = std::min(best, distance[last] + hops_inside(crossings_[last].to, to));
  }
  std::vector<Path> found;
  for (std::size_t last = 0; last < crossings_.size(); ++last) {
    if (distance[last] + hops_inside(crossings_[last].to, to) != best) continue;
    const auto more = join(routes_over(distance, from, last), inside(crossings_[last].to, to));
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

}  // namespace

int unreached_part(int parts, const std::vector<Bridge>& bridges) {
  std::vector<bool> reached(static_cast<std::size_t>(parts), false);
  reached[0] = true;
  for (int round = 0; round < parts; ++round) {
    for (const Bridge& bridge : bridges) {
      const bool either = reached[bridge.parts[0]] || reached[bridge.parts[1]];
      reached[bridge.parts[0]] = reached[bridge.parts[1]] = either;
    }
  }
  const auto first = std::find(reached.begin(), reached.end(), false);
  return first == reached.end() ? -1 : static_cast<int>(first - reached.begin());
}

Fabric build_composite(std::vector<Part> parts, const std::vector<Bridge>& bridges) {
  Fabric fabric;
  fabric.kind = "composite";
  const auto composite = std::make_shared<Composite>(std::move(parts));
  composite->append_parts(fabric);
  composite->append_bridges(bridges, fabric);
  fabric.router = [composite](StopId from, StopId to) { return composite->routes(from, to); };
  return fabric;
}

}  // namespace corewise::machine
