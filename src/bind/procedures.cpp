// The table of MPI procedures for Python: facts by name, and how the recorder describes each.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/procedures.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstddef>

#include "bind/rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using profile::ProcedureFacts;
using profile::Transfer;

const char* sort_text(const ProcedureFacts& facts) {
  constexpr const char* kNames[] = {"other", "startup", "message", "collective", "one_sided", "file"};
  return kNames[static_cast<std::size_t>(facts.sort)];
}

const char* meeting_text(const ProcedureFacts& facts) {
  constexpr const char* kNames[] = {"none", "barrier", "all_to_all", "to_root", "from_root", "prefix"};
  return kNames[static_cast<std::size_t>(facts.meeting)];
}

const char* volume_text(const ProcedureFacts& facts) {
  constexpr const char* kNames[] = {"unknown",   "none",    "from_root",     "to_root", "to_each",
                                    "from_each", "reduced", "from_previous", "per_peer"};
  return kNames[static_cast<std::size_t>(facts.volume)];
}

}  // namespace

void bind_procedures(nb::module_& module) {
  nb::class_<ProcedureFacts>(module, "ProcedureFacts",
                             "What an MPI procedure is; a collective's facts are those of its blocking form.")
      .def_ro("row", &ProcedureFacts::row, "the table's name, 'allreduce' for MPI_Iallreduce; empty without a row")
      .def_prop_ro("sort", &sort_text, "'other', 'startup', 'message', 'collective', 'one_sided' or 'file'")
      .def_prop_ro("meeting", &meeting_text,
                   "how a collective makes ranks wait: 'none', 'barrier', 'all_to_all', 'to_root', 'from_root' or "
                   "'prefix'")
      .def_prop_ro(
          "volume", &volume_text,
          "where a collective's bytes go: 'unknown', 'none', 'from_root', 'to_root', 'to_each', 'from_each', "
          "'reduced', 'from_previous' or 'per_peer'")
      .def_prop_ro(
          "sends_without_request",
          [](const ProcedureFacts& facts) { return facts.transfer > Transfer::posted_send; },
          "a send that is complete when the call returns");
  module.def("procedure_facts", &profile::procedure_facts, "procedure"_a,
             "Facts of an MPI procedure by its name, in any spelling.");
  module.def(
      "recorded_procedures", &profile::recorded_procedures,
      "MPI name and statement that describes a successful call to the recorder's `event`, for every procedure "
      "of the table; large-count forms are not listed.");
  module.def("collective_procedures", &profile::collective_procedures,
             "MPI names of the collectives, blocking and non-blocking.");
}

}  // namespace corewise::bind
