// Reads the document. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/program/request.hpp"

#include <limits>
#include <utility>

#include "base/json.hpp"

namespace corewise::simmpi {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 50;
constexpr std::int64_t kMostDepth = 1 << 30;

std::vector<std::string> texts(const boost::json::array& values) {
  std::vector<std::string> all;
  for (const auto& value : values) {
    if (value.is_string()) all.emplace_back(value.as_string());
  }
  return all;
}

Result<machine::Machine> read_machine(json::Fields& fields) {
  const std::string form = fields.text("machine_form");
  const std::string text = fields.text("machine");
  const std::string source = fields.text_or("machine_source", "");
  const std::vector<std::string> libraries = texts(fields.array_or_empty("libraries"));
  if (form == "text") return machine::from_synthetic(text);
  if (form == "hwloc") return machine::from_hwloc({text, libraries});
  return machine::from_json(text, source);
}

Status read_settings(json::Fields& fields, Settings& settings) {
  for (const SettingRow& row : setting_rows()) {
    const double value = fields.number_or(row.name, settings.*row.field);
    if (Status status = set(settings, row.name, value); !status.ok()) return status;
  }
  return {};
}

machine::Placement read_placement(json::Fields& fields) {
  machine::Placement placement;
  for (const auto& unit : fields.array("units")) {
    const std::string path = json::join(fields.path_of("units"), placement.unit_of_rank.size());
    const auto number = json::as_integer(unit, fields.source(), path, 0, std::numeric_limits<int>::max());
    fields.fail(number.status());
    placement.unit_of_rank.push_back(number.ok() ? static_cast<int>(number.value()) : 0);
  }
  return placement;
}

}  // namespace

Result<RunRequest> read_request(const std::string& path) {
  const auto text = json::read_file(path);
  if (!text.ok()) return text.status();
  const auto document = json::parse(text.value(), path);
  if (!document.ok()) return document.status();
  json::Fields fields(document.value(), path);
  RunRequest request;
  auto machine = read_machine(fields);
  if (!fields.status().ok()) return fields.status();
  if (!machine.ok()) return machine.status();
  request.machine = std::move(machine).value();
  request.placement = read_placement(fields);
  request.program = fields.text("program");
  request.arguments = texts(fields.array("arguments"));
  request.result = fields.text("result");
  request.timeline = fields.text_or("timeline", "");
  request.most_events = static_cast<std::size_t>(fields.integer_or("most_events", 0, 0, kMost));
  request.recording.folder = fields.text_or("profile", "");
  request.recording.function_depth =
      static_cast<int>(fields.integer_or("function_depth", kMostDepth, 0, kMostDepth));
  request.recording.realtime_ns = fields.integer_or("started_ns", 0, 0, std::numeric_limits<std::int64_t>::max());
  request.options.granularity =
      fields.text("granularity") == "packet" ? sim::Granularity::packet : sim::Granularity::flow;
  request.options.stack_bytes = static_cast<std::size_t>(fields.integer("stack_bytes", 65536, kMost));
  if (const std::int64_t limit_ns = fields.integer_or("limit_ns", 0, 0, kMost / 1000); limit_ns > 0) {
    request.options.limit = limit_ns * sim::kTicksPerNs;
  }
  if (Status status = read_settings(fields, request.options.settings); !status.ok()) return status;
  if (Status status = fields.finish(); !status.ok()) return status;
  return request;
}

}  // namespace corewise::simmpi
