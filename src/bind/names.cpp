// What the simulators' parts are called and what may be set: affinities, collectives, the settings of both kinds of
// ranks. Tables only; they are in the module that every command loads, the simulators are in corewise._lab.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/rooms.hpp"
#include "lab/affinity/affinity.hpp"
#include "lab/collectives/kinds.hpp"
#include "lab/collectives/settings.hpp"
#include "simmpi/settings.hpp"

namespace nb = nanobind;

namespace corewise::bind {
namespace {

std::vector<std::pair<std::string, std::vector<int>>> named_affinities() {
  std::vector<std::pair<std::string, std::vector<int>>> all;
  for (const lab::NamedAffinity& named : lab::affinities()) {
    all.emplace_back(named.name, std::vector<int>(named.spe_of_rank.begin(), named.spe_of_rank.end()));
  }
  return all;
}

const char* name_of(lab::SettingKind kind) {
  switch (kind) {
    case lab::SettingKind::number:
      return "number";
    case lab::SettingKind::bytes:
      return "bytes";
    case lab::SettingKind::flag:
      return "flag";
    case lab::SettingKind::closing:
      return "closing";
  }
  return "";
}

/// (name, has a root, combines operands, has blocks of different sizes).
std::vector<std::tuple<std::string, bool, bool, bool>> collectives() {
  std::vector<std::tuple<std::string, bool, bool, bool>> all;
  for (const coll::Collective each : lab::all_collectives()) {
    all.emplace_back(lab::name_of(each), lab::has_root(each), lab::combines(each), lab::has_uneven_blocks(each));
  }
  return all;
}

/// (name, kind, least, most, step, allowed values in words, meaning).
using SettingOut =
    std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t, std::string, std::string>;

std::vector<SettingOut> settings() {
  std::vector<SettingOut> all;
  for (const lab::SettingRow& row : lab::setting_rows()) {
    all.emplace_back(row.name, name_of(row.kind), row.least, row.most, row.step, lab::allowed_text(row),
                     row.meaning);
  }
  return all;
}

/// Name, value where none is set, unit, least, most, meaning of everything that a program on simulated ranks pays
/// for.
std::vector<std::tuple<std::string, double, std::string, double, double, std::string>> simmpi_settings() {
  const simmpi::Settings unset;
  std::vector<std::tuple<std::string, double, std::string, double, double, std::string>> rows;
  for (const simmpi::SettingRow& row : simmpi::setting_rows()) {
    rows.emplace_back(row.name, unset.*row.field, row.unit, row.least, row.most, row.meaning);
  }
  return rows;
}

}  // namespace

void bind_names(nb::module_& module) {
  module.def("affinities", &named_affinities,
             "(name, physical SPE of rank r at [r]) of the five named affinities.");
  module.def("collectives", &collectives,
             "(name, has a root, combines operands, has blocks of different sizes) of every collective.");
  module.def("collective_settings", &settings,
             "(name, kind, least, most, step, allowed values in words, meaning) of every setting.");
  module.def("simmpi_settings", &simmpi_settings,
             "What a program on simulated ranks pays for: (name, value where none is set, unit, least, most, "
             "meaning).");
}

}  // namespace corewise::bind
