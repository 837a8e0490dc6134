// Room base for Python: quantities with their units, as options and files write them.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "base/units.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

std::uint64_t parse_size_bytes(const std::string& text, const std::string& source, const std::string& field) {
  return unwrap(corewise::parse_size_bytes(text, source, field));
}

double parse_time_ns(const std::string& text, const std::string& source, const std::string& field) {
  return unwrap(corewise::parse_time_ns(text, source, field));
}

}  // namespace

void bind_base(nb::module_& module) {
  module.def("parse_size_bytes", &parse_size_bytes, "text"_a, "source"_a = "", "field"_a = "size",
             "Bytes of a size with its unit, e.g. ``16 KiB``; `source` and `field` name it in errors.");
  module.def("parse_time_ns", &parse_time_ns, "text"_a, "source"_a = "", "field"_a = "time",
             "Nanoseconds of a time with its unit, e.g. ``1.5 ms``; `source` and `field` name it in errors.");
}

}  // namespace corewise::bind
