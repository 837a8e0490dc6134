// Reading and writing JSON documents: the parser's one home (Boost.JSON, header-only mode, compiled in json.cpp)
// and the field reader that every document reader shares. It owns the wording of document errors; it knows no
// document.
//
// Contract: `Fields` remembers its first failure. After one, every getter returns its fallback (or an empty value)
// and `status()` the failure, so a reader takes all its fields first and asks once; nothing throws. `finish()` also
// rejects every field that was never asked for. Paths read like "phases[0].messages[3]".
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace corewise::json {

/// Parses one document, which nests at most 32 deep and has every name once in an object; an error names the
/// source, the line and the column.
Result<boost::json::value> parse(std::string_view text, std::string_view source);

/// What a text that is read may have at most; more than any of ours.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 28;

/// Reads a whole regular file into a string; an error names the path when it cannot be read, is none, or is larger.
Result<std::string> read_file(const std::string& path);

/// What a value is, for a message: `number 3`, `string "abc"`, `object`, `array of 2`, `null`, `true`.
std::string describe(const boost::json::value& value);

std::string join(std::string_view path, std::string_view field);
std::string join(std::string_view path, std::size_t index);

Result<std::int64_t> as_integer(const boost::json::value& value, std::string_view source, std::string_view path,
                                std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// The full range of 64 bits without sign.
Result<std::uint64_t> as_unsigned(const boost::json::value& value, std::string_view source, std::string_view path);
/// Any finite number, integers included.
Result<double> as_number(const boost::json::value& value, std::string_view source, std::string_view path);
Result<std::string> as_text(const boost::json::value& value, std::string_view source, std::string_view path);

/// The fields of one JSON object. Holds references: the value must outlive it.
class Fields {
 public:
  /// Fails at once (see the contract) when `value` is not an object. An empty path is the document itself.
  Fields(const boost::json::value& value, std::string source, std::string path = {});

  std::string text(std::string_view name);
  std::string text_or(std::string_view name, std::string fallback);
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
  std::int64_t integer_or(std::string_view name, std::int64_t fallback, std::int64_t least, std::int64_t most);
  double number(std::string_view name);
  double number_or(std::string_view name, double fallback);
  bool boolean_or(std::string_view name, bool fallback);
  /// An empty array after a failure.
  const boost::json::array& array(std::string_view name);
  const boost::json::array& array_or_empty(std::string_view name);
  /// The value itself, whatever it is; nullptr when the field is absent. Counts as asked for.
  const boost::json::value* find(std::string_view name);

  /// The two fields that open every document: "format" must be `format`, "version" at most `newest`.
  /// Returns the version, 0 after a failure.
  int header(std::string_view format, int newest);

  [[nodiscard]] std::string path_of(std::string_view name) const { return join(path_, name); }
  [[nodiscard]] const std::string& source() const { return source_; }
  /// Records `bad_field` for the field, unless something failed before.
  void fail(std::string_view name, std::string_view found, std::string_view allowed);
  /// Records a failure that another reader reported; an ok status changes nothing.
  void fail(const Status& status);
  [[nodiscard]] const Status& status() const { return status_; }
  /// The first failure, or an error about a field that no getter asked for.
  Status finish();

 private:
  void ask(std::string_view name);
  const boost::json::value* required(std::string_view name, std::string_view kind);
  template <class T>
  T take(const Result<T>& result, T fallback);

  const boost::json::object* object_ = nullptr;
  std::string source_;
  std::string path_;
  std::vector<std::string> asked_;
  Status status_;
};

/// Text of a value with two-space indentation, arrays of plain numbers and strings on one line, a final newline.
std::string pretty(const boost::json::value& value);

}  // namespace corewise::json
