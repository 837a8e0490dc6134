// Room trace for Python: a profile's rank files, loose or in a bundle per node.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "trace/bundle.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

std::vector<std::string> pack_profile(const std::string& directory) {
  return unwrap(trace::pack_folder(directory));
}

std::vector<std::string> rank_files(const std::string& directory) {
  return unwrap(trace::rank_files(directory));
}

}  // namespace

void bind_trace(nb::module_& module) {
  module.def("pack_profile", &pack_profile, "directory"_a,
             "Packs the rank files of a profile's folder into one file per node; the names of those files.");
  module.def("rank_files", &rank_files, "directory"_a,
             "Paths of a profile's rank files, loose or inside a node's file, sorted by file name.");
}

}  // namespace corewise::bind
