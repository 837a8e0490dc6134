// Generators of the well-known communication patterns: one table of families, each with typed parameters.
//
// Contract: `generate` is deterministic; it refuses an unknown family, an unknown or repeated parameter and a value
// out of range with one message that lists what is allowed. No generated pattern holds a self message (where a
// neighbour is the rank itself, nothing is sent), so every family gives an empty pattern on one rank. What it
// returns passes `check`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.hpp"
#include "pattern/pattern.hpp"

namespace corewise::pattern {

/// One parameter as a user writes it, e.g. {"dims", "4x2x2"}.
struct Parameter {
  std::string name;
  std::string value;

  friend bool operator==(const Parameter&, const Parameter&) = default;
};
using Parameters = std::vector<Parameter>;

enum class ParameterKind {
  integer,     ///< whole number in [least, most]
  bytes,       ///< whole number of bytes, or a size with its unit: "4096", "64 KiB"
  axis_bytes,  ///< one such size for all axes, or one per axis, comma-separated
  flag,        ///< "yes" or "no"
  axis_flags,  ///< one flag for all axes, or one per axis, comma-separated
  choice,      ///< one of the words in `choices`
  dims,        ///< "4x2x2"; a 0 is derived; "auto" derives all, as MPI_Dims_create does
  path,        ///< a file name, required
};

struct ParameterInfo {
  std::string_view name;
  ParameterKind kind = ParameterKind::integer;
  std::string_view fallback;  ///< value when not given
  std::string_view meaning;
  std::string_view choices = {};  ///< for `choice`: separated by '|'
  std::int64_t least = 0;         ///< for `integer`
  std::int64_t most = 0;          ///< for `integer`
};

/// A parameter's parsed value: integer; bytes; list of bytes; list of dims; list of flags; text.
using Value = std::variant<std::int64_t, std::uint64_t, std::vector<std::uint64_t>, std::vector<int>,
                           std::vector<bool>, std::string>;

/// The parsed parameters of one family, in the order of its table. Asking for a name or a kind that the family's
/// table does not have is a mistake of the generator (assertion).
class Values {
 public:
  Values(std::span<const ParameterInfo> infos, std::vector<Value> values)
      : infos_(infos), values_(std::move(values)) {}

  [[nodiscard]] int integer(std::string_view name) const;
  [[nodiscard]] std::uint64_t seed(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  /// `axes` values; empty when the user gave a number of them that is neither 1 nor `axes`.
  [[nodiscard]] std::vector<std::uint64_t> axis_bytes(std::string_view name, std::size_t axes) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::vector<bool> axis_flags(std::string_view name, std::size_t axes) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  /// As written; empty for "auto".
  [[nodiscard]] const std::vector<int>& dims(std::string_view name) const;

 private:
  [[nodiscard]] const Value& find(std::string_view name) const;

  std::span<const ParameterInfo> infos_;
  std::vector<Value> values_;
};

/// One row of the table.
struct Family {
  std::string_view name;
  std::string_view summary;
  std::span<const ParameterInfo> parameters;
  Result<Pattern> (*build)(const Values& values);
};

/// All families, in the order in which they are listed to users.
std::span<const Family> families();

/// nullptr when there is none of that name.
const Family* find_family(std::string_view name);

/// What values a parameter takes, in words, e.g. "an integer from 1 to 16777216".
std::string allowed_values(const ParameterInfo& info);

Result<Pattern> generate(std::string_view family, const Parameters& parameters);

}  // namespace corewise::pattern
