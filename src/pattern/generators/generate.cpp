// The table of families, and the parsing of their parameters against it. Knows no family's arithmetic.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/generate.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "base/units.hpp"
#include "pattern/files/text_lines.hpp"
#include "pattern/generators/families.hpp"

namespace corewise::pattern {
namespace {

const std::array<Family, 19>& table() {
  using namespace generators;
  static const std::array<Family, 19> rows{{
      ring(),
      halo_1d(),
      halo_2d(),
      halo_3d(),
      wavefront(),
      binomial_tree(),
      k_ary_tree(),
      manager_worker(),
      recursive_doubling(),
      hypercube(),
      dissemination(),
      bruck(),
      pairwise_exchange(),
      ring_all_gather(),
      all_to_all(),
      transpose(),
      matrix_transpose(),
      random(),
      file(),
  }};
  return rows;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<Value> parse_integer(const ParameterInfo& info, std::string_view text) {
  const auto number = whole_number(text);
  if (!number || *number > static_cast<std::uint64_t>(info.most)) return std::nullopt;
  const auto value = static_cast<std::int64_t>(*number);
  if (value < info.least) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  if (const auto number = whole_number(text)) return number;
  const auto size = parse_size_bytes(text);
  return size.ok() ? std::optional(size.value()) : std::nullopt;
}

std::optional<Value> parse_axis_bytes(std::string_view text) {
  std::vector<std::uint64_t> list;
  for (const auto part : split(text, ',')) {
    const auto bytes = parse_bytes(part);
    if (!bytes) return std::nullopt;
    list.push_back(*bytes);
  }
  return list;
}

std::optional<Value> parse_flags(std::string_view text, bool several) {
  std::vector<bool> flags;
  for (const auto part : split(text, ',')) {
    if (part != "yes" && part != "no") return std::nullopt;
    flags.push_back(part == "yes");
  }
  if (!several && flags.size() != 1) return std::nullopt;
  return flags;
}

std::optional<Value> parse_dims(std::string_view text) {
  std::vector<int> dims;
  if (text == "auto") return dims;
  for (const auto part : split(text, 'x')) {
    const auto number = whole_number(part);
    if (!number || *number > static_cast<std::uint64_t>(max_ranks)) return std::nullopt;
    dims.push_back(static_cast<int>(*number));
  }
  return dims;
}

std::optional<Value> parse_choice(const ParameterInfo& info, std::string_view text) {
  const auto words = split(info.choices, '|');
  if (std::find(words.begin(), words.end(), text) == words.end()) return std::nullopt;
  return std::string(text);
}

std::optional<Value> parse(const ParameterInfo& info, std::string_view text) {
  switch (info.kind) {
    case ParameterKind::integer:
      return parse_integer(info, text);
    case ParameterKind::bytes:
      if (const auto bytes = parse_bytes(text)) return *bytes;
      return std::nullopt;
    case ParameterKind::axis_bytes:
      return parse_axis_bytes(text);
    case ParameterKind::flag:
    case ParameterKind::axis_flags:
      return parse_flags(text, info.kind == ParameterKind::axis_flags);
    case ParameterKind::choice:
      return parse_choice(info, text);
    case ParameterKind::dims:
      return parse_dims(text);
    case ParameterKind::path:
      return text.empty() ? std::nullopt : std::optional<Value>(std::string(text));
  }
  return std::nullopt;
}

std::string pattern_source(const Family& family) {
  return "pattern " + std::string(family.name);
}

template <class Rows>
std::string names(const Rows& rows) {
  std::string list;
  for (const auto& row : rows) list.append(list.empty() ? "" : ", ").append(row.name);
  return list;
}

/// Unknown and repeated names.
Status check_names(const Family& family, const Parameters& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto same = [&](const auto& other) { return other.name == given[i].name; };
    if (std::none_of(family.parameters.begin(), family.parameters.end(), same)) {
      return bad_field(pattern_source(family), given[i].name, "an unknown parameter", names(family.parameters));
    }
    if (std::count_if(given.begin(), given.end(), same) > 1) {
      return bad_field(pattern_source(family), given[i].name, "the parameter twice", "each parameter once");
    }
  }
  return {};
}

Result<Values> parse_all(const Family& family, const Parameters& given) {
  if (auto status = check_names(family, given); !status.ok()) return status;
  std::vector<Value> values;
  for (const ParameterInfo& info : family.parameters) {
    const auto at = std::find_if(given.begin(), given.end(), [&](const auto& p) { return p.name == info.name; });
    const std::string_view text = at == given.end() ? info.fallback : std::string_view(at->value);
    auto value = parse(info, trimmed(text));
    if (!value) return bad_field(pattern_source(family), info.name, quoted(text), allowed_values(info));
    values.push_back(std::move(*value));
  }
  return Values(family.parameters, std::move(values));
}

/// One value for all axes, or one per axis.
template <class T>
std::vector<T> spread(const std::vector<T>& given, std::size_t axes) {
  if (given.size() == axes) return given;
  return given.size() == 1 ? std::vector<T>(axes, given.front()) : std::vector<T>{};
}

}  // namespace

const Value& Values::find(std::string_view name) const {
  const auto at = std::find_if(infos_.begin(), infos_.end(), [&](const auto& info) { return info.name == name; });
  assert(at != infos_.end());
  return values_[static_cast<std::size_t>(at - infos_.begin())];
}

int Values::integer(std::string_view name) const {
  return static_cast<int>(std::get<std::int64_t>(find(name)));
}

std::uint64_t Values::seed(std::string_view name) const {
  return static_cast<std::uint64_t>(std::get<std::int64_t>(find(name)));
}

std::uint64_t Values::bytes(std::string_view name) const {
  return std::get<std::uint64_t>(find(name));
}

std::vector<std::uint64_t> Values::axis_bytes(std::string_view name, std::size_t axes) const {
  return spread(std::get<std::vector<std::uint64_t>>(find(name)), axes);
}

bool Values::flag(std::string_view name) const {
  return std::get<std::vector<bool>>(find(name)).front();
}

std::vector<bool> Values::axis_flags(std::string_view name, std::size_t axes) const {
  return spread(std::get<std::vector<bool>>(find(name)), axes);
}

const std::string& Values::text(std::string_view name) const {
  return std::get<std::string>(find(name));
}

const std::vector<int>& Values::dims(std::string_view name) const {
  return std::get<std::vector<int>>(find(name));
}

std::span<const Family> families() {
  return table();
}

const Family* find_family(std::string_view name) {
  const auto rows = families();
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const Family& row) { return row.name == name; });
  return at == rows.end() ? nullptr : &*at;
}

std::string allowed_values(const ParameterInfo& info) {
  switch (info.kind) {
    case ParameterKind::integer:
      return "an integer from " + std::to_string(info.least) + " to " + std::to_string(info.most);
    case ParameterKind::bytes:
      return "a number of bytes, or a size with its unit such as 64 KiB";
    case ParameterKind::axis_bytes:
      return "a size in bytes (4096, 64 KiB), or one per axis separated by commas";
    case ParameterKind::flag:
      return "yes, no";
    case ParameterKind::axis_flags:
      return "yes, no, or one of them per axis separated by commas";
    case ParameterKind::choice: {
      std::string list;
      for (const auto word : split(info.choices, '|')) list.append(list.empty() ? "" : ", ").append(word);
      return list;
    }
    case ParameterKind::dims:
      return "auto, or dimensions such as 4x2 (0 = derived)";
    case ParameterKind::path:
      return "a file name";
  }
  return {};
}

Result<Pattern> generate(std::string_view family, const Parameters& parameters) {
  const Family* row = find_family(family);
  if (row == nullptr) return bad_field("", "pattern", quoted(family), names(families()));
  const auto values = parse_all(*row, parameters);
  if (!values.ok()) return values.status();
  auto pattern = row->build(values.value());
  if (!pattern.ok()) return pattern;
  if (auto status = check(pattern.value(), pattern_source(*row)); !status.ok()) return status;
  return pattern;
}

}  // namespace corewise::pattern
