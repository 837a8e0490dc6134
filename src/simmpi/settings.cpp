// The table of settings. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/settings.hpp"

#include <cstdio>
#include <string>

namespace corewise::simmpi {
namespace {

constexpr double kMostNs = 1e9;
constexpr double kMostBytes = 1e12;

constexpr SettingRow kRows[] = {
    {"send_ns", &Settings::send_ns, "ns", 0, kMostNs, "what a message costs its sender"},
    {"receive_ns", &Settings::receive_ns, "ns", 0, kMostNs, "what a message costs its receiver"},
    {"call_ns", &Settings::call_ns, "ns", 0.001, kMostNs, "what MPI_Test, MPI_Iprobe or MPI_Wtime costs"},
    {"copy_gb_per_s", &Settings::copy_gb_per_s, "GB/s", 0.001, 1e6, "each of the two copies of an eager message"},
    {"eager_bytes", &Settings::eager_bytes, "bytes", 0, kMostBytes, "the longest message sent eagerly"},
    {"receiver_initiated", &Settings::receiver_initiated, "", 0, 1,
     "1: no message is sent before its receive is known, whatever its length"},
    {"header_bytes", &Settings::header_bytes, "bytes", 0, kMostBytes, "of every message beside its data"},
    {"cpu_ghz", &Settings::cpu_ghz, "GHz", 0.001, 1000, "cycles per ns of cw_compute"},
    {"operations_per_cycle", &Settings::operations_per_cycle, "", 0.001, 1e6, "of cw_operations"},
    {"cache_line_bytes", &Settings::cache_line_bytes, "bytes", 0, 16384,
     "of the software cache before cw_main_memory; 0: none"},
    {"cache_sets", &Settings::cache_sets, "", 1, 2048, "of the software cache"},
    {"cache_ways", &Settings::cache_ways, "", 1, 2048, "lines in a set of the software cache"},
    {"overlay_bytes", &Settings::overlay_bytes, "bytes", 0, 262144,
     "of the area for code that cw_overlay brings; 0: all code is in the local store"},
    {"overlay_ns", &Settings::overlay_ns, "ns", 0, kMostNs, "of every load of code"},
    {"overlay_gb_per_s", &Settings::overlay_gb_per_s, "GB/s", 0.001, 1e6, "how fast code comes"},
    {"tasks_per_unit", &Settings::tasks_per_unit, "", 1, 1024, "ranks that may share a unit, and take turns on it"},
    {"context_bytes", &Settings::context_bytes, "bytes", 0, 262144,
     "of a rank that shares its unit: stored and loaded where ranks take turns"},
    {"context_ns", &Settings::context_ns, "ns", 0, kMostNs, "of every store and every load of a context"},
    {"context_gb_per_s", &Settings::context_gb_per_s, "GB/s", 0.001, 1e6,
     "how fast a context, or a message of ranks that share a unit, moves"},
    {"record_ns", &Settings::record_ns, "ns", 0, kMostNs, "each call, function entry or exit that is recorded"},
    {"collective_level", &Settings::collective_level, "", 0, 64,
     "level of the machine, outermost first, whose parts do collectives on local stores; 0: none"},
    {"forward_level", &Settings::forward_level, "", 0, 64,
     "level of the machine, outermost first, between whose parts PPEs forward messages; 0: none"},
    {"forward_ns", &Settings::forward_ns, "ns", 0, kMostNs, "what a forwarded message takes each of its two PPEs"},
    {"forward_gb_per_s", &Settings::forward_gb_per_s, "GB/s", 0.001, 1e6, "how fast its bytes pass there"},
};

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string names() {
  std::string text;
  for (const SettingRow& row : kRows) text.append(text.empty() ? "" : ", ").append(row.name);
  return text;
}

}  // namespace

std::span<const SettingRow> setting_rows() {
  return kRows;
}

Status set(Settings& settings, std::string_view name, double value) {
  for (const SettingRow& row : kRows) {
    if (row.name != name) continue;
    if (!(value >= row.least && value <= row.most)) {
      return bad_field("", name, number_text(value), number_text(row.least) + " to " + number_text(row.most));
    }
    settings.*row.field = value;
    return {};
  }
  return bad_field("", "setting", name, names());
}

}  // namespace corewise::simmpi
