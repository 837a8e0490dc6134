// Meshes and tori of tiles in one to three dimensions, routed dimension by dimension (XY routing): first all steps
// along x, then along y, then along z. A dimension that closes to a ring takes the shorter way round. Tiles are
// numbered with x running fastest, and so are the units on them.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdlib>
#include <utility>

#include "machine/fabric.hpp"

namespace corewise::machine {
namespace {

using Position = std::vector<int>;
constexpr std::array<const char*, 3> kAxes{"x", "y", "z"};

/// The geometry alone: positions, neighbours, and which link joins them.
class Grid {
 public:
  Grid(std::vector<int> dims, std::vector<bool> torus, Ties ties)
      : dims_(std::move(dims)), torus_(std::move(torus)), ties_(ties) {
    tiles_ = 1;
    for (const int size : dims_) tiles_ *= size;
  }

  [[nodiscard]] int tiles() const { return tiles_; }
  [[nodiscard]] std::size_t dimensions() const { return dims_.size(); }

  [[nodiscard]] Position position(int tile) const {
    Position at;
    for (const int size : dims_) {
      at.push_back(tile % size);
      tile /= size;
    }
    return at;
  }

  [[nodiscard]] int tile(const Position& at) const {
    int index = 0;
    for (std::size_t axis = dims_.size(); axis-- > 0;) index = index * dims_[axis] + at[axis];
    return index;
  }

  /// The tile one step along `axis`, or -1 at an open edge (and where the dimension has one tile only).
  [[nodiscard]] int neighbour(int from, std::size_t axis, bool forward) const {
    Position at = position(from);
    const int size = dims_[axis];
    at[axis] += forward ? 1 : -1;
    const bool outside = at[axis] < 0 || at[axis] == size;
    if (outside && (!torus_[axis] || size == 1)) return -1;
    at[axis] = (at[axis] + size) % size;
    return tile(at);
  }

  [[nodiscard]] std::vector<int> steps(std::size_t axis, int from, int to) const {
    return shortest_steps(from, to, dims_[axis], torus_[axis], ties_);
  }

  /// Index into a table of ways per tile, axis and direction.
  [[nodiscard]] std::size_t slot(int from, std::size_t axis, bool forward) const {
    return (static_cast<std::size_t>(from) * dims_.size() + axis) * 2 + (forward ? 0 : 1);
  }

 private:
  std::vector<int> dims_;
  std::vector<bool> torus_;
  Ties ties_;
  int tiles_ = 1;
};

std::string place_name(const Position& at) {
  std::string name = "(";
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    name.append(axis > 0 ? "," : "").append(std::to_string(at[axis]));
  }
  return name + ")";
}

/// A step from a tile; none at an open edge.
struct Way {
  LinkId link = -1;
  int to = -1;
};
using Ways = std::vector<Way>;

/// Adds the grid's links to the fabric; the table says which link leaves a tile where, and what tile it leads to.
Ways add_links(const Grid& grid, const LinkSpeed& speed, Fabric& fabric) {
  Ways table(static_cast<std::size_t>(grid.tiles()) * grid.dimensions() * 2);
  for (int tile = 0; tile < grid.tiles(); ++tile) {
    for (std::size_t axis = 0; axis < grid.dimensions(); ++axis) {
      for (const bool forward : {true, false}) {
        const int to = grid.neighbour(tile, axis, forward);
        if (to < 0) continue;
        table[grid.slot(tile, axis, forward)] = {static_cast<LinkId>(fabric.links.size()), to};
        const std::string name = kAxes[axis] + std::string(forward ? "+" : "-") + place_name(grid.position(tile));
        fabric.links.push_back({name, tile, to, speed.bandwidth_gb_per_s, speed.latency_ns});
      }
    }
  }
  return table;
}

void add_stops_and_units(const Grid& grid, const MeshSpec& spec, Fabric& fabric) {
  for (int tile = 0; tile < grid.tiles(); ++tile) {
    fabric.stops.push_back("tile" + place_name(grid.position(tile)));
    for (int k = 0; k < spec.units_per_tile; ++k) {
      Unit unit;
      unit.name = numbered(spec.unit_name, static_cast<int>(fabric.units.size()));
      unit.stop = tile;
      if (spec.units_per_tile > 1) unit.domains = {fabric.stops.back()};
      fabric.units.push_back(std::move(unit));
    }
  }
}

Path walk(const Grid& grid, const Ways& table, int tile, std::size_t axis, int steps) {
  Path path(static_cast<std::size_t>(std::abs(steps)));
  for (LinkId& link : path) {
    const Way& way = table[grid.slot(tile, axis, steps > 0)];
    link = way.link;
    tile = way.to;
  }
  return path;
}

std::vector<Path> dimension_order(const Grid& grid, const Ways& table, StopId from, StopId to) {
  std::vector<Path> routes(1);
  Position at = grid.position(from);
  const Position target = grid.position(to);
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    std::vector<Path> along;
    for (const int steps : grid.steps(axis, at[axis], target[axis])) {
      along.push_back(walk(grid, table, grid.tile(at), axis, steps));
    }
    routes = join(routes, along);
    at[axis] = target[axis];
  }
  return routes;
}

}  // namespace

Fabric build_mesh(const MeshSpec& spec) {
  Fabric fabric;
  fabric.kind = "mesh";
  Grid grid(spec.dims, spec.torus, spec.ties);
  add_stops_and_units(grid, spec, fabric);
  Ways table = add_links(grid, spec.link, fabric);
  fabric.router = [grid = std::move(grid), table = std::move(table)](StopId from, StopId to) {
    return dimension_order(grid, table, from, to);
  };
  return fabric;
}

}  // namespace corewise::machine
