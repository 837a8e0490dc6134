// What the line-oriented readers (CSV, Matrix Market) share: lines with their numbers, and strict whole-field
// numbers. Private to this room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::pattern {

inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Hands out lines without their ends ("\n" or "\r\n"); counts from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const auto end = rest_.find('\n');
    line = trimmed(rest_.substr(0, end));
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    ++number_;
    return true;
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

/// "SOURCE:LINE", the source of an error in a line.
inline std::string at_line(std::string_view source, int line) {
  return std::string(source) + ":" + std::to_string(line);
}

inline std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

/// The number that the whole text spells; nothing else, no sign, within 64 bits.
inline std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// File name without folders and without its last extension; the name of a pattern that carries none.
inline std::string stem(std::string_view source) {
  const auto slash = source.find_last_of('/');
  if (slash != std::string_view::npos) source.remove_prefix(slash + 1);
  const auto dot = source.find_last_of('.');
  return std::string(dot == std::string_view::npos || dot == 0 ? source : source.substr(0, dot));
}

/// The words between blanks.
inline std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  std::size_t at = line.find_first_not_of(" \t");
  while (at != std::string_view::npos) {
    const auto end = line.find_first_of(" \t", at);
    found.push_back(line.substr(at, end == std::string_view::npos ? end : end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return found;
}

}  // namespace corewise::pattern
