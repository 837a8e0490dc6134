// The parameters of collective algorithms by name: what may be set, from where to where, what it means. One table
// for the command line, sweeps and tests; an algorithm's row says which of them it takes. The shape's (buffers,
// eager slots) may be set for every algorithm.
//
// Contract: values are whole numbers; switches are 0 or 1; `closing` is 0 (barrier) or 1 (counters).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "coll/building/shape.hpp"
#include "coll/call.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

enum class SettingKind : std::uint8_t { number, bytes, flag, closing };

struct SettingRow {
  std::string_view name;
  SettingKind kind;
  std::uint32_t taken_as;  ///< coll::Takes; 0: part of the shape
  std::int64_t least;
  std::int64_t most;
  std::int64_t step;
  std::string_view meaning;
};

std::span<const SettingRow> setting_rows();

using Settings = std::vector<std::pair<std::string, std::int64_t>>;

/// An algorithm's parameters and shape.
struct Configuration {
  coll::Parameters parameters;
  coll::Shape shape;
  std::uint32_t room = 36 * 1024;  ///< bytes of a local store for the shape: cell::kPortBudgetBytes
};

/// What an algorithm is run with where nothing is set: coll::Parameters' own values; the paper's two buffers of 16
/// KB, or four of 8 KB for who needs four, or the eager shape for who needs its slots.
Configuration default_configuration(const Algorithm& algorithm, int ranks);
/// The default with `settings`. Errors: a name that is none, or that the algorithm does not take (those it takes
/// are listed), a value out of range, a name twice.
Result<Configuration> configure(const Algorithm& algorithm, int ranks, const Settings& settings);
/// The value of a row in a configuration.
std::int64_t value_of(const SettingRow& row, const Configuration& configuration);
/// All that the algorithm takes, with their values.
Settings settings_of(const Algorithm& algorithm, const Configuration& configuration);
/// The values that a row allows, in words.
std::string allowed_text(const SettingRow& row);
/// The names of the values of `closing`, by their numbers.
std::span<const std::string_view> closing_names();
/// The number that a text means: a number, a size with its unit, true or false, the name of a closing. Whether it
/// is in range, `configure` checks.
Result<std::int64_t> parse_value(const SettingRow& row, const std::string& text);
/// The row of a name; an error lists what there is.
Result<SettingRow> setting_named(std::string_view name);
/// Whether the algorithm takes it.
bool takes(const Algorithm& algorithm, const SettingRow& row);

/// Why an algorithm cannot be used with a shape for such data; ok where it can.
Status check_usable(const Algorithm& algorithm, const coll::Shape& shape, const coll::Facts& facts);

}  // namespace corewise::lab
