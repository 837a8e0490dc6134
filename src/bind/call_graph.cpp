// Call graphs and source places for Python: nodes as plain objects in tree order, debug information over sections
// that Python has read.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/call_graph/call_graph.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/rooms.hpp"
#include "profile/debug/debug_info.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using profile::CallGraph;
using profile::CallNode;
using profile::DebugInfo;
using profile::DebugSections;
using profile::Place;
using profile::SourceFrame;
using profile::SourcePlace;

const char* kind_text(const CallNode& node) {
  constexpr const char* kNames[] = {"root", "function", "region", "procedure", "message", "other"};
  return kNames[static_cast<std::size_t>(node.kind)];
}

/// Keeps the sections that a DebugInfo looks at.
class Debug {
 public:
  explicit Debug(std::map<std::string, nb::bytes> sections) : held_(std::move(sections)), info_(views()) {}
  std::vector<SourcePlace> find(const std::vector<std::uint64_t>& addresses) const { return info_.find(addresses); }
  std::size_t units() const { return info_.units(); }

 private:
  std::string_view view(const char* name) const {
    const auto found = held_.find(name);
    return found == held_.end() ? std::string_view{}
                                : std::string_view(found->second.c_str(), found->second.size());
  }
  DebugSections views() const {
    return {view(".debug_info"),     view(".debug_abbrev"),   view(".debug_line"),
            view(".debug_str"),      view(".debug_line_str"), view(".debug_ranges"),
            view(".debug_rnglists"), view(".debug_addr"),     view(".debug_str_offsets")};
  }

  std::map<std::string, nb::bytes> held_;
  DebugInfo info_;
};

using Sections = nb::typed<nb::dict, nb::str, nb::bytes>;

void make_debug(Debug* self, const Sections& sections) {
  std::map<std::string, nb::bytes> held;
  for (const auto& [name, data] : sections) held[nb::cast<std::string>(name)] = nb::cast<nb::bytes>(data);
  new (self) Debug(std::move(held));
}

void bind_nodes(nb::module_& module) {
  nb::class_<CallNode>(module, "CallNode", "One calling context; times in nanoseconds.")
      .def_prop_ro("kind", &kind_text, "'root', 'function', 'region', 'procedure', 'message' or 'other'")
      .def_ro("parent", &CallNode::parent, "index into CallGraph.nodes, -1 for the root")
      .def_ro("what", &CallNode::what, "index into CallGraph.places (functions) or CallGraph.names")
      .def_ro("source", &CallNode::source)
      .def_ro("destination", &CallNode::destination)
      .def_ro("bytes", &CallNode::bytes, "of one message, or of all that was moved here")
      .def_ro("count", &CallNode::count)
      .def_ro("recursive", &CallNode::recursive)
      .def_ro("inclusive_ns", &CallNode::inclusive_ns)
      .def_ro("exclusive_ns", &CallNode::exclusive_ns);
  nb::class_<Place>(module, "CodePlace", "An address as an offset into the file it was mapped from.")
      .def_ro("object", &Place::object)
      .def_ro("offset", &Place::offset);
  nb::class_<CallGraph>(module, "CallGraph", "Calling contexts of one or more ranks, parents first.")
      .def_ro("nodes", &CallGraph::nodes)
      .def_ro("places", &CallGraph::places)
      .def_ro("names", &CallGraph::names)
      .def_ro("ranks", &CallGraph::ranks)
      .def_ro("functions", &CallGraph::functions)
      .def_ro("unmatched_exits", &CallGraph::unmatched_exits)
      .def_ro("closed_at_end", &CallGraph::closed_at_end)
      .def_ro("without_room", &CallGraph::without_room);
}

void bind_debug(nb::module_& module) {
  nb::class_<SourceFrame>(module, "SourceFrame", "A function that an address lies in, and where in it.")
      .def_ro("name", &SourceFrame::name)
      .def_ro("linkage", &SourceFrame::linkage)
      .def_ro("file", &SourceFrame::file)
      .def_ro("line", &SourceFrame::line)
      .def_ro("fortran", &SourceFrame::fortran);
  nb::class_<SourcePlace>(module, "SourcePlace", "What debug information says about an address.")
      .def_ro("frames", &SourcePlace::frames, "innermost first, inlined functions included")
      .def_ro("declared_file", &SourcePlace::declared_file)
      .def_ro("declared_line", &SourcePlace::declared_line);
  nb::class_<Debug>(module, "DebugInfo", "Debug information of one ELF file: its sections by name, uncompressed.")
      .def("__init__", &make_debug, "sections"_a)
      .def("find", &Debug::find, "addresses"_a, "A SourcePlace per address, in their order.")
      .def_prop_ro("units", &Debug::units);
}

}  // namespace

void bind_call_graph(nb::module_& module) {
  bind_nodes(module);
  bind_debug(module);
}

}  // namespace corewise::bind
