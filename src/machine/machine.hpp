// Machine: a node as its communication sees it. Units (where a rank can run) sit at stops; directed links join
// stops; a route is a list of links. Everything here is plain data that readers (JSON document, hwloc,
// synthetic text) fill and `check()` verifies; it knows no pattern, no placement search, no simulator.
//
// Ties are kept as ties: where two routes are equally short and the hardware may take either (an exactly
// half-way transfer on a ring), both are listed and traffic is split evenly between them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "machine/routes.hpp"

namespace corewise::machine {

using StopId = int;

/// The most units a machine may have: a tree or a flat node.
inline constexpr int kMaxUnits = 4096;
/// The most units of the other kinds, whose routes are kept for every pair.
inline constexpr int kMaxTabledUnits = 1024;

/// A directed resource that transfers share.
struct Link {
  std::string name;  ///< unique, e.g. "cw:SPE1>SPE3", "x+(2,3)", "l3-1:up"
  StopId from = 0;
  StopId to = 0;
  double bandwidth_gb_per_s = 0;  ///< 1e9 bytes per second = bytes per nanosecond
  double latency_ns = 0;          ///< time of one hop
  int lanes = 1;                  ///< parallel channels (rings) that share the bandwidth evenly
};

/// A place where one rank can run.
struct Unit {
  std::string name;  ///< unique, e.g. "SPE0", "core3"
  StopId stop = 0;
  int os_index = -1;                 ///< operating-system index of its first PU, -1 where unknown
  int logical_core = -1;             ///< hwloc logical core index, -1 where unknown
  std::vector<std::string> domains;  ///< enclosing domains, outermost first: {"package0", "l3-1"}
};

/// One number of a machine file's [simulation] table.
struct Parameter {
  std::string name;
  double value = 0;
};

/// Where the numbers of a machine come from, as its file says; all empty where it does not.
struct Origin {
  std::string source;                 ///< who measured, or what was read
  std::string processor;              ///< as the operating system names it
  std::vector<std::string> measured;  ///< kinds of numbers: "latency", "bandwidth"
  std::vector<std::string> nominal;   ///< those that are assumed
};

struct Machine {
  std::string name;
  std::string description;
  std::string kind;  ///< "ring", "mesh", "tree", "flat", or "composite" (parts joined by bridges)
  std::vector<std::string> stops;
  std::vector<Unit> units;
  std::vector<Link> links;
  /// Alternatives from unit u to unit v: equally short, never empty; from a unit to itself one empty Route.
  RouteTable route_table;
  /// The simulator's table of the file: which model runs this machine ("" for the interconnect alone, "cell"), and
  /// the model's numbers. Only their form is checked here; the model knows which names exist.
  std::string model;
  std::vector<Parameter> parameters;
  std::string source;  ///< what errors about the parameters name; empty for machines made from no document
  Origin origin;

  [[nodiscard]] Routes routes(UnitId from, UnitId to) const { return route_table.of(from, to, units.size()); }
  [[nodiscard]] int hops(UnitId from, UnitId to) const {
    return static_cast<int>(routes(from, to).front().links.size());
  }
};

/// Verifies every index, name uniqueness, positive bandwidths, that each route is connected from its first to its
/// last stop and that alternatives are equally long and different.
Status check(const Machine& machine);

/// Reads a machine document (docs/formats/machine.md). `source` names it in errors. Unknown fields are errors.
Result<Machine> from_json(std::string_view document, std::string_view source);

/// Short text in the manner of hwloc's synthetic topologies, e.g. "ring:8", "mesh:6x4 core:2", "torus:4x4",
/// "pack:2 l3:4 core:8", "flat:16". Bandwidths and latencies are nominal (docs/formats/machine.md).
Result<Machine> from_synthetic(std::string_view text);

struct HostOptions {
  std::string xml_path;  ///< an hwloc XML file instead of this host
  /// Shared libraries to try before the system's libhwloc.so.15 and libhwloc.so, best first.
  std::vector<std::string> library_candidates;
};

/// This host (or an hwloc XML file) as a tree: package, die or NUMA node, L3, core. Units are cores, or PUs where
/// hwloc sees no cores; disallowed ones are absent, as in hwloc's and Open MPI's own numbering. hwloc is loaded at
/// run time: Code::unsupported, with the libraries tried and why each failed, when none of them is an hwloc 2.
/// Bandwidths and latencies are nominal, not measured.
Result<Machine> from_hwloc(const HostOptions& options);
Result<Machine> from_hwloc(const std::string& xml_path = {});

}  // namespace corewise::machine
