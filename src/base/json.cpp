// The document field reader and printer, and the only translation unit that compiles Boost.JSON itself
// (header-only mode: a second one would define its symbols twice).
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <unordered_set>

namespace corewise::json {
namespace {

using boost::json::value;

const boost::json::array no_elements;
constexpr std::size_t kMostLevels = 32;

std::string range_text(std::int64_t least, std::int64_t most) {
  const bool open_below = least == std::numeric_limits<std::int64_t>::min();
  const bool open_above = most == std::numeric_limits<std::int64_t>::max();
  if (open_below && open_above) return "an integer";
  if (open_above) return "an integer of at least " + std::to_string(least);
  if (open_below) return "an integer of at most " + std::to_string(most);
  return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

/// Line and column (from 1) of an offset, as "3:14".
std::string position(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  const auto column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return std::to_string(line) + ":" + std::to_string(column);
}

std::string field_list(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text.empty() ? "no field" : text;
}

bool is_plain(const value& v) {
  return !v.is_object() && !v.is_array();
}

bool on_one_line(const boost::json::array& array) {
  return std::all_of(array.begin(), array.end(), is_plain);
}

/// Builds a document, and refuses a name that stands twice in an object: Boost's own parser keeps the last one.
class Builder {
 public:
  static constexpr std::size_t max_object_size = boost::json::object::max_size();
  static constexpr std::size_t max_array_size = boost::json::array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();
  using Text = boost::json::string_view;
  using Error = boost::system::error_code;

  /// The name that stands twice; empty unless `twice()`.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool twice() const { return twice_; }
  value release() { return stack_.release(); }

  bool on_document_begin(Error& /*error*/) {
    return done([&] { stack_.reset(); });
  }
  bool on_document_end(Error& /*error*/) { return true; }
  bool on_object_begin(Error& /*error*/) {
    return done([&] { names_.emplace_back(); });
  }
  bool on_object_end(std::size_t n, Error& /*error*/) {
    names_.pop_back();
    return done([&] { stack_.push_object(n); });
  }
  bool on_array_begin(Error& /*error*/) { return true; }
  bool on_array_end(std::size_t n, Error& /*error*/) {
    return done([&] { stack_.push_array(n); });
  }
  bool on_key_part(Text part, std::size_t /*n*/, Error& /*error*/) {
    name_.append(part);
    return done([&] { stack_.push_chars(part); });
  }
  bool on_key(Text part, std::size_t /*n*/, Error& error) {
    name_.append(part);
    twice_ = !names_.back().insert(name_).second;
    if (twice_) error = boost::json::error::syntax;
    if (twice_) return false;
    name_.clear();
    return done([&] { stack_.push_key(part); });
  }
  bool on_string_part(Text part, std::size_t /*n*/, Error& /*error*/) {
    return done([&] { stack_.push_chars(part); });
  }
  bool on_string(Text part, std::size_t /*n*/, Error& /*error*/) {
    return done([&] { stack_.push_string(part); });
  }
  bool on_number_part(Text /*part*/, Error& /*error*/) { return true; }
  bool on_int64(std::int64_t number, Text /*text*/, Error& /*error*/) {
    return done([&] { stack_.push_int64(number); });
  }
  bool on_uint64(std::uint64_t number, Text /*text*/, Error& /*error*/) {
    return done([&] { stack_.push_uint64(number); });
  }
  bool on_double(double number, Text /*text*/, Error& /*error*/) {
    return done([&] { stack_.push_double(number); });
  }
  bool on_bool(bool flag, Error& /*error*/) {
    return done([&] { stack_.push_bool(flag); });
  }
  bool on_null(Error& /*error*/) {
    return done([&] { stack_.push_null(); });
  }
  bool on_comment_part(Text /*part*/, Error& /*error*/) { return true; }
  bool on_comment(Text /*part*/, Error& /*error*/) { return true; }

 private:
  template <class Step>
  static bool done(const Step& step) {
    step();
    return true;
  }

  boost::json::value_stack stack_;
  std::vector<std::unordered_set<std::string>> names_;  ///< of every object that is open
  std::string name_;
  bool twice_ = false;
};

void print(const value& v, const std::string& indent, std::string& out);

void print_array(const boost::json::array& array, const std::string& indent, std::string& out) {
  if (on_one_line(array)) {
    out += '[';
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out += ", ";
      out += boost::json::serialize(array[i]);
    }
    out += ']';
    return;
  }
  const std::string inner = indent + "  ";
  out += '[';
  for (std::size_t i = 0; i < array.size(); ++i) {
    out.append(i > 0 ? ",\n" : "\n").append(inner);
    print(array[i], inner, out);
  }
  out.append("\n").append(indent).append("]");
}

void print_object(const boost::json::object& object, const std::string& indent, std::string& out) {
  if (object.empty()) {
    out += "{}";
    return;
  }
  const std::string inner = indent + "  ";
  const char* separator = "{\n";
  for (const auto& member : object) {
    out.append(separator).append(inner).append(boost::json::serialize(value(member.key()))).append(": ");
    print(member.value(), inner, out);
    separator = ",\n";
  }
  out.append("\n").append(indent).append("}");
}

void print(const value& v, const std::string& indent, std::string& out) {
  if (v.is_array()) {
    print_array(v.get_array(), indent, out);
  } else if (v.is_object()) {
    print_object(v.get_object(), indent, out);
  } else {
    out += boost::json::serialize(v);
  }
}

}  // namespace

Result<value> parse(std::string_view text, std::string_view source) {
  boost::json::parse_options options;
  options.max_depth = kMostLevels;
  boost::json::basic_parser<Builder> parser(options);
  boost::system::error_code error;
  const auto used = parser.write_some(false, text.data(), text.size(), error);
  const auto rest = error ? std::string_view::npos : text.find_first_not_of(" \t\r\n", used);
  if (!error && rest == std::string_view::npos) return parser.handler().release();
  const auto where = rest == std::string_view::npos ? used : rest;
  std::string why = error ? error.message() : "text after the end of the document";
  if (parser.handler().twice())
    why = "the name '" + shortened(parser.handler().name()) + "' stands twice in an object";
  return invalid_input(std::string(source) + ":" + position(text, where) + ": not JSON: " + why);
}

Result<std::string> read_file(const std::string& path) {
  std::error_code failed;
  // Opening a pipe would wait for its writer, and a device may never end.
  if (std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed))
    return invalid_input(path + ": found no regular file, allowed: a regular file");
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::vector<char> part(std::size_t{1} << 16);
  while (in && text.size() <= kMostBytes) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (text.size() > kMostBytes)
    return invalid_input(path + ": found more than " + std::to_string(kMostBytes >> 20) +
                         " MiB, allowed: at most that");
  if (!in.eof()) return invalid_input(path + ": cannot be read");
  return text;
}

std::string describe(const value& v) {
  if (v.is_object()) return "object";
  if (v.is_array()) return "array of " + std::to_string(v.get_array().size());
  if (v.is_string()) return "string " + boost::json::serialize(v);
  if (v.is_number()) return "number " + boost::json::serialize(v);
  return boost::json::serialize(v);
}

std::string join(std::string_view path, std::string_view field) {
  std::string text(path);
  if (!text.empty()) text += '.';
  return text.append(field);
}

std::string join(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

Result<std::int64_t> as_integer(const value& v, std::string_view source, std::string_view path, std::int64_t least,
                                std::int64_t most) {
  if (v.is_int64() && v.get_int64() >= least && v.get_int64() <= most) return v.get_int64();
  return bad_field(source, path, describe(v), range_text(least, most));
}

Result<std::uint64_t> as_unsigned(const value& v, std::string_view source, std::string_view path) {
  if (v.is_uint64()) return v.get_uint64();
  if (v.is_int64() && v.get_int64() >= 0) return static_cast<std::uint64_t>(v.get_int64());
  return bad_field(source, path, describe(v), "an integer from 0 to 18446744073709551615");
}

Result<double> as_number(const value& v, std::string_view source, std::string_view path) {
  boost::system::error_code error;
  const double number = v.to_number<double>(error);
  if (!error && std::isfinite(number)) return number;
  return bad_field(source, path, describe(v), "a number");
}

Result<std::string> as_text(const value& v, std::string_view source, std::string_view path) {
  if (v.is_string()) return std::string(v.get_string());
  return bad_field(source, path, describe(v), "a string");
}

Fields::Fields(const value& v, std::string source, std::string path)
    : source_(std::move(source)), path_(std::move(path)) {
  if (v.is_object()) {
    object_ = &v.get_object();
  } else {
    status_ = bad_field(source_, path_.empty() ? "(document)" : path_, describe(v), "an object");
  }
}

void Fields::ask(std::string_view name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) asked_.emplace_back(name);
}

const value* Fields::find(std::string_view name) {
  ask(name);
  return object_ != nullptr ? object_->if_contains(name) : nullptr;
}

const value* Fields::required(std::string_view name, std::string_view kind) {
  const value* found = find(name);
  if (found == nullptr) fail(name, "nothing", kind);
  return found;
}

template <class T>
T Fields::take(const Result<T>& result, T fallback) {
  if (result.ok()) return result.value();
  fail(result.status());
  return fallback;
}

std::string Fields::text(std::string_view name) {
  const value* found = required(name, "a string");
  return found != nullptr ? take(as_text(*found, source_, path_of(name)), std::string{}) : std::string{};
}

std::string Fields::text_or(std::string_view name, std::string fallback) {
  const value* found = find(name);
  return found != nullptr ? take(as_text(*found, source_, path_of(name)), fallback) : fallback;
}

std::int64_t Fields::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const value* found = required(name, range_text(least, most));
  return found != nullptr ? take(as_integer(*found, source_, path_of(name), least, most), least) : least;
}

std::int64_t Fields::integer_or(std::string_view name, std::int64_t fallback, std::int64_t least,
                                std::int64_t most) {
  const value* found = find(name);
  return found != nullptr ? take(as_integer(*found, source_, path_of(name), least, most), fallback) : fallback;
}

double Fields::number(std::string_view name) {
  const value* found = required(name, "a number");
  return found != nullptr ? take(as_number(*found, source_, path_of(name)), 0.0) : 0.0;
}

double Fields::number_or(std::string_view name, double fallback) {
  const value* found = find(name);
  return found != nullptr ? take(as_number(*found, source_, path_of(name)), fallback) : fallback;
}

bool Fields::boolean_or(std::string_view name, bool fallback) {
  const value* found = find(name);
  if (found == nullptr) return fallback;
  if (found->is_bool()) return found->get_bool();
  fail(name, describe(*found), "true or false");
  return fallback;
}

const boost::json::array& Fields::array(std::string_view name) {
  const value* found = required(name, "an array");
  if (found == nullptr) return no_elements;
  if (found->is_array()) return found->get_array();
  fail(name, describe(*found), "an array");
  return no_elements;
}

const boost::json::array& Fields::array_or_empty(std::string_view name) {
  const bool present = object_ != nullptr && object_->contains(name);
  if (present) return array(name);
  ask(name);
  return no_elements;
}

int Fields::header(std::string_view format, int newest) {
  const std::string found = text("format");
  if (status_.ok() && found != format) fail("format", '"' + found + '"', '"' + std::string(format) + '"');
  const auto version = integer("version", 1, newest);
  return status_.ok() ? static_cast<int>(version) : 0;
}

void Fields::fail(std::string_view name, std::string_view found, std::string_view allowed) {
  fail(bad_field(source_, path_of(name), found, allowed));
}

void Fields::fail(const Status& status) {
  if (status_.ok()) status_ = status;
}

Status Fields::finish() {
  if (!status_.ok() || object_ == nullptr) return status_;
  for (const auto& member : *object_) {
    const std::string_view key = member.key();
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
      fail(key, "an unknown field", field_list(asked_));
    }
  }
  return status_;
}

std::string pretty(const value& v) {
  std::string out;
  print(v, "", out);
  return out += '\n';
}

}  // namespace corewise::json
