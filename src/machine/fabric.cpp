// Turns a fabric into a Machine, and the small arithmetic that the builders share. Owns the bound on a machine's
// size: a table of routes grows with the square of the units, and a slip such as "mesh:1000x1000" must be an error,
// not an exhausted memory.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/fabric.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

namespace corewise::machine {
namespace {

constexpr std::int64_t kMaxTableEntries = 64'000'000;  // links over all routes: 256 MB, and 8 bytes for each route

std::int64_t entries(const std::vector<Path>& paths) {
  std::int64_t count = 0;
  for (const Path& path : paths) count += 1 + static_cast<std::int64_t>(path.size());
  return count;
}

Status too_big(std::string_view source, const Machine& machine) {
  return bad_field(source, "units", std::to_string(machine.units.size()) + " units with very long routes",
                   "at most " + std::to_string(kMaxTableEntries) + " links over the routes of all pairs");
}

Status fill_routes(Machine& machine, const Router& router, std::string_view source) {
  std::int64_t total = 0;
  for (const Unit& from : machine.units) {
    for (const Unit& to : machine.units) {
      const auto paths = &from == &to ? std::vector<Path>(1) : router(from.stop, to.stop);
      total += entries(paths);
      if (total > kMaxTableEntries) return too_big(source, machine);
      machine.route_table.add(paths);
    }
  }
  return {};
}

void fill_ways(Machine& machine, const std::vector<StopId>& above) {
  for (const Unit& unit : machine.units) {
    Path up;
    Path down;
    for (StopId stop = unit.stop; stop != 0; stop = above[stop]) {
      up.push_back(2 * (stop - 1));
      down.push_back(2 * (stop - 1) + 1);
    }
    std::reverse(down.begin(), down.end());
    machine.route_table.add_way(up, down);
  }
}

}  // namespace

Result<Machine> finish(std::string name, std::string description, Fabric fabric, std::string_view source) {
  const bool is_tree = !fabric.above.empty();
  const int most = is_tree ? kMaxUnits : kMaxTabledUnits;
  if (fabric.units.size() > static_cast<std::size_t>(most)) {
    return bad_field(source, "units", std::to_string(fabric.units.size()) + " units",
                     "at most " + std::to_string(most));
  }
  Machine machine;
  machine.name = std::move(name);
  machine.description = std::move(description);
  machine.kind = std::move(fabric.kind);
  machine.stops = std::move(fabric.stops);
  machine.units = std::move(fabric.units);
  machine.links = std::move(fabric.links);
  if (is_tree) {
    fill_ways(machine, fabric.above);
  } else if (Status status = fill_routes(machine, fabric.router, source); !status.ok()) {
    return status;
  }
  if (Status status = check(machine); !status.ok()) {
    return invalid_input(source.empty() ? status.message() : std::string(source) + ": " + status.message());
  }
  return machine;
}

std::vector<int> shortest_steps(int from, int to, int size, bool closed, Ties ties) {
  if (!closed) return {to - from};
  const int clockwise = (to - from + size) % size;
  const int counterclockwise = clockwise - size;
  if (2 * clockwise < size) return {clockwise};
  if (2 * clockwise > size) return {counterclockwise};
  if (ties == Ties::clockwise) return {clockwise};
  if (ties == Ties::counterclockwise) return {counterclockwise};
  return {clockwise, counterclockwise};
}

std::vector<Path> join(const std::vector<Path>& heads, const std::vector<Path>& tails) {
  std::vector<Path> joined;
  joined.reserve(heads.size() * tails.size());
  for (const Path& head : heads) {
    for (const Path& tail : tails) {
      Path path = head;
      path.insert(path.end(), tail.begin(), tail.end());
      joined.push_back(std::move(path));
    }
  }
  return joined;
}

std::string numbered(std::string_view name, int index) {
  const bool apart = !name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0;
  return std::string(name).append(apart ? "-" : "").append(std::to_string(index));
}

}  // namespace corewise::machine
